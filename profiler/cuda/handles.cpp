#include "profiler/cuda/handles.hpp"

#include <string>

#include "model/error.hpp"
#include "profiler/cuda/check.hpp"

namespace ddpx::cuda {

StreamHandle make_stream() {
  cudaStream_t stream = nullptr;
  // Independent of the legacy default stream.
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "creating a stream");
  return StreamHandle(stream);
}

EventHandle make_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), "creating an event");
  return EventHandle(event);
}

Memory allocate_memory(std::size_t bytes) {
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, bytes);
  if (status == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    std::size_t free = 0;
    std::size_t all = 0;
    static_cast<void>(cudaMemGetInfo(&free, &all));
    throw DeviceError("GPU memory: allocating " + std::to_string(bytes) + " B: only " +
                      std::to_string(free) + " of " + std::to_string(all) + " B are free");
  }
  check(status, "allocating " + std::to_string(bytes) + " B");
  return Memory(memory);
}

}  // namespace ddpx::cuda
