// Sampling one operation until it is known well enough. The rule is an object that sees samples and
// nothing else, so that every rank decides alike and tests need no device.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "profiler/screen.hpp"

namespace ddpx {

struct StoppingOptions {
  double noise = 0.01;  // standard error of the median wanted, over the median
  int fewest = 5;       // samples taken at least, whatever they cost
  int most = 400;
  Seconds time{0.5};  // bound on the sum of samples
};

// Why sampling ended.
enum class Stopped { quiet, time, count };
[[nodiscard]] std::string_view name(Stopped stopped);

class StoppingRule {
 public:
  // Throws InputError naming the field that makes no sense.
  explicit StoppingRule(const StoppingOptions& options);

  void add(std::span<const double> seconds);
  // nullopt: go on.
  [[nodiscard]] std::optional<Stopped> stopped() const;
  // How many samples to take next, before asking again: at most as many as the time left allows, at
  // least one.
  [[nodiscard]] int next() const;
  [[nodiscard]] std::span<const double> samples() const { return samples_; }

 private:
  StoppingOptions options_;
  std::vector<double> samples_;
  double sum_ = 0;
};

struct Measured {
  std::vector<double> seconds;
  std::vector<DroppedSample> dropped;
  Stopped stopped = Stopped::quiet;
  double relative_error = 0;
  std::optional<std::string> remark;  // what was wrong with the samples, if anything was
  Seconds spent{};
};

// Takes samples from `sample`, which is asked for a number of them, until the rule stops it, then
// screens them.
[[nodiscard]] Measured measure(const std::function<std::vector<double>(int)>& sample,
                               const StoppingOptions& options);

}  // namespace ddpx
