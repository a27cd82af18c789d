// One operation made ready on this rank: its operands exist, and every call of run() does it once.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "profiler/backend.hpp"
#include "profiler/cpu/communicator.hpp"
#include "profiler/cpu/operands.hpp"

namespace ddpx::cpu {

class Workload {
 public:
  [[nodiscard]] static bool supports(const Operation& operation, int ranks);

  // Throws DeviceError for an operation that supports() denies. The communicator must outlive it.
  Workload(const Operation& operation, const Communicator& communicator);

  void run() { run_(next_++); }
  [[nodiscard]] bool needs_peers() const { return needs_peers_; }

 private:
  void prepare(const Product& product);
  void prepare(const CollectiveCall& call, const Communicator& communicator);
  void prepare(const Copy& copy);
  void prepare(const OptimizerStep& step);
  void prepare(const Launch& launch);

  Operands operands_;
  std::vector<Half> halves_;
  std::function<void(std::size_t)> run_;
  std::size_t next_ = 0;
  bool needs_peers_ = false;
};

}  // namespace ddpx::cpu
