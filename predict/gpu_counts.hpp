// What several GPU counts give, looked at once each: every count up to 16, steps of an eighth or
// less beyond, and every count around those that an answer names (of thousands each 64th part).
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "model/requirement.hpp"

namespace ddpx {

inline constexpr int kMostGpus = 1 << 20;  // that a question may be of

class GpuCounts {
 public:
  struct Count {
    double metric = 0;
    double speedup = 0;
  };
  // Of one count; nullopt where it cannot be had, nor any larger one.
  using Look = std::function<std::optional<Count>(int)>;

  GpuCounts(int most, Look look);
  [[nodiscard]] int last() const { return last_; }  // 0: not even one
  // Of a count up to the last.
  [[nodiscard]] const Count& at(int count);
  [[nodiscard]] UsefulGpus useful();

 private:
  // Straight lines between the counts looked at.
  [[nodiscard]] std::vector<double> speedups() const;
  void look_around(int count);
  bool look_at(int count);

  Look look_;
  int last_ = 0;
  std::map<int, Count> counts_;
};

}  // namespace ddpx
