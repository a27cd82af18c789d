// What CUDA's libraries hand out, owned: each alias destroys its handle. Destroying reports
// nothing: a process on its way out of a failure has said why already.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <memory>
#include <type_traits>

namespace ddpx::cuda {

template <auto destroy>
struct Destroy {
  template <class T>
  void operator()(T* handle) const {
    static_cast<void>(destroy(handle));
  }
};

using StreamHandle =
    std::unique_ptr<std::remove_pointer_t<cudaStream_t>, Destroy<cudaStreamDestroy>>;
using EventHandle = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, Destroy<cudaEventDestroy>>;
using BlasHandle = std::unique_ptr<std::remove_pointer_t<cublasHandle_t>, Destroy<cublasDestroy>>;
using GraphHandle =
    std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, Destroy<cudaGraphExecDestroy>>;
using Memory = std::unique_ptr<void, Destroy<cudaFree>>;

[[nodiscard]] StreamHandle make_stream();
// With timing.
[[nodiscard]] EventHandle make_event();
// Throws DeviceError that says how much was asked for and how much is free.
[[nodiscard]] Memory allocate_memory(std::size_t bytes);

}  // namespace ddpx::cuda
