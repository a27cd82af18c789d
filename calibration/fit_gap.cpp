#include "calibration/fit_gap.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace ddpx {
namespace {

// What kernel records of two H200 have more in steps with collectives than in those without
// (docs/results/h200x2.md): the native engine's 2.8 for 1.4 us, PyTorch's 2.5 for 1.6; and by how
// much that differs from step to step, as a standard deviation of the table's three each: 1.7, 1.3
// and 1.6 us; 0.9, 1.2 and 0.6.
struct Lengthening {
  Seconds usual{};
  Seconds deviation{};
};
constexpr Lengthening kNative{Seconds(1.4e-6), Seconds(0.21e-6)};
constexpr Lengthening kTorch{Seconds(0.95e-6), Seconds(0.30e-6)};

Estimate<Seconds> estimate(Seconds longer, double standard_error, const char* origin) {
  const double relative = longer > Seconds{} ? standard_error / longer.value() : 0;
  return {longer, relative, origin};
}

Estimate<Seconds> borrowed(const Lengthening& lengthening) {
  return estimate(lengthening.usual, lengthening.deviation.value(),
                  "prior: what kernel records of two H200 have more");
}

// The gaps of one kind of step.
struct Gaps {
  int count = 0;
  double sum = 0;
  double squares = 0;  // of the deviations from the mean (Welford 1962)

  void take(double seconds) {
    const double off = seconds - mean();
    ++count;
    sum += seconds;
    squares += off * (seconds - mean());
  }
  [[nodiscard]] double mean() const { return count > 0 ? sum / count : 0; }
  // Of the mean; a single gap says nothing of it.
  [[nodiscard]] double variance_of_mean() const {
    return count > 1 ? squares / (count - 1) / count : 0;
  }
};

// What a gap is longer where the native engine's step has collectives; nullopt where either kind is
// missing. Its standard error is that of the difference of the two means, and beside it what steps
// of other networks, which were not measured, have differed by.
std::optional<Estimate<Seconds>> measured(const std::vector<GapSample>& gaps) {
  Gaps without;
  Gaps with;
  for (const GapSample& gap : gaps) (gap.collectives ? with : without).take(gap.seconds);
  if (without.count == 0 || with.count == 0) return std::nullopt;
  const double of_means = std::sqrt(without.variance_of_mean() + with.variance_of_mean());
  return estimate(Seconds(std::max(0.0, with.mean() - without.mean())),
                  std::hypot(of_means, kNative.deviation.value()),
                  "what kernel records have more beside collectives");
}

}  // namespace

void lengthen_gap(const Measurements& measurements, Machine& machine) {
  machine.longer_gap.at(static_cast<std::size_t>(Engine::native)) =
      measured(measurements.gaps).value_or(borrowed(kNative));
  machine.longer_gap.at(static_cast<std::size_t>(Engine::torch)) = borrowed(kTorch);
}

}  // namespace ddpx
