// One operation made ready on this rank: its operands exist, and every call of run() does it once.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "profiler/backend.hpp"
#include "profiler/cpu/operands.hpp"
#include "profiler/cpu/progress.hpp"

namespace ddpx::cpu {

class Workload {
 public:
  [[nodiscard]] static bool supports(const Operation& operation, int ranks);

  // Of copies and updates: what the ring of layers holds.
  [[nodiscard]] static Bytes working_set(const Operation& operation);

  // Throws DeviceError for an operation that supports() denies. The queue must outlive it.
  Workload(const Operation& operation, CollectiveQueue& queue, int ranks);
  Workload(const Workload&) = delete;  // what run() does refers to its memory
  Workload& operator=(const Workload&) = delete;

  void run() { run_(next_++); }
  // Starts the collective `times` times in a row and does not wait for it.
  [[nodiscard]] CollectiveQueue::Ticket start(int times);
  [[nodiscard]] bool needs_peers() const { return buffers_.has_value(); }

 private:
  void prepare(const Product& product);
  void prepare(const CollectiveCall& call);
  void prepare(const Copy& copy);
  void prepare(const OptimizerStep& step);
  void prepare(const Launch& launch);

  CollectiveQueue& queue_;
  int ranks_;
  Operands operands_;
  std::optional<CollectiveBuffers> buffers_;
  std::function<void(std::size_t)> run_;
  std::size_t next_ = 0;
};

}  // namespace ddpx::cpu
