// ddpx-calibrate: from raw measurements to a machine, or from nccl-tests logs to a link.
#include <iostream>

#include "calibration/fit.hpp"
#include "calibration/fit_links.hpp"
#include "calibration/gather.hpp"
#include "calibration/options.hpp"
#include "calibration/summary.hpp"
#include "cli/program.hpp"
#include "io/content_hash.hpp"
#include "io/file.hpp"
#include "io/link_json.hpp"
#include "io/machine_json.hpp"
#include "io/measurements_json.hpp"
#include "io/provenance.hpp"

namespace {

using namespace ddpx;

struct Result {
  std::string file;
  std::string summary;
};

Result fit(const Gathered& gathered, const CalibrateOptions& options) {
  FitReport report;
  report.notes = gathered.notes;
  const SummaryOptions shown{options.dry_run};
  if (!gathered.only_links) {
    Machine machine = fit_machine(gathered.measurements, {}, report);
    machine.context = gathered.measurements.context;
    machine.measurements_hash = io::content_hash(io::to_json(gathered.measurements));
    return {io::to_json(machine), summary_text(machine, report, shown)};
  }
  Machine holder;
  fit_links(gathered.measurements, {}, holder, report);
  return {io::to_json(holder.links, io::provenance()), summary_text(holder.links, report, shown)};
}

ExitCode calibrate(int argc, char** argv) {
  const ParsedCalibrateOptions parsed =
      parse_calibrate_options(argc, argv, version_text("ddpx-calibrate"));
  if (parsed.message) {
    io::write_text("-", *parsed.message);
    return ExitCode::success;
  }
  const CalibrateOptions& options = parsed.options;
  const Gathered gathered = gather(options);
  const Result result = fit(gathered, options);
  if (options.measurements)
    io::write_text(*options.measurements, io::to_json(gathered.measurements));
  if (options.dry_run) {
    io::write_text("-", result.summary);
    return ExitCode::success;
  }
  const std::string output = options.output.value_or("-");
  io::write_text(output, result.file);
  if (output == "-") {
    std::cerr << result.summary;
  } else {
    io::write_text("-", result.summary + "Wrote " + output + "\n");
  }
  return ExitCode::success;
}

}  // namespace

int main(int argc, char** argv) {
  return ddpx::run_program("ddpx-calibrate", [&] { return calibrate(argc, argv); });
}
