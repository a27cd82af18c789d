// The command line of ddpx-validate.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ddpx {

struct ValidateOptions {
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
