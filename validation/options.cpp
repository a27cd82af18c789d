#include "validation/options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "cli/command_line.hpp"
#include "io/one_line.hpp"
#include "model/error.hpp"

namespace ddpx {
namespace {

constexpr const char* kDescription =
    "Lays forecasts beside measured training steps: errors by regime, link and\n"
    "strategy, interval coverage, verdicts, and simple baselines on the same rows.\n"
    "Needs no GPU.";

constexpr const char* kFooter = R"(Examples:
  ddpx-validate --measured runs.json --markdown report.md
  ddpx-validate --machine machine.json --measured a.json --measured b.json
                --tolerance 5% --html report.html

Exit codes: 0 within tolerance, or none was given; 1 the median error is outside
--tolerance; 2 a flag or a file is wrong; 130 interrupted.)";

constexpr const char* kInput = "Forecast and measurement";
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

using Written = std::pair<const char*, const std::optional<std::string>*>;

void check_outputs(const ValidateOptions& options) {
  const Written outputs[] = {
      {"--markdown", &options.markdown}, {"--html", &options.html}, {"--trace", &options.trace}};
  for (const auto& [flag, path] : outputs) {
    if (!*path) continue;
    if ((*path)->empty()) throw InputError(flag, "needs the name of a file");
    const auto reads = [&](const std::string& input) { return input == **path && input != "-"; };
    const bool link = std::any_of(options.links.begin(), options.links.end(),
                                  [&](const auto& entry) { return reads(entry.second); });
    if (link || std::any_of(options.measured.begin(), options.measured.end(), reads) ||
        (options.machine && reads(*options.machine))) {
      throw InputError(
          flag, "would write over " + io::quoted(**path) + ", which is read; name another file");
    }
    for (const auto& [other_flag, other] : outputs) {
      if (other_flag != flag && *other == *path) {
        throw InputError(flag, "and " + std::string(other_flag) + " name the same file " +
                                   io::quoted(**path) + "; name two");
      }
    }
    if (**path == "-" && options.json)
      throw InputError(flag, "and --json both go to standard output; give one of them a file");
  }
  if (options.markdown == "-") {
    throw InputError(
        "--markdown",
        "cannot go to standard output, because its charts are written beside it; name a file");
  }
}

void check(const ValidateOptions& options) {
  if (options.measured.empty()) {
    throw InputError("--measured",
                     "is missing; give a file of measured steps, as --measured runs.json");
  }
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
  add_output(line, options, words);
  std::optional<std::string> message = line.parse(argc, argv, kOutput, version);
  if (message) return {options, std::move(message)};
  for (const std::string& link : words.links) options.links.push_back(named_file(link));
  if (words.tolerance) options.tolerance = parse_tolerance(*words.tolerance);
  check(options);
  return {options, std::nullopt};
}

}  // namespace ddpx
