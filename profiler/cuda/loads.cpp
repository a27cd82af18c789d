#include "profiler/cuda/loads.hpp"

#include <algorithm>

namespace ddpx::cuda {
namespace {

constexpr std::size_t kStates = 5;
constexpr double kUnknown = -1;  // none of these quantities is negative

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::optional<double> known(double number) {
  return number < 0 ? std::nullopt : std::optional(number);
}

}  // namespace

RankLoad load_of(std::span<const LoadWindow> windows, const GpuState& last, Clocks clocks) {
  RankLoad load;
  load.clock_mhz = last.sm_mhz;
  load.memory_mhz = last.memory_mhz;
  load.power_w = last.watts;
  load.power_limit_w = last.limit_watts;
  load.celsius = last.celsius;
  const auto slowed = [](const LoadWindow& w) {
    return !slowing_words(w.throttle_reasons).empty();
  };
  const bool apart =
      clocks == Clocks::burst && !std::all_of(windows.begin(), windows.end(), slowed);
  std::uint64_t reasons = 0;
  for (const LoadWindow& window : windows) {
    reasons |= window.throttle_reasons;
    if (apart && slowed(window)) {
      load.dropped.push_back(
          {window.seconds, "slowed: " + joined(slowing_words(window.throttle_reasons))});
    } else {
      load.seconds.push_back(window.seconds);
    }
  }
  load.slowed_by = joined(slowing_words(reasons));
  return load;
}

std::vector<double> packed(std::span<const LoadWindow> windows, const GpuState& state) {
  std::vector<double> numbers{state.sm_mhz.value_or(kUnknown), state.memory_mhz.value_or(kUnknown),
                              state.watts.value_or(kUnknown), state.limit_watts.value_or(kUnknown),
                              state.celsius.value_or(kUnknown)};
  for (const LoadWindow& window : windows) {
    numbers.push_back(window.seconds);
    numbers.push_back(static_cast<double>(window.throttle_reasons));  // bits far below 2^53
  }
  return numbers;
}

RankLoad unpacked(std::span<const double> numbers, Clocks clocks) {
  GpuState state;
  state.sm_mhz = known(numbers[0]);
  state.memory_mhz = known(numbers[1]);
  state.watts = known(numbers[2]);
  state.limit_watts = known(numbers[3]);
  state.celsius = known(numbers[4]);
  std::vector<LoadWindow> windows;
  for (std::size_t i = kStates; i + 1 < numbers.size(); i += 2)
    windows.push_back({numbers[i], static_cast<std::uint64_t>(numbers[i + 1])});
  return load_of(windows, state, clocks);
}

}  // namespace ddpx::cuda
