#include "calibration/options.hpp"

#include "cli/command_line.hpp"
#include "model/error.hpp"

namespace ddpx {
namespace {

constexpr const char* kDescription =
    "Fits a machine (compute, memory, host and links, each constant with its\n"
    "standard error) from raw measurements, or a link from nccl-tests logs.\n"
    "Needs no device.";

constexpr const char* kFooter = R"(Examples:
  ddpx-calibrate --from calibration/measurements/t4x2.json -o t4x2.json
  ddpx-calibrate --from all_reduce.log --link mybox --topology pcie -o mybox.json

Exit codes: 0 fitted; 2 a flag or a file is wrong; 130 interrupted.)";

void check(const CalibrateOptions& options) {
  if (options.from.empty()) {
    throw InputError("--from",
                     "is needed: a measurements file or an nccl-tests log to fit from; this build "
                     "measures nothing itself");
  }
  if (options.dry_run && options.output)
    throw InputError("--dry-run", "writes nothing, so --output has no effect; drop one of them");
  if (options.dry_run && options.measurements) {
    throw InputError("--dry-run",
                     "writes nothing, so --measurements has no effect; drop one of them");
  }
  if (options.output && options.output == options.measurements) {
    throw InputError("--measurements",
                     "names the same file as --output: '" + *options.output + "'");
  }
}

}  // namespace

ParsedCalibrateOptions parse_calibrate_options(int argc, const char* const* argv,
                                               const std::string& version) {
  ParsedCalibrateOptions parsed;
  CalibrateOptions& o = parsed.options;
  CommandLine line("ddpx-calibrate", kDescription, kFooter);
  line.many("Measurements", "--from", o.from, "FILE",
            "measurements file, or nccl-tests text or JSON;\nrepeatable: logs are added to the "
            "measurements");
  line.one("Measurements", "--link", o.link, "NAME",
           "name of the link that nccl-tests logs measured\n(default: link)");
  line.one("Measurements", "--topology", o.topology, "CLASS",
           "how the ranks of the logs reach each other:\nnvlink, pcie, network, host_memory "
           "(default: pcie)");
  line.one("Measurements", "--channels", o.channels, "C",
           "NCCL channels of that link (default: unknown)");
  line.one("Result", "-o,--output", o.output, "FILE",
           "fitted machine, or links file when only logs were\ngiven (default: standard output)");
  line.one("Result", "--measurements", o.measurements, "FILE",
           "raw measurements that went into the fit");
  line.flag("Result", "--dry-run", o.dry_run, "fit and show residuals, write nothing");
  parsed.message = line.parse(argc, argv, "Help", version);
  if (!parsed.message) check(o);
  return parsed;
}

}  // namespace ddpx
