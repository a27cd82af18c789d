#include "profiler/cuda/graph.hpp"

#include "profiler/cuda/check.hpp"

namespace ddpx::cuda {
namespace {

using Recorded = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, Destroy<cudaGraphDestroy>>;

Recorded recorded(cudaStream_t stream, const std::function<void()>& work) {
  // Other threads (NCCL's) may go on allocating.
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "recording a step");
  cudaGraph_t graph = nullptr;
  try {
    work();
  } catch (...) {
    // The stream is of no use before its recording ends.
    static_cast<void>(cudaStreamEndCapture(stream, &graph));
    static_cast<void>(cudaGetLastError());
    const Recorded given_up(graph);
    throw;
  }
  check(cudaStreamEndCapture(stream, &graph), "ending the recording of a step");
  return Recorded(graph);
}

}  // namespace

Graph::Graph(cudaStream_t stream, const std::function<void()>& work) : stream_(stream) {
  const Recorded graph = recorded(stream, work);
  cudaGraphExec_t ready = nullptr;
  check(cudaGraphInstantiate(&ready, graph.get(), 0), "making a recorded step ready");
  handle_.reset(ready);
  check(cudaGraphUpload(ready, stream), "uploading a recorded step");
}

void Graph::issue() const { check(cudaGraphLaunch(handle_.get(), stream_), "a recorded step"); }

}  // namespace ddpx::cuda
