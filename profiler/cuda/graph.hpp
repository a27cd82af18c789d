// Work on a stream recorded once and issued again as a whole (CUDA graphs): the host pays for one
// launch instead of one per kernel and collective. Work that goes to other streams is part of it
// where events join them to this one (CUDA Programming Guide, "Cross-stream Dependencies and
// Events"); NCCL's collectives may be recorded like kernels, on all ranks alike (NCCL's user guide,
// "Using NCCL with CUDA Graphs").
#pragma once

#include <functional>

#include "profiler/cuda/handles.hpp"

namespace ddpx::cuda {

class Graph {
 public:
  // Calls `work`, which must leave `stream` joined by every other stream it used and may not wait
  // on the host. Nothing of it runs. What it refers to must live as long as the graph does.
  Graph(cudaStream_t stream, const std::function<void()>& work);

  void issue() const;

 private:
  cudaStream_t stream_;
  GraphHandle handle_;
};

}  // namespace ddpx::cuda
