// One operation made ready on this rank's GPU: its operands exist, and every call of issue() puts
// it on its stream once.
//
// Operands go round a ring, as the layers of a network do: what one product reads was not left in
// the cache by the one before. What a step finds in the cache stays there too: the activation or
// gradient that the layer before has just written is always the same buffer.
#pragma once

#include <functional>
#include <vector>

#include "profiler/backend.hpp"
#include "profiler/cuda/communicator.hpp"
#include "profiler/cuda/gpu.hpp"

namespace ddpx::cuda {

class Workload {
 public:
  [[nodiscard]] static bool supports(const Operation& operation, const Gpu& gpu, int ranks);

  // Throws DeviceError for an operation that supports() denies. Gpu and communicator must outlive
  // it.
  Workload(const Operation& operation, Gpu& gpu, Communicator& communicator);
  Workload(const Workload&) = delete;  // what issue() does refers to its memory
  Workload& operator=(const Workload&) = delete;

  void issue() { issue_(next_++); }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }
  [[nodiscard]] bool needs_peers() const { return stream_ == gpu_.communication(); }

 private:
  void prepare(const Product& product);
  void prepare(const CollectiveCall& call);
  void prepare(const Copy& copy);
  void prepare(const OptimizerStep& step);
  void prepare(const Elementwise& work);
  void prepare(const Launch& launch);

  // Random numbers.
  [[nodiscard]] Elements buffer(std::size_t count, DType dtype);
  void clear(void* data, std::size_t bytes);
  [[nodiscard]] Elements zeroed(std::size_t count);  // fp32
  // Copies of something of `bytes` so that all together are twice the cache, 64 at most.
  [[nodiscard]] std::size_t ring_for(double bytes) const;

  Gpu& gpu_;
  Communicator& communicator_;
  cudaStream_t stream_;
  std::vector<Memory> memory_;
  std::function<void(std::size_t)> issue_;
  std::size_t next_ = 0;
};

}  // namespace ddpx::cuda
