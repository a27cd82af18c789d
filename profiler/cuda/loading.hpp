// Kernels are loaded while no collective is in flight.
//
// CUDA loads a kernel when it is launched for the first time, and loading may wait for the device
// to run dry (CUDA Programming Guide 4.7, "Lazy Loading", its hazards of concurrent execution). A
// collective's kernel on another stream spins until its peers have come; where these wait in turn
// for this rank, or for a thread of the library that needs the context meanwhile, nobody moves on.
// So the kernels of this project are loaded before there is a communicator (load_kernels), and what
// a library may load at its first use is issued to a device that has run dry (FirstUse).
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <set>

#include "model/operation.hpp"

namespace ddpx::cuda {

// Runs every kernel of kernels.hpp once, on next to nothing, with every dtype and alignment that
// has a kernel of its own. Throws DeviceError.
void load_kernels(cudaStream_t stream);

// Tells the first use of a library's kernel from later ones. Which kernel cuBLAS takes depends on
// the shape and on the operands' alignment, NCCL's way of a message on kind, dtype and size.
class FirstUse {
 public:
  [[nodiscard]] bool of(const Product& product, const void* a, const void* b, const void* c);
  [[nodiscard]] bool of(Collective kind, DType dtype, std::size_t elements);

 private:
  using Key = std::array<std::size_t, 9>;
  std::set<Key> used_;
};

}  // namespace ddpx::cuda
