// The engine's Device on a GPU: kernels and products on the compute stream, NCCL on the
// communication stream. The host runs ahead.
#pragma once

#include <vector>

#include "profiler/cuda/loading.hpp"
#include "profiler/cuda/records.hpp"
#include "profiler/cuda/site.hpp"
#include "profiler/engine/device.hpp"
#include "profiler/pulse.hpp"

namespace ddpx::cuda {

class CudaDevice : public engine::Device {
 public:
  // Joins the other ranks of the job this process belongs to. `pulse` must outlive the device.
  // Collective.
  explicit CudaDevice(Pulse& pulse);

  [[nodiscard]] int rank() const override { return site_.rank(); }
  [[nodiscard]] int ranks() const override { return site_.ranks(); }
  [[nodiscard]] Hardware hardware() const override { return site_.hardware(); }
  [[nodiscard]] bool supports(DType dtype) const override {
    return dtype != DType::fp16 && gpu_.supports(dtype);  // fp16 needs loss scaling
  }

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

  [[nodiscard]] std::optional<std::function<void()>> recorded(
      const std::function<void()>& work) override;

  [[nodiscard]] engine::Event create_event() override;
  void record(Stream stream, engine::Event event) override;
  void wait(Stream stream, engine::Event event) override;
  void synchronize() override;
  [[nodiscard]] Seconds elapsed(engine::Event from, engine::Event to) override;
  [[nodiscard]] std::optional<Seconds> gap(const std::function<void()>& work) override;
  [[nodiscard]] std::optional<double> busy_share(Seconds step,
                                                 const std::function<void()>& work) override;

  void barrier() override;
  void maximum(std::span<double> values) override;

 private:
  void to_device(std::span<const float> from, void* to);
  [[nodiscard]] cudaStream_t stream_of(Stream stream) const {
    return stream == Stream::communication ? gpu_.communication() : gpu_.compute();
  }

  Pulse& pulse_;
  Site site_;
  Gpu& gpu_;
  Records records_;
  FirstUse first_use_;
  Memory row_losses_;
  std::size_t rows_ = 0;  // that row_losses_ holds
  std::vector<EventHandle> events_;
};

}  // namespace ddpx::cuda
