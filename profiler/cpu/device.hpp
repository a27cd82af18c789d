// The engine's Device on CPU ranks. The compute stream is the calling thread: a kernel has run when
// its call returns. The communication stream is a CollectiveQueue, which goes on beside it.
#pragma once

#include <chrono>
#include <vector>

#include "profiler/cpu/communicator.hpp"
#include "profiler/cpu/progress.hpp"
#include "profiler/engine/device.hpp"
#include "profiler/pulse.hpp"

namespace ddpx::cpu {

class CpuDevice : public engine::Device {
 public:
  // Starts MPI, binds the calling thread to its core. `pulse` must outlive the device. Collective.
  explicit CpuDevice(Pulse& pulse);

  [[nodiscard]] int rank() const override { return communicator_.rank(); }
  [[nodiscard]] int ranks() const override { return communicator_.size(); }
  [[nodiscard]] Hardware hardware() const override;
  [[nodiscard]] bool supports(DType dtype) const override { return dtype == DType::fp32; }

  [[nodiscard]] engine::Buffer allocate(std::size_t elements, DType dtype) override;
  void upload(std::span<const float> from, engine::Slice to) override;
  void download(engine::Slice from, std::span<float> to) override;

  void product(const Product& work, engine::Slice a, engine::Slice b, engine::Slice c) override;
  void add_bias(engine::Slice rows, engine::Slice bias, bool relu) override;
  void relu_backward(engine::Slice gradient, engine::Slice activation) override;
  void bias_gradient(engine::Slice gradient, engine::Slice bias_gradient) override;
  void cross_entropy(engine::Slice logits, engine::Slice labels, float weight, bool fresh,
                     engine::Slice loss, engine::Slice gradient) override;
  void copy(engine::Slice from, engine::Slice to) override;
  void copy_scaled(engine::Slice from, float factor, engine::Slice to) override;
  void scale(engine::Slice values, float factor) override;
  void add(engine::Slice from, engine::Slice to) override;
  void cast(engine::Slice from, engine::Slice to) override;
  void sgd(engine::Slice parameters, engine::Slice gradients, float rate) override;
  void adamw(engine::Slice parameters, engine::Slice gradients, const engine::Moments& state,
             const engine::AdamW& rule) override;

  void collective(Collective kind, engine::Slice from, engine::Slice to) override;

  // A core runs its work as it is issued: there is nothing to record.
  [[nodiscard]] std::optional<std::function<void()>> recorded(
      const std::function<void()>& /*work*/) override {
    return std::nullopt;
  }

  [[nodiscard]] engine::Event create_event() override;
  void record(Stream stream, engine::Event event) override;
  void wait(Stream stream, engine::Event event) override;
  void synchronize() override;
  [[nodiscard]] Seconds elapsed(engine::Event from, engine::Event to) override;
  // A core that computes and issues its own work never waits for a host.
  [[nodiscard]] std::optional<double> busy_share(Seconds /*step*/,
                                                 const std::function<void()>& /*work*/) override {
    return 1.0;
  }
  [[nodiscard]] std::optional<Seconds> gap(const std::function<void()>& /*work*/) override {
    return std::nullopt;
  }

  void barrier() override;
  void maximum(std::span<double> values) override;

 private:
  using Clock = CollectiveQueue::Clock;
  // On the communication stream an event lies behind collective `after`, and not before `time`,
  // which the stream had to wait for.
  struct Point {
    Clock::time_point time;
    CollectiveQueue::Ticket after = 0;
  };

  [[nodiscard]] Clock::time_point time_of(const Point& point);
  void wait_for(CollectiveQueue::Ticket ticket);

  Pulse& pulse_;
  Communicator communicator_;
  CollectiveQueue queue_;
  CollectiveQueue::Ticket last_ = 0;        // started
  CollectiveQueue::Ticket waited_for_ = 0;  // every one up to it is done
  Clock::time_point communication_waits_until_;
  std::vector<Point> points_;
};

}  // namespace ddpx::cpu
