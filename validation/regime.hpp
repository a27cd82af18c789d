// What bounds a measured step, decided from measurements before any forecast is made, so that no
// forecast can choose the rows it is judged on. GPU-bound: kernel records show the device busy for
// 90 % of the one-GPU step, or, without records, the one-GPU step time follows the flops of its
// neighbour in width within 10 %.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/learned.hpp"
#include "validation/run.hpp"

namespace ddpx {

inline constexpr double kBusyShare = 0.90;
inline constexpr double kFollowsFlops = 0.10;

// A network's name without its width: "mlp:width=4096,depth=8" and "mlp:width=512,depth=8" are one
// series, "mlp:depth=8".
[[nodiscard]] std::string series_of(std::string_view network);

// The one-GPU rows of one runs file (plain steps, K = 1), by what they ran.
class OneGpuRows {
 public:
  // `flops_per_sample` gives a row's network's flops.
  OneGpuRows(const Runs& runs, const std::function<double(const RunRow&)>& flops_per_sample);

  // Step seconds of the one-GPU run that `row` speeds up, of the same link's row where there are
  // several; nullopt without one. Several rows of the same kind give the median of their values and
  // the extremes of their intervals.
  [[nodiscard]] std::optional<Interval> step_of(const RunRow& row) const;

  // The regime by the rule above; nullopt when the file cannot tell: no one-GPU row, or no busy
  // share and no neighbour in width. The neighbour is the next larger width, for the largest the
  // next smaller.
  [[nodiscard]] std::optional<Regime> regime_of(const RunRow& row) const;

 private:
  struct Entry {
    const RunRow* row;
    Interval step;
    double flops;  // per sample
    std::string series;
  };

  [[nodiscard]] std::vector<const Entry*> matching(const RunRow& row) const;

  std::vector<Entry> entries_;
};

}  // namespace ddpx
