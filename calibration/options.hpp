// The command line of ddpx-calibrate as written.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace ddpx {

struct CalibrateOptions {
  std::vector<std::string> from;
  std::optional<std::string> output;
  std::optional<std::string> measurements;
  std::optional<std::string> link;
  std::optional<std::string> topology;
  std::optional<std::string> channels;
  // What to measure here, when nothing is read with --from.
  std::optional<std::string> backend;
  std::optional<std::string> ranks;
  std::optional<std::string> transport;
  bool quick = false;
  bool full = false;
  std::optional<std::string> budget;
  std::optional<std::string> widths;
  std::optional<std::string> batches;
  std::optional<std::string> dtypes;
  std::optional<std::string> collectives;
  bool only_link = false;
  std::optional<std::string> processes;
  bool no_cupti = false;
  bool dry_run = false;
};

struct ParsedCalibrateOptions {
  CalibrateOptions options;
  std::optional<std::string>
      message;  // the text to print when only --help or --version was asked for
};

// Throws InputError for unknown, malformed, contradictory and ineffective options.
[[nodiscard]] ParsedCalibrateOptions parse_calibrate_options(int argc, const char* const* argv,
                                                             const std::string& version);

}  // namespace ddpx
