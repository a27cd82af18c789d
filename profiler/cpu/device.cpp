#include "profiler/cpu/device.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "model/error.hpp"
#include "profiler/cpu/bfloat16.hpp"
#include "profiler/cpu/half.hpp"
#include "profiler/cpu/kernels.hpp"
#include "profiler/cpu/libraries.hpp"
#include "profiler/cpu/processor.hpp"

namespace ddpx::cpu {
namespace {

using engine::Slice;

constexpr std::align_val_t kAlignment{64};  // a cache line

template <class T>
std::span<T> as(Slice slice) {
  return {reinterpret_cast<T*>(slice.data), slice.elements};
}

std::span<float> floats(Slice slice) { return as<float>(slice); }

std::span<std::byte> bytes(Slice slice) { return {slice.data, slice.bytes()}; }

}  // namespace

CpuDevice::CpuDevice(Pulse& pulse)
    : pulse_(pulse),
      communicator_(Communicator::world()),
      queue_(
          [this]() -> const Communicator& {
            // Before the queue's thread starts, which inherits the core.
            take_core(communicator_.place_on_host().rank);
            return communicator_;
          }(),
          pulse) {}

Hardware CpuDevice::hardware() const {
  Hardware hardware;
  hardware.device = describe_core();
  hardware.ranks = ranks();
  hardware.link = link_between(ranks(), communicator_.place_on_host().ranks);
  hardware.context = library_context();
  return hardware;
}

engine::Buffer CpuDevice::allocate(std::size_t elements, DType dtype) {
  const std::size_t size = std::max<std::size_t>(1, Slice{nullptr, elements, dtype}.bytes());
  auto* memory = static_cast<std::byte*>(::operator new(size, kAlignment, std::nothrow));
  if (memory == nullptr)
    throw DeviceError("CPU memory: allocating " + std::to_string(size) + " B: there is not enough");
  std::memset(memory, 0, size);
  return {memory, elements, dtype, [](std::byte* data) { ::operator delete(data, kAlignment); }};
}

void CpuDevice::upload(std::span<const float> from, Slice to) {
  synchronize();
  std::ranges::copy(from, floats(to).begin());
}

void CpuDevice::download(Slice from, std::span<float> to) {
  synchronize();
  std::ranges::copy(floats(from), to.begin());
}

void CpuDevice::product(const Product& work, Slice a, Slice b, Slice c) {
  multiply(work, floats(a).data(), floats(b).data(), floats(c).data());
  pulse_.tick();
}

void CpuDevice::add_bias(Slice rows, Slice bias, bool relu) {
  cpu::add_bias(floats(rows), floats(bias), relu);
}

void CpuDevice::relu_backward(Slice gradient, Slice activation) {
  cpu::relu_backward(floats(gradient), floats(activation));
}

void CpuDevice::bias_gradient(Slice gradient, Slice bias_gradient) {
  sum_rows(floats(gradient), floats(bias_gradient));
}

void CpuDevice::cross_entropy(Slice logits, Slice labels, float weight, bool fresh, Slice loss,
                              Slice gradient) {
  const float sum = cpu::cross_entropy(floats(logits), floats(labels), weight, floats(gradient));
  float& total = floats(loss)[0];
  total = fresh ? sum : total + sum;
}

void CpuDevice::copy(Slice from, Slice to) { std::memcpy(to.data, from.data, to.bytes()); }

void CpuDevice::copy_scaled(Slice from, float factor, Slice to) {
  cpu::copy_scaled(floats(from), factor, floats(to));
}

void CpuDevice::scale(Slice values, float factor) {
  switch (values.dtype) {
    case DType::fp32:
    case DType::tf32:
      cpu::copy_scaled(floats(values), factor, floats(values));
      return;
    case DType::fp16:
      cpu::scale(as<Half>(values), factor);
      return;
    case DType::bf16:
      cpu::scale(as<Bfloat16>(values), factor);
      return;
  }
}

void CpuDevice::add(Slice from, Slice to) { cpu::add(floats(from), floats(to)); }

void CpuDevice::cast(Slice from, Slice to) {
  if (to.dtype == DType::fp16) to_half(floats(from), as<Half>(to));
  if (to.dtype == DType::bf16) to_bfloat16(floats(from), as<Bfloat16>(to));
  if (from.dtype == DType::fp16) to_float(as<Half>(from), floats(to));
  if (from.dtype == DType::bf16) to_float(as<Bfloat16>(from), floats(to));
}

void CpuDevice::sgd(Slice parameters, Slice gradients, float rate) {
  cpu::sgd(floats(parameters), floats(gradients), rate);
}

void CpuDevice::adamw(Slice parameters, Slice gradients, const engine::Moments& state,
                      const engine::AdamW& rule) {
  float& count = floats(state.count)[0];
  count += 1;
  cpu::adamw({floats(parameters), floats(gradients), floats(state.first), floats(state.second)},
             rule, double{count});
}

void CpuDevice::collective(Collective kind, Slice from, Slice to) {
  CollectiveBuffers buffers{kind, from.dtype, bytes(to), bytes(from)};
  if (kind == Collective::all_reduce) buffers.shard = {};
  if (kind == Collective::reduce_scatter) std::swap(buffers.whole, buffers.shard);
  last_ = queue_.start(buffers);
}

engine::Event CpuDevice::create_event() {
  points_.emplace_back();
  return {points_.size() - 1};
}

void CpuDevice::record(Stream stream, engine::Event event) {
  Point& point = points_[event.index];
  if (stream == Stream::communication) {
    point = {communication_waits_until_, last_};
  } else {
    point = {Clock::now(), 0};
  }
}

void CpuDevice::wait(Stream stream, engine::Event event) {
  const Point& point = points_[event.index];
  if (stream == Stream::compute) {
    wait_for(point.after);
  } else {
    // What is issued next may start at once: the compute stream has got there already.
    communication_waits_until_ = std::max(communication_waits_until_, point.time);
  }
}

void CpuDevice::wait_for(CollectiveQueue::Ticket ticket) {
  if (ticket <= waited_for_) return;
  const WaitingForPeers waiting(pulse_);
  queue_.wait(ticket);
  waited_for_ = ticket;
}

void CpuDevice::synchronize() { wait_for(last_); }

CpuDevice::Clock::time_point CpuDevice::time_of(const Point& point) {
  return point.after == 0 ? point.time : std::max(point.time, queue_.end_of(point.after));
}

Seconds CpuDevice::elapsed(engine::Event from, engine::Event to) {
  const auto time = time_of(points_[to.index]) - time_of(points_[from.index]);
  return Seconds(std::chrono::duration<double>(time).count());
}

void CpuDevice::barrier() {
  const WaitingForPeers waiting(pulse_);
  communicator_.barrier();
}

void CpuDevice::maximum(std::span<double> values) {
  const WaitingForPeers waiting(pulse_);
  communicator_.maximum(values);
}

}  // namespace ddpx::cpu
