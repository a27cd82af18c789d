#include "validation/prepare.hpp"

#include <algorithm>

#include "io/catalog.hpp"
#include "io/file.hpp"
#include "model/error.hpp"
#include "validation/resolve.hpp"

namespace ddpx {

std::string path_for(const MeasureOptions& options) {
  if (options.runs) return *options.runs;
  return io::user_data_file("--runs", "runs", "latest.json");
}

void check_writable(const std::string& path) {
  if (path == "-")
    throw InputError("--runs", "is standard output, where the answer goes; name a file");
  io::check_writable("--runs", path);
}

// What the comparison will need, looked for before minutes are spent on measuring.
void check_comparable(const ValidateOptions& options, const RowRequest& request) {
  const Machine machine = io::find_machine(*options.machine);
  const RowResolver reads_link_files(options, {}, machine);
  for (const RunRow& row : request.rows) {
    const bool given = std::any_of(options.links.begin(), options.links.end(),
                                   [&](const auto& link) { return link.first == row.link; });
    if (row.job.gpus > 1 && !given)
      static_cast<void>(io::find_link(row.link, machine, "the link of " + row.network));
  }
}

}  // namespace ddpx
