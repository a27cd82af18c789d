#include "validation/prepare.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "io/catalog.hpp"
#include "model/error.hpp"
#include "validation/resolve.hpp"

namespace ddpx {

std::string path_for(const MeasureOptions& options) {
  if (options.runs) return *options.runs;
  const auto machines = io::user_machine_directory();
  if (!machines)
    throw InputError("--runs",
                     "is needed: neither XDG_DATA_HOME nor HOME says where your data lies");
  const auto folder = std::filesystem::path(*machines).parent_path() / "runs";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw InputError(folder.string(), "cannot be made: " + error.message());
  return (folder / "latest.json").string();
}

// Minutes of measuring must not end at a file that cannot be written.
void check_writable(const std::string& path) {
  if (path == "-")
    throw InputError("--runs", "is standard output, where the answer goes; name a file");
  std::error_code error;
  const bool exists = std::filesystem::exists(path, error);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const std::string target = exists ? path : folder.empty() ? "." : folder.string();
  if (::access(target.c_str(), W_OK) == 0) return;
  throw InputError("--runs",
                   "'" + path + "' cannot be written: " + std::generic_category().message(errno));
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
