// The forecast turned around: how large one thing has to be for a requirement to be met, all else
// equal.
//
// Nothing here assumes that the forecast rises or falls along the axis (waves and protocol steps
// bend it): it is looked at along a grid, and every boundary between two looks of which one meets
// the requirement is narrowed down. Answers are values on the side that meets it, so they can be
// fed back.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddpx {

enum class Metric { speedup, efficiency, communication_share };
[[nodiscard]] std::string_view name(Metric metric);

struct Requirement {
  Metric metric = Metric::speedup;
  double value = 1;

  // A share is to be at most the value, the others at least.
  [[nodiscard]] bool met_by(double reached) const;
};
// "speedup=1.8", "efficiency=0.9", "efficiency=90%", "communication-share=20%". Throws InputError
// at `place` with what is accepted.
[[nodiscard]] Requirement parse_requirement(std::string_view place, std::string_view text);
// The same, as it is written.
[[nodiscard]] std::string describe(const Requirement& requirement);

// What is varied: from `low` to `high`, evenly in logarithms; whole multiples of `grain` where that
// is not 0.
struct Axis {
  double low = 1;
  double high = 1;
  double now = 1;
  double grain = 0;
};

enum class Outcome {
  boundary,  // met on one side of `value`, which is on that side
  always,    // met along the whole axis
  never,     // nowhere; `value` is where it comes nearest
};

// Values that meet a requirement, ends included; nullopt where the axis ends first.
struct MetRange {
  std::optional<double> from;
  std::optional<double> to;
};

struct Solution {
  Outcome outcome = Outcome::never;
  double value = 0;              // of a boundary: the one nearest to the present value
  double reached = 0;            // the metric there
  bool at_least = true;          // of a boundary: larger values meet it, not smaller ones
  std::vector<MetRange> ranges;  // of boundaries: all that meets it, ascending
  double beyond = 0;             // of a boundary: the metric just on its other side

  // Whether no value gives what is required to a thousandth, because the metric jumps there: a
  // protocol changes, or products begin one wave more.
  [[nodiscard]] bool jumps(const Requirement& requirement) const;
};

// `metric_at` is called with values of the axis.
[[nodiscard]] Solution solve(const Requirement& requirement, const Axis& axis,
                             const std::function<double(double)>& metric_at);

// Where more GPUs stop being worth it. `speedups[i]` is that of i + 1 GPUs (1 of one).
struct UsefulGpus {
  int most = 1;               // the count of the highest throughput
  bool dips = false;          // on the way there a GPU more is slower, somewhere
  bool most_is_last = false;  // it still rises at the largest count looked at
  int half = 1;               // the last whose GPU adds at least half of what the first one does
  bool half_is_last = false;
};
[[nodiscard]] UsefulGpus useful_gpus(const std::vector<double>& speedups);

}  // namespace ddpx
