#include <array>
#include <cstdio>

#include "profiler/cuda/nvml.hpp"

namespace ddpx::cuda {
namespace {

struct Reason {
  std::uint64_t bit;
  const char* word;
  bool slows;
};
constexpr std::array kReasons = {
    Reason{0x1, "idle", false},
    Reason{0x2, "clocks set by the user", false},
    Reason{0x4, "power limit", true},
    Reason{0x8, "hardware slowdown", true},
    Reason{0x10, "clocks tied to another GPU", true},
    Reason{0x20, "temperature limit", true},
    Reason{0x40, "hardware slowdown: temperature", true},
    Reason{0x80, "hardware slowdown: power brake", true},
    Reason{0x100, "display clocks", false},
};

std::vector<std::string> words(std::uint64_t reasons, bool all) {
  std::vector<std::string> found;
  for (const Reason& reason : kReasons) {
    if ((reasons & reason.bit) != 0 && (all || reason.slows)) found.emplace_back(reason.word);
    reasons &= ~reason.bit;
  }
  if (reasons != 0) {
    char text[32];
    std::snprintf(text, sizeof text, "reason 0x%llx", static_cast<unsigned long long>(reasons));
    found.emplace_back(text);
  }
  return found;
}

}  // namespace

std::vector<std::string> throttle_words(std::uint64_t reasons) { return words(reasons, true); }
std::vector<std::string> slowing_words(std::uint64_t reasons) { return words(reasons, false); }

std::optional<int> nvlink_generation(int nvml_version) {
  constexpr std::array kGenerations = {1, 2, 2, 3, 3, 4, 5};  // 1.0 2.0 2.2 3.0 3.1 4.0 5.0
  if (nvml_version < 1 || nvml_version > static_cast<int>(kGenerations.size())) return std::nullopt;
  return kGenerations[static_cast<std::size_t>(nvml_version - 1)];
}

}  // namespace ddpx::cuda
