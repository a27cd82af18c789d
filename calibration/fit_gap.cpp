#include "calibration/fit_gap.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace ddpx {
namespace {

// Where no gaps were measured: what kernel records of two H200 have more in steps with collectives
// than in those without, 2.8 for 1.4 us in the native engine's steps, 2.5 for 1.6 in PyTorch's
// (docs/results/h200x2.md).
constexpr Seconds kLongerNative{1.4e-6};
constexpr Seconds kLongerTorch{0.95e-6};

// What a gap is longer where the native engine's step has collectives; nullopt where either kind is
// missing.
std::optional<Seconds> measured_lengthening(const std::vector<GapSample>& gaps) {
  std::array<double, 2> sums{};
  std::array<int, 2> counts{};
  for (const GapSample& gap : gaps) {
    sums.at(gap.collectives ? 1 : 0) += gap.seconds;
    ++counts.at(gap.collectives ? 1 : 0);
  }
  if (counts[0] == 0 || counts[1] == 0) return std::nullopt;
  return Seconds(std::max(0.0, sums[1] / counts[1] - sums[0] / counts[0]));
}

}  // namespace

void lengthen_gap(const Measurements& measurements, Machine& machine) {
  const double error = machine.kernel_gap.relative_error;
  const auto borrowed = [&](Seconds longer) {
    return Estimate<Seconds>{longer, error, "prior: what kernel records of two H200 have more"};
  };
  auto& native = machine.longer_gap.at(static_cast<std::size_t>(Engine::native));
  if (const auto longer = measured_lengthening(measurements.gaps)) {
    native = {*longer, error, "what kernel records have more beside collectives"};
  } else {
    native = borrowed(kLongerNative);
  }
  machine.longer_gap.at(static_cast<std::size_t>(Engine::torch)) = borrowed(kLongerTorch);
}

}  // namespace ddpx
