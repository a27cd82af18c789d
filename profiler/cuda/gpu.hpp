// One GPU as a rank uses it: its two streams, cuBLAS on the first, and what it is.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/machine.hpp"
#include "profiler/cuda/handles.hpp"
#include "profiler/cuda/kernels.hpp"
#include "profiler/rank_place.hpp"

namespace ddpx::cuda {

class Gpu {
 public:
  // The GPU of this rank on its host: the n-th visible one for the n-th rank, with the project's
  // own kernels loaded (loading.hpp). Throws DeviceError when there are fewer than ranks.
  explicit Gpu(const RankPlace& place);

  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] const std::string& bus_id() const { return bus_id_; }
  // Versions of driver, CUDA and cuBLAS.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> context() const;
  [[nodiscard]] std::size_t l2_bytes() const { return l2_bytes_; }

  [[nodiscard]] cudaStream_t compute() const { return compute_.get(); }
  [[nodiscard]] cudaStream_t communication() const { return communication_.get(); }

  // bf16 needs compute capability 8.0, tf32 likewise.
  [[nodiscard]] bool supports(DType dtype) const;
  // One linear layer's product on the compute stream (engine/device.hpp says which matrix is
  // which). Accumulates in fp32 whatever the dtype; fp32 stays fp32, as in PyTorch's default.
  void multiply(const Product& product, const void* a, const void* b, void* c);

 private:
  int index_;
  Device device_;
  std::string bus_id_;
  std::size_t l2_bytes_ = 0;
  StreamHandle compute_;
  StreamHandle communication_;
  Memory workspace_;
  BlasHandle blas_;
};

}  // namespace ddpx::cuda
