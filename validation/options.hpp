// The command line of ddpx-validate.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ddpx {

// What --run and --run-torch measure, as words; row_request.hpp makes values of them.
struct MeasureOptions {
  bool run = false;                   // with the native engine
  bool torch = false;                 // with PyTorch
  std::optional<std::string> rows;    // a runs file whose rows are run again
  std::vector<std::string> networks;  // or every combination of these
  std::optional<std::string> sweep;
  std::vector<std::string> strategies;
  std::optional<std::string> batch;
  std::optional<std::string> gpus;
  std::optional<std::string> dtype;
  std::optional<std::string> optimizer;
  std::optional<std::string> transport;
  std::optional<std::string> processes;
  std::optional<std::string> seed;
  bool graphs = false;              // the native engine's steps are CUDA graphs
  std::optional<std::string> runs;  // file the measured steps go to
};

struct ValidateOptions {
  MeasureOptions measure;
  std::optional<std::string> machine;
  std::vector<std::string> measured;                       // runs files; "-" is standard input
  std::vector<std::pair<std::string, std::string>> links;  // name, link file
  std::optional<double> tolerance;                         // on the median error, a fraction
  std::optional<std::string> markdown;
  std::optional<std::string> html;
  std::optional<std::string> trace;
  bool json = false;
};

struct ParsedValidateOptions {
  ValidateOptions options;
  // Set when the command line asked only for --help or --version: the text to print.
  std::optional<std::string> message;
};

// Throws InputError for an unknown, malformed, missing or contradictory option, with the nearest
// accepted one.
[[nodiscard]] ParsedValidateOptions parse_validate_options(int argc, const char* const* argv,
                                                           const std::string& version);

// "10%", "2.5 %": a fraction above 0. Throws InputError at --tolerance.
[[nodiscard]] double parse_tolerance(const std::string& text);

}  // namespace ddpx
