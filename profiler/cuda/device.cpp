#include "profiler/cuda/device.hpp"

#include <algorithm>

#include "model/error.hpp"
#include "profiler/cuda/graph.hpp"

namespace ddpx::cuda {
namespace {

using engine::Slice;

// Holds the device back until the host has issued some steps of a hundred kernels.
constexpr long long kStepsHoldNanoseconds = 8'000'000;

Elements elements(Slice slice) { return {slice.data, slice.elements, slice.dtype}; }

}  // namespace

CudaDevice::CudaDevice(Pulse& pulse) : pulse_(pulse), site_(pulse), gpu_(site_.gpu()) {}

engine::Buffer CudaDevice::allocate(std::size_t elements, DType dtype) {
  const std::size_t size = std::max<std::size_t>(1, Slice{nullptr, elements, dtype}.bytes());
  synchronize();
  Memory memory = allocate_memory(size);
  check(cudaMemsetAsync(memory.get(), 0, size, gpu_.compute()), "clearing memory");
  check(cudaStreamSynchronize(gpu_.compute()), "clearing memory");
  return {static_cast<std::byte*>(memory.release()), elements, dtype,
          [](std::byte* data) { static_cast<void>(cudaFree(data)); }};
}

// On the stream that reads it: cudaMemcpy() from pageable memory may return before the data are
// there, and streams that do not block do not wait for it (CUDA Runtime API, "API synchronization
// behavior").
void CudaDevice::to_device(std::span<const float> from, void* to) {
  check(cudaMemcpyAsync(to, from.data(), from.size_bytes(), cudaMemcpyHostToDevice, gpu_.compute()),
        "uploading");
  check(cudaStreamSynchronize(gpu_.compute()), "uploading");
}

void CudaDevice::upload(std::span<const float> from, Slice to) {
  synchronize();
  if (to.dtype == DType::fp32 || to.dtype == DType::tf32) {
    to_device(from, to.data);
    return;
  }
  const Memory staged = allocate_memory(from.size_bytes());
  to_device(from, staged.get());
  cuda::copy_scaled({staged.get(), from.size(), DType::fp32}, 1.0F, elements(to), gpu_.compute());
  synchronize();
}

void CudaDevice::download(Slice from, std::span<float> to) {
  synchronize();
  if (from.dtype == DType::fp32 || from.dtype == DType::tf32) {
    check(cudaMemcpy(to.data(), from.data, to.size_bytes(), cudaMemcpyDeviceToHost), "downloading");
    return;
  }
  const Memory staged = allocate_memory(to.size_bytes());
  cuda::copy_scaled(elements(from), 1.0F, {staged.get(), to.size(), DType::fp32}, gpu_.compute());
  synchronize();
  check(cudaMemcpy(to.data(), staged.get(), to.size_bytes(), cudaMemcpyDeviceToHost),
        "downloading");
}

void CudaDevice::product(const Product& work, Slice a, Slice b, Slice c) {
  if (first_use_.of(work, a.data, b.data, c.data)) synchronize();
  gpu_.multiply(work, a.data, b.data, c.data);
  pulse_.tick();
}

void CudaDevice::add_bias(Slice rows, Slice bias, bool relu) {
  cuda::add_bias(elements(rows), elements(bias), relu, gpu_.compute());
}

void CudaDevice::relu_backward(Slice gradient, Slice activation) {
  cuda::relu_backward(elements(gradient), elements(activation), gpu_.compute());
}

void CudaDevice::bias_gradient(Slice gradient, Slice bias_gradient) {
  sum_rows(elements(gradient), elements(bias_gradient), gpu_.compute());
}

void CudaDevice::cross_entropy(Slice logits, Slice labels, float weight, bool fresh, Slice loss,
                               Slice gradient) {
  if (labels.elements > rows_) {
    synchronize();
    row_losses_ = allocate_memory(labels.elements * sizeof(float));
    rows_ = labels.elements;
  }
  cuda::cross_entropy(elements(logits), elements(labels), weight, fresh, elements(loss),
                      elements(gradient), static_cast<float*>(row_losses_.get()), gpu_.compute());
}

void CudaDevice::copy(Slice from, Slice to) {
  check(cudaMemcpyAsync(to.data, from.data, to.bytes(), cudaMemcpyDeviceToDevice, gpu_.compute()),
        "a copy on the GPU");
}

void CudaDevice::copy_scaled(Slice from, float factor, Slice to) {
  cuda::copy_scaled(elements(from), factor, elements(to), gpu_.compute());
}

void CudaDevice::scale(Slice values, float factor) { copy_scaled(values, factor, values); }

void CudaDevice::add(Slice from, Slice to) {
  cuda::add(elements(from), elements(to), gpu_.compute());
}

void CudaDevice::cast(Slice from, Slice to) { copy_scaled(from, 1.0F, to); }

void CudaDevice::sgd(Slice parameters, Slice gradients, float rate) {
  cuda::sgd(elements(parameters), elements(gradients), rate, gpu_.compute());
}

void CudaDevice::adamw(Slice parameters, Slice gradients, const engine::Moments& state,
                       const engine::AdamW& rule) {
  cuda::adamw({elements(parameters), elements(gradients), elements(state.first),
               elements(state.second), elements(state.count)},
              rule, gpu_.compute());
}

void CudaDevice::collective(Collective kind, Slice from, Slice to) {
  const auto issue = [&] {
    site_.communicator().issue(kind, elements(from), elements(to), gpu_.communication());
  };
  if (!first_use_.of(kind, from.dtype, from.elements)) return issue();
  // NCCL connects the ranks at its first use of a way, for which each rank's host needs the
  // others'.
  synchronize();
  barrier();
  issue();
  synchronize();
}

std::optional<std::function<void()>> CudaDevice::recorded(const std::function<void()>& work) {
  synchronize();
  return [graph = std::make_shared<const Graph>(gpu_.compute(), work)] { graph->issue(); };
}

engine::Event CudaDevice::create_event() {
  events_.push_back(make_event());
  return {events_.size() - 1};
}

void CudaDevice::record(Stream stream, engine::Event event) {
  check(cudaEventRecord(events_[event.index].get(), stream_of(stream)), "recording an event");
}

void CudaDevice::wait(Stream stream, engine::Event event) {
  check(cudaStreamWaitEvent(stream_of(stream), events_[event.index].get(), 0),
        "waiting for an event");
}

void CudaDevice::synchronize() { site_.finish(); }

Seconds CudaDevice::elapsed(engine::Event from, engine::Event to) {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, events_[from.index].get(), events_[to.index].get()),
        "reading the time between two events");
  return Seconds(1e-3 * static_cast<double>(milliseconds));
}

std::optional<double> CudaDevice::busy_share(Seconds step, const std::function<void()>& work) {
  const auto trace = records_.of(work, site_);
  records_.detach();
  if (!trace || trace->kernels.empty()) return std::nullopt;
  return std::min(1.0, busy_time(*trace) / step);
}

std::optional<Seconds> CudaDevice::gap(const std::function<void()>& work) {
  const auto trace = records_.of(
      [&] {
        site_.barrier();
        spin(kStepsHoldNanoseconds, gpu_.compute());
        work();
      },
      site_);
  records_.detach();
  return trace ? usual_gap(*trace) : std::nullopt;
}

void CudaDevice::barrier() { site_.barrier(); }

void CudaDevice::maximum(std::span<double> values) { site_.maximum(values); }

}  // namespace ddpx::cuda
