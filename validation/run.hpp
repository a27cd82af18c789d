// Measured steps, of any origin: the truth a forecast is compared with.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/strategy.hpp"
#include "model/timeline.hpp"

namespace ddpx {

// One process set (a fresh start of all ranks) and every repeat it timed.
struct RunProcess {
  std::vector<double> step_times_s;
};

struct RunRow {
  std::string network;  // as for --network
  std::string link;
  Job job;
  std::vector<RunProcess> processes;
  std::optional<double> device_busy_share;  // of the one-GPU step
  // Share of the step in which compute waited for communication, where it was measured
  // ("communication_share" in the file).
  std::optional<double> measured_communication_share;
  Timeline timeline;  // of one step of the first rank, where it was asked for
  std::string note;
  std::vector<std::pair<std::string, std::string>> context;  // where it differs from the file's

  // Median over processes of each process's median step; extremes over processes.
  [[nodiscard]] Interval step_time_s() const;
  // "one GPU" of that, whatever the file says.
  [[nodiscard]] std::string_view link_name() const;
};

enum class Origin { native, torch, imported };
[[nodiscard]] std::string_view name(Origin origin);
[[nodiscard]] std::optional<Origin> origin_from(std::string_view word);

struct Runs {
  std::string name;
  std::string source;
  Origin origin = Origin::imported;
  std::vector<std::pair<std::string, std::string>> context;
  std::vector<RunRow> rows;
  std::vector<std::string> notes;
};

}  // namespace ddpx
