// A backend whose truth is known: a Machine says what everything costs, and troubles of real
// devices are laid over it on demand. What calibration makes of it can be compared with the truth,
// on any computer.
#pragma once

#include <optional>
#include <random>
#include <string>

#include "profiler/backend.hpp"

namespace ddpx {

struct FakeTroubles {
  double noise = 0.01;  // relative standard deviation of a sample
  double drift_per_sample =
      0;  // each sample of an operation takes this share more than the one before it
  std::optional<int>
      throttle_after{};  // samples of an operation at full speed; later ones take ...
  double throttle_factor = 1.3;
  double disturbed_share = 0;  // of all samples, taking ...
  double disturbed_factor = 5;
  double disturbed_visits = 0;      // share of visits to an operation of which half the samples are
  double ageing_per_operation = 0;  // the whole device slows by this share with every operation
  std::optional<int> fails_at_operation{};  // DeviceError in the n-th operation, from 0
  unsigned seed = 1;
};

class FakeBackend : public Backend {
 public:
  // `machine` is the truth; its link of that name joins the ranks. Throws InputError when it has
  // none.
  FakeBackend(Machine machine, std::string link, int ranks, FakeTroubles troubles = {});

  [[nodiscard]] Hardware hardware() const override;
  [[nodiscard]] bool supports(const Operation& operation) const override;
  [[nodiscard]] std::vector<double> sample(const Operation& operation, int n) override;
  [[nodiscard]] std::vector<BesideTimes> sample_beside(const Operation& work,
                                                       const CollectiveCall& call, int n) override;

  // What a sample would be without troubles.
  [[nodiscard]] Seconds truth(const Operation& operation) const;

 private:
  void begin(const std::string& what);
  double troubled(double seconds);

  Machine machine_;
  std::string link_;
  int ranks_;
  FakeTroubles troubles_;
  std::mt19937_64 random_;
  std::string current_;  // operation that is being sampled
  int operations_ = 0;   // begun so far
  int samples_ = 0;      // of the current one
  bool disturbed_ = false;
};

}  // namespace ddpx
