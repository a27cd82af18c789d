#include "validation/options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "cli/command_line.hpp"
#include "io/file.hpp"
#include "io/one_line.hpp"
#include "model/error.hpp"

namespace ddpx {
namespace {

constexpr const char* kDescription =
    "Lays forecasts beside measured training steps: errors by regime, link and\n"
    "strategy, interval coverage, verdicts, and simple baselines on the same rows.\n"
    "Needs a GPU only for --run on a machine of GPUs.";

constexpr const char* kFooter = R"(Examples:
  ddpx-validate --measured runs.json --markdown report.md
  ddpx-validate --machine machine.json --measured a.json --measured b.json
                --tolerance 5% --html report.html
  ddpx-validate --machine cpu --run --sweep width=128:512 --batch 16,64

Exit codes: 0 within tolerance, or none was given; 1 the median error is outside
--tolerance; 2 a flag or a file is wrong; 3 a rank failed; 130 interrupted.)";

constexpr const char* kInput = "Forecast and measurement";
constexpr const char* kRun = "Measuring now";
constexpr const char* kOutput = "Answer";

// What stands on the command line as words and becomes values.
struct Words {
  std::vector<std::string> links;
  std::optional<std::string> tolerance;
};

void add_input(CommandLine& line, ValidateOptions& options, Words& words) {
  line.many(kInput, "--measured", options.measured, "FILE",
            "measured steps (runs JSON), - for standard input;\nrepeatable");
  line.one(kInput, "--machine", options.machine, "FILE|NAME",
           "calibrated machine (default: the one the runs\nname, else the GPU machine "
           "calibrated last on\nthis host, else t4x2)");
  line.many(kInput, "--link", words.links, "NAME=FILE",
            "take the link that rows call NAME from a link\nfile; repeatable (default: the "
            "machine's, then\nthe interconnects known by name)");
}

void add_run(CommandLine& line, MeasureOptions& options) {
  line.flag(kRun, "--run", options.run,
            "train for real on this host's ranks instead of\nreading --measured: fresh "
            "processes, rows in "
            "random\norder, each beside its one-rank run");
  line.flag(kRun, "--run-torch", options.torch,
            "the same with PyTorch (python3 -m ddpx_torch), on GPUs\nwhere it sees them; networks "
            "may be gpt:... and files\nthat its capture wrote");
  line.one(kRun, "--rows", options.rows, "FILE",
           "run the rows of a runs file; what was measured in\nthem is not looked at");
  line.many(kRun, "--network", options.networks, "SPEC",
            "network to train (default: mlp:width=512,depth=8);\n--run trains mlp:...; repeatable");
  line.one(kRun, "--sweep", options.sweep, "KEY=A:B[:STEP]",
           "the networks with KEY from A to B, doubling unless\nSTEP says xF or +D");
  line.many(kRun, "--strategy", options.strategies, "WORDS",
            "as for ddpx-predict (default: ddp); repeatable");
  line.one(kRun, "--batch", options.batch, "B,...",
           "samples per rank and micro-batch (default: 64)");
  line.one(kRun, "--gpus", options.gpus, "N,...", "ranks (default: 2)");
  line.one(kRun, "--dtype", options.dtype, "NAME",
           "of the products: fp32; tf32 or bf16 (autocast) on\nGPUs (default: fp32)");
  line.one(kRun, "--optimizer", options.optimizer, "NAME", "sgd or adamw (default: sgd)");
  line.one(
      kRun, "--transport", options.transport, "auto|p2p|shm|socket",
      "how the ranks reach each other (default: shm;\nPyTorch's choice with --run-torch, which "
      "alone knows\np2p); the link's name is shm or tcp, or that of\n--link");
  line.flag(kRun, "--graphs", options.graphs,
            "with --run on GPUs: record each step once as a CUDA\ngraph and replay it, collectives "
            "included");
  line.one(kRun, "--processes", options.processes, "N",
           "fresh process sets of every row (default: 3)");
  line.one(kRun, "--seed", options.seed, "N", "of the order (default: 1)");
  line.one(kRun, "--runs", options.runs, "FILE",
           "write the measured steps there (default: the user's\ndata directory)");
}

void add_output(CommandLine& line, ValidateOptions& options, Words& words) {
  line.one(kOutput, "--tolerance", words.tolerance, "PERCENT",
           "exit with 1 when the median error is larger, as\n10%");
  line.one(kOutput, "--markdown", options.markdown, "FILE",
           "write the report, its charts beside it as\nFILE's stem and -speedup.svg, "
           "-communication.svg,\n-errors.svg");
  line.one(kOutput, "--html", options.html, "FILE", "write the report as one page");
  line.one(kOutput, "--trace", options.trace, "FILE",
           "write the row with the largest error as Chrome\ntrace JSON, its forecast step beside "
           "the measured");
  line.flag(kOutput, "--json", options.json, "print one JSON document");
}

std::pair<std::string, std::string> named_file(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    throw InputError("--link",
                     "is " + io::quoted(text) +
                         "; accepted: NAME=FILE, the link's name in the rows and a link file");
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

// Whether the program reads the file of that name; standard input is no file.
bool reads(const ValidateOptions& options, const std::string& path) {
  if (path == "-") return false;
  const auto is_it = [&](const std::string& read) { return io::same_file(read, path); };
  const auto names_it = [&](const auto& link) { return is_it(link.second); };
  return std::any_of(options.measured.begin(), options.measured.end(), is_it) ||
         std::any_of(options.links.begin(), options.links.end(), names_it) ||
         (options.machine && is_it(*options.machine)) ||
         (options.measure.rows && is_it(*options.measure.rows));
}

struct Output {
  const char* flag;
  const std::optional<std::string>& path;
};

void check_output(const ValidateOptions& options, const Output& output) {
  if (!output.path) return;
  const std::string& path = *output.path;
  if (path.empty()) throw InputError(output.flag, "needs the name of a file");
  if (reads(options, path)) {
    throw InputError(output.flag,
                     "would write over " + io::quoted(path) + ", which is read; name another file");
  }
  if (path == "-" && options.json) {
    throw InputError(output.flag, "and --json both go to standard output; give one of them a file");
  }
}

void check_outputs(const ValidateOptions& options) {
  const Output outputs[] = {{"--markdown", options.markdown},
                            {"--html", options.html},
                            {"--trace", options.trace},
                            {"--runs", options.measure.runs}};
  for (const Output& output : outputs) {
    check_output(options, output);
    for (const Output& other : outputs) {
      if (&other == &output || !output.path || other.path != output.path) continue;
      throw InputError(output.flag, "and " + std::string(other.flag) + " name the same file " +
                                        io::quoted(*output.path) + "; name two");
    }
  }
  if (options.markdown == "-") {
    throw InputError(
        "--markdown",
        "cannot go to standard output, because its charts are written beside it; name a file");
  }
}

// --run or --measured, and each with its own options only.
void check_source(const ValidateOptions& options) {
  const MeasureOptions& m = options.measure;
  if (m.run || m.torch) {
    const std::string flag = m.run ? "--run" : "--run-torch";
    if (m.run && m.torch)
      throw InputError("--run", "and --run-torch are two engines; give one of them");
    if (m.torch && m.graphs)
      throw InputError("--graphs",
                       "replays the native engine's steps; give --run, or leave it out");
    if (!options.measured.empty())
      throw InputError(flag, "and --measured are two sources of steps; give one of them");
    if (!options.machine) {
      throw InputError("--machine", "is missing; " + flag +
                                        " needs the machine that ddpx-calibrate made of this host");
    }
    return;
  }
  const std::pair<const char*, bool> given[] = {{"--rows", m.rows.has_value()},
                                                {"--network", !m.networks.empty()},
                                                {"--sweep", m.sweep.has_value()},
                                                {"--strategy", !m.strategies.empty()},
                                                {"--batch", m.batch.has_value()},
                                                {"--gpus", m.gpus.has_value()},
                                                {"--transport", m.transport.has_value()},
                                                {"--processes", m.processes.has_value()},
                                                {"--seed", m.seed.has_value()},
                                                {"--runs", m.runs.has_value()},
                                                {"--graphs", m.graphs},
                                                {"--dtype", m.dtype.has_value()},
                                                {"--optimizer", m.optimizer.has_value()}};
  for (const auto& [flag, is_given] : given) {
    if (is_given)
      throw InputError(flag,
                       "says what --run and --run-torch measure and has no effect without them; "
                       "add one of them");
  }
  if (options.measured.empty()) {
    throw InputError(
        "--measured",
        "is missing; give a file of measured steps, as --measured runs.json, or --run or "
        "--run-torch");
  }
}

void check(const ValidateOptions& options) {
  check_source(options);
  for (auto file = options.measured.begin(); file != options.measured.end(); ++file) {
    if (std::find(options.measured.begin(), file, *file) != file) {
      throw InputError("--measured", "names " + io::quoted(*file) + " twice; give each file once");
    }
  }
  for (auto link = options.links.begin(); link != options.links.end(); ++link) {
    const auto same = [&](const auto& other) { return other.first == link->first; };
    if (std::find_if(options.links.begin(), link, same) != link) {
      throw InputError("--link",
                       "defines " + io::quoted(link->first) + " twice; give each link once");
    }
  }
  check_outputs(options);
}

}  // namespace

double parse_tolerance(const std::string& text) {
  double percents = 0;
  const char* const last = text.data() + text.size();
  auto [end, error] = std::from_chars(text.data(), last, percents);
  while (end != last && *end == ' ') ++end;
  const bool whole =
      error == std::errc() && std::string_view(end, static_cast<std::size_t>(last - end)) == "%";
  if (!whole || !std::isfinite(percents) || !(percents > 0)) {
    throw InputError("--tolerance",
                     "is " + io::quoted(text) + "; accepted: a percentage above 0, as 10%");
  }
  return percents / 100.0;
}

ParsedValidateOptions parse_validate_options(int argc, const char* const* argv,
                                             const std::string& version) {
  ValidateOptions options;
  Words words;
  CommandLine line("ddpx-validate", kDescription, kFooter);
  add_input(line, options, words);
  add_run(line, options.measure);
  add_output(line, options, words);
  std::optional<std::string> message = line.parse(argc, argv, kOutput, version);
  if (message) return {options, std::move(message)};
  for (const std::string& link : words.links) options.links.push_back(named_file(link));
  if (words.tolerance) options.tolerance = parse_tolerance(*words.tolerance);
  check(options);
  return {options, std::nullopt};
}

}  // namespace ddpx
