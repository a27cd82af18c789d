// The command line of ddpx-predict as written: words, not yet values. request.hpp gives them their
// meaning.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace ddpx {

struct Options {
  std::optional<std::string> machine;
  std::optional<std::string> gpu;
  std::optional<std::string> validation;
  std::vector<std::string> links;
  std::optional<std::string> inter_link;
  std::optional<std::string> nics;
  std::optional<std::string> gpus;  // "2,4,8,2x8"
  std::vector<std::string> networks;
  std::optional<std::string> params;
  std::optional<std::string> step_time;
  std::optional<std::string> batch;  // "64,256"
  std::optional<std::string> sweep;
  std::optional<std::string> engine;
  std::optional<std::string> dtype;
  std::optional<std::string> optimizer;
  std::optional<std::string> scaling;
  std::vector<std::string> strategies;
  std::optional<std::string> check_link;
  std::optional<std::string> infer_link;  // "t1=120ms,tn=180ms"
  bool rank_strategies = false;
  std::optional<std::string> gpu_memory;
  std::vector<std::string> requirements;  // "speedup=1.8"
  // What keeps ranks from working evenly and at once.
  std::optional<std::string> loader_rate;  // "2000", "500/rank"
  std::optional<std::string> imbalance;    // "10%"
  std::optional<std::string> straggler;    // "20%", "spread=3%"
  // Time to target, money.
  std::optional<std::string> samples;
  std::optional<std::string> critical_batch;  // "4000", "1000:20000", "unknown"
  std::optional<std::string> learning_rate;
  std::optional<std::string> rate_rule;
  std::optional<std::string> price;  // "2.5" or a file
  std::optional<std::string> deadline;
  // What is really wrong.
  std::optional<std::string> diagnose;  // "t1=120ms,t4=180ms"
  std::optional<std::string> rank_compute;
  std::optional<std::string> rank_wall;
  std::optional<std::string> rank_data;
  bool crossover = false;
  bool explain = false;
  bool list_links = false;
  bool list_machines = false;
  bool csv = false;
  bool json = false;
};

struct ParsedOptions {
  Options options;
  // Set when the command line asked only for --help or --version: the text to print.
  std::optional<std::string> message;
};

// Throws InputError for an unknown or malformed option, with the nearest accepted one.
[[nodiscard]] ParsedOptions parse_options(int argc, const char* const* argv,
                                          const std::string& version);

}  // namespace ddpx
