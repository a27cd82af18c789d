#include "validation/prepare.hpp"

#include <algorithm>
#include <iostream>

#include "io/catalog.hpp"
#include "io/file.hpp"
#include "io/one_line.hpp"
#include "model/error.hpp"
#include "profiler/backends.hpp"
#include "validation/resolve.hpp"

namespace ddpx {

std::string path_for(const MeasureOptions& options) {
  if (options.runs) return *options.runs;
  return io::user_data_file("--runs", "runs", "latest.json");
}

void check_writable(const ValidateOptions& options, const std::string& runs) {
  if (runs == "-")
    throw InputError("--runs", "is standard output, where the answer goes; name a file");
  io::check_writable("--runs", runs);
  const std::pair<const char*, const std::optional<std::string>&> reports[] = {
      {"--markdown", options.markdown}, {"--html", options.html}, {"--trace", options.trace}};
  for (const auto& [flag, path] : reports) {
    if (path && *path != "-") io::check_writable(flag, *path);
  }
}

std::optional<std::string> unlike_this_host(const ValidateOptions& options) {
  if (!options.measure.run && !options.measure.torch) return std::nullopt;
  const Device device = io::find_machine(*options.machine).device;
  if (device.multiprocessors == 0 || visible_gpus() > 0) return std::nullopt;
  return "machine " + io::one_line(*options.machine) + " was measured on " + device.name +
         "; this host shows no GPU, so the steps are those of processor cores and the error is the "
         "distance between the two";
}

// What the comparison will need, looked for before minutes are spent on measuring.
void check_comparable(const ValidateOptions& options, const RowRequest& request) {
  const Machine machine = io::find_machine(*options.machine);
  const RowResolver reads_link_files(options, {}, machine);
  for (const RunRow& row : request.rows) {
    const bool given = std::any_of(options.links.begin(), options.links.end(),
                                   [&](const auto& link) { return link.first == row.link; });
    if (row.job.gpus < 2 || given) continue;
    try {
      static_cast<void>(io::find_link(row.link, machine, "the link of " + row.network));
    } catch (const InputError&) {
      if (options.measure.transport) throw;
      throw InputError("--machine", io::quoted(*options.machine) + " has no link " +
                                        io::quoted(row.link) +
                                        ", over which --run trains here; calibrate here "
                                        "(ddpx-calibrate), or say which it is like: --link " +
                                        row.link + "=NAME");
    }
  }
}

void warn(const ValidateOptions& options) {
  if (const auto note = unlike_this_host(options)) std::cerr << "ddpx-validate: " << *note << "\n";
}

}  // namespace ddpx
