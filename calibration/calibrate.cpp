// ddpx-calibrate: measures this machine, or takes raw measurements or nccl-tests logs, and fits a
// machine or a link.
#include <iostream>

#include "calibration/gather.hpp"
#include "calibration/options.hpp"
#include "calibration/result.hpp"
#include "calibration/run.hpp"
#include "cli/program.hpp"
#include "io/file.hpp"
#include "io/measurements_json.hpp"
#include "profiler/launch.hpp"

namespace {

using namespace ddpx;

// Where the fitted file goes, "-" for standard output.
std::string output_of(const CalibrateOptions& options, const Gathered& gathered) {
  if (options.output) return *options.output;
  if (!options.from.empty() || gathered.only_links) return "-";
  return usual_machine_path(gathered.measurements.name);
}

void write(const Gathered& gathered, const CalibrateOptions& options) {
  std::optional<std::string> raw = options.measurements;
  if (!raw && options.from.empty() && !options.output && !gathered.only_links)
    raw = usual_measurements_path(gathered.measurements.name);
  // First what cannot be had again without measuring.
  if (raw) io::write_or_keep(*raw, io::to_json(gathered.measurements));
  const Fitted fitted = fit(gathered, false);
  const std::string output = output_of(options, gathered);
  if (raw || !options.from.empty()) {
    io::write_text(output, fitted.file);
  } else {
    io::write_or_keep(output, fitted.file);
  }
  if (output == "-") {
    std::cerr << fitted.summary;
    return;
  }
  // A path stays whole, however wide the page is.
  io::write_text("-", fitted.summary + "Wrote " + output + (raw ? " and " + *raw : "") + "\n");
}

ExitCode calibrate(int argc, char** argv) {
  const ParsedCalibrateOptions parsed =
      parse_calibrate_options(argc, argv, version_text("ddpx-calibrate"));
  const CalibrateOptions& options = parsed.options;
  if (parsed.message) {
    io::write_text("-", *parsed.message);
  } else if (!options.from.empty()) {
    const Gathered gathered = gather(options);
    if (!options.dry_run) {
      write(gathered, options);
    } else {
      io::write_text("-", fit(gathered, true).summary);
    }
  } else if (options.dry_run) {
    io::write_text("-", dry_run_text(options));
  } else if (const auto place = rank_place()) {
    if (const auto gathered = measure_as_rank(*place, options)) write(*gathered, options);
  } else {
    write(measure_with_ranks(options), options);
  }
  return ExitCode::success;
}

}  // namespace

int main(int argc, char** argv) {
  return ddpx::run_program("ddpx-calibrate", [&] {
    try {
      return calibrate(argc, argv);
    } catch (const Interrupted& interrupted) {
      std::cerr << "ddpx-calibrate: " << interrupted.what() << "\n";
      return ExitCode::interrupted;
    }
  });
}
