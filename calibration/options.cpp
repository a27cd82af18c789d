#include "calibration/options.hpp"

#include "cli/command_line.hpp"
#include "io/file.hpp"
#include "io/one_line.hpp"
#include "model/error.hpp"

namespace ddpx {
namespace {

constexpr const char* kDescription =
    "Measures this machine on ranks that it starts itself, and fits compute, memory\n"
    "and link, each constant with its standard error. With --from it fits what was\n"
    "measured before, or a link from nccl-tests logs, and needs no device.";

constexpr const char* kFooter = R"(Examples:
  ddpx-calibrate --quick
  ddpx-calibrate --from calibration/measurements/t4x2.json -o t4x2.json
  ddpx-calibrate --from nccl.log --link mybox --topology pcie -o mybox.json

Exit codes: 0 fitted; 2 a flag or a file is wrong; 3 a rank or MPI failed;
130 interrupted.)";

// As a reader of the files takes it.
void check_link_name(const std::string& name) {
  constexpr std::size_t kWhole = std::string::npos;
  if (name.empty() || io::one_line(name, kWhole) != name)
    throw InputError("--link", io::quoted(name) +
                                   " is no name of a link; accepted: UTF-8 text that is not empty "
                                   "and has no control characters or line breaks");
}

void check(const CalibrateOptions& options) {
  if (options.link) check_link_name(*options.link);
  const auto only = [](bool fits, const char* flag, bool given, const char* why) {
    if (given && !fits) throw InputError(flag, why);
  };
  const bool reads = !options.from.empty();
  for (const auto& [flag, given] : {std::pair{"--backend", options.backend.has_value()},
                                    {"--ranks", options.ranks.has_value()},
                                    {"--transport", options.transport.has_value()},
                                    {"--quick", options.quick},
                                    {"--full", options.full},
                                    {"--budget", options.budget.has_value()},
                                    {"--widths", options.widths.has_value()},
                                    {"--batches", options.batches.has_value()},
                                    {"--dtypes", options.dtypes.has_value()},
                                    {"--collectives", options.collectives.has_value()},
                                    {"--only-link", options.only_link},
                                    {"--processes", options.processes.has_value()},
                                    {"--no-cupti", options.no_cupti}}) {
    only(!reads, flag, given,
         "says what to measure, and --from measures nothing; drop one of them");
  }
  only(reads, "--topology", options.topology.has_value(),
       "describes nccl-tests logs, and no --from is given; drop it");
  if (options.dry_run && options.output)
    throw InputError("--dry-run", "writes nothing, so --output has no effect; drop one of them");
  if (options.dry_run && options.measurements) {
    throw InputError("--dry-run",
                     "writes nothing, so --measurements has no effect; drop one of them");
  }
  if (options.output && options.measurements &&
      io::same_file(*options.output, *options.measurements)) {
    throw InputError("--measurements",
                     "names the same file as --output: " + io::quoted(*options.output));
  }
  for (const auto& [flag, path] :
       {std::pair{"--output", options.output}, {"--measurements", options.measurements}}) {
    if (path && path->empty()) throw InputError(flag, "needs the name of a file");
    for (const std::string& read : options.from) {
      if (!path || !io::same_file(read, *path)) continue;
      throw InputError(flag, "would write over " + io::quoted(*path) +
                                 ", which --from reads; name another file");
    }
  }
}

}  // namespace

ParsedCalibrateOptions parse_calibrate_options(int argc, const char* const* argv,
                                               const std::string& version) {
  ParsedCalibrateOptions parsed;
  CalibrateOptions& o = parsed.options;
  CommandLine line("ddpx-calibrate", kDescription, kFooter);
  line.one("Measuring", "--backend", o.backend, "NAME",
           "auto, cuda, cpu (default: auto, which is cuda where\nthere are GPUs)");
  line.one("Measuring", "--ranks", o.ranks, "N",
           "ranks to start on this host; 1 measures compute alone\n(default: every GPU, or 2 CPU "
           "ranks)");
  line.one("Measuring", "--transport", o.transport, "NAME",
           "how the ranks reach each other: auto, p2p (between\nGPUs), shm (host memory), socket "
           "(TCP over loopback)\n(default: auto)");
  line.flag("Measuring", "--quick", o.quick, "coarse, under a minute (default)");
  line.flag("Measuring", "--full", o.full, "fine, some minutes");
  line.one("Measuring", "--budget", o.budget, "TIME",
           "as fine as fits into that, as 60s\n(default: 45s with --quick, 300s with --full)");
  line.one("Measuring", "--widths", o.widths, "W,W,...", "layer widths (default: by effort)");
  line.one("Measuring", "--batches", o.batches, "B,B,...", "batches per rank (default: by effort)");
  line.one("Measuring", "--dtypes", o.dtypes, "D,D,...",
           "fp32, tf32, bf16, fp16 as the backend has them");
  line.one("Measuring", "--collectives", o.collectives, "C,C,...",
           "all_reduce, all_gather, reduce_scatter\n(default: all)");
  line.flag("Measuring", "--only-link", o.only_link,
            "collectives alone; the result is a links file");
  line.one("Measuring", "--processes", o.processes, "N",
           "with --only-link: in as many fresh process sets, which\nshare the budget; what lies "
           "between them is the link's\nerror (default: 1)");
  line.flag(
      "Measuring", "--no-cupti", o.no_cupti,
      "GPUs by CUDA events alone: kernel grids stay unknown,\nwhich widens intervals of steps "
      "on several GPUs");
  line.many("Measurements", "--from", o.from, "FILE",
            "measurements file, or nccl-tests text or JSON;\nrepeatable: logs, and links measured "
            "by --only-link,\n"
            "are added to a machine's measurements");
  line.one("Measurements", "--link", o.link, "NAME",
           "name of the link that was measured\n(default: shm or tcp by transport; link of logs)");
  line.one(
      "Measurements", "--topology", o.topology, "CLASS",
      "how the ranks of the logs reach each other:\nnvlink, pcie, pcie_host, network, host_memory\n"
      "(default: by their hosts and bandwidth)");
  line.one("Measurements", "--channels", o.channels, "C",
           "NCCL channels: what it may take where GPUs are\nmeasured, what it took in logs "
           "(default: its choice)");
  line.one("Result", "-o,--output", o.output, "FILE",
           "fitted machine, or links file when only logs were\ngiven (default: standard output "
           "with --from; else\nthe user's data directory)");
  line.one("Result", "--measurements", o.measurements, "FILE",
           "raw measurements that went into the fit");
  line.flag(
      "Result", "--dry-run", o.dry_run,
      "show what would be measured or, with --from,\nthe fit and its residuals; write nothing");
  parsed.message = line.parse(argc, argv, "Help", version);
  if (!parsed.message) check(o);
  return parsed;
}

}  // namespace ddpx
