// How each rank came out of its tests, in memory that the ranks of one machine share: beside the
// device, whose collectives pair by their order alone. A rank that left a test early would have its
// next barrier taken for one inside that test, or inside the next.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>

#include "profiler/engine/device.hpp"

namespace ddpx::test {

class RankOutcomes {
 public:
  // Collective. All ranks must be on one machine.
  explicit RankOutcomes(engine::Device& device);
  RankOutcomes(const RankOutcomes&) = delete;
  RankOutcomes& operator=(const RankOutcomes&) = delete;
  ~RankOutcomes();

  // This rank came out of `test`, the next after the last exchange: with `early` ("failed",
  // "skipped") before its end, as far as that can be told, else "". Returns when all ranks have
  // come out of it alike; otherwise, or where one has not come within `to_come`, ends every rank,
  // with one line of all of them that says which rank and test.
  void exchange(const std::string& test, const std::string& early, std::chrono::seconds to_come);

 private:
  struct Board;
  struct Shared;
  [[nodiscard]] std::optional<std::string> disagreement() const;
  [[nodiscard]] std::string not_come(std::chrono::seconds to_come) const;
  [[nodiscard]] bool all_have_come() const;
  [[noreturn]] void end_all(const std::string& line) const;

  int rank_;
  int ranks_;
  int exchanges_ = 0;
  Shared* shared_ = nullptr;
};

}  // namespace ddpx::test
