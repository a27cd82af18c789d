// What kernel records cost what is timed beside them: training steps and long kernels with CUPTI's
// tracing on and off, in turns, timed by CUDA events (docs/results/h200x2.md). On one GPU:
//
//   tests/profiler/cuda/run_ranks.sh 1 build/bench/ddpx_profiling_cost
//
// "Off" is what measurements have: before the tracer and after it has left the process. A line per
// case: the median of on over off, the ratios' quartiles, and the records that were lost.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "profiler/cuda/cupti.hpp"
#include "profiler/cuda/device.hpp"
#include "profiler/engine/data.hpp"
#include "profiler/engine/step.hpp"

namespace {

using namespace ddpx;

constexpr int kRounds = 15;
constexpr float kRate = 1e-3F;

std::unique_ptr<cuda::Tracer> opened_tracer() {
  auto opened = cuda::Tracer::load(cuda::cupti_places(CUDART_VERSION / 1000));
  if (auto* why = std::get_if<std::string>(&opened)) throw std::runtime_error(*why);
  auto tracer = std::move(std::get<std::unique_ptr<cuda::Tracer>>(opened));
  if (const auto why = tracer->start()) throw std::runtime_error(*why);
  return tracer;
}

class Case {
 public:
  Case(cuda::CudaDevice& device, std::string name, int times, std::function<void()> work)
      : device_(device), name_(std::move(name)), times_(times), work_(std::move(work)) {}

  void measure() {
    std::vector<double> ratios;
    std::vector<double> seconds;
    std::uint64_t records = 0;
    std::uint64_t lost = 0;
    for (int round = 0; round < kRounds; ++round) {
      const double off = seconds_each();
      auto tracer = opened_tracer();
      const double on = seconds_each();
      const cuda::Trace trace = tracer->stop();
      records += trace.kernels.size();
      lost += trace.dropped + trace.untimed;
      tracer->detach();
      // Between two without it, so that a clock that drifts does not speak for either.
      const double after = seconds_each();
      ratios.push_back(on / ((off + after) / 2));
      seconds.push_back((off + after) / 2);
    }
    fmt::print("| {} | {:.1f} us | {:+.2f} % | {:+.2f} to {:+.2f} % | {} | {} |\n", name_,
               1e6 * at(seconds, 0.5), per_cent(at(ratios, 0.5)), per_cent(at(ratios, 0.25)),
               per_cent(at(ratios, 0.75)), records, lost);
  }

 private:
  static double per_cent(double ratio) { return 100 * (ratio - 1); }
  static double at(std::vector<double> values, double share) {
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
  }

  double seconds_each() {
    for (int i = 0; i < std::max(3, times_ / 4); ++i) work_();
    device_.synchronize();
    device_.record(Stream::compute, from_);
    for (int i = 0; i < times_; ++i) work_();
    device_.record(Stream::compute, to_);
    device_.synchronize();
    return device_.elapsed(from_, to_).value() / times_;
  }

  cuda::CudaDevice& device_;
  std::string name_;
  int times_;
  std::function<void()> work_;
  engine::Event from_ = device_.create_event();
  engine::Event to_ = device_.create_event();
};

void measure_step(cuda::CudaDevice& device, double width, double batch, DType dtype, int times) {
  const Network network = mlp({.width = width, .depth = 8});
  Job job;
  job.gpus = 1;
  job.batch_per_rank = batch;
  job.dtype = dtype;
  job.engine = Engine::native;
  engine::Trainer trainer(device, network, job, kRate);
  Pulse quiet;
  trainer.initialise(1, quiet);
  const std::size_t inputs = trainer.layout().inputs();
  const engine::Samples drawn = engine::samples(trainer.layout(), 2, 0, trainer.rows());
  const engine::Buffer rows = device.allocate(trainer.rows() * inputs, DType::fp32);
  const engine::Buffer labels = device.allocate(trainer.rows(), DType::fp32);
  device.upload(drawn.inputs, rows.all());
  device.upload(drawn.labels, labels.all());
  const std::vector<engine::MicroBatch> batches{{rows.all(), labels.all()}};
  Case(device, fmt::format("step of 8 layers {} wide, batch {}, {}", width, batch, name(dtype)),
       times, [&] { trainer.step(batches); })
      .measure();
}

void measure_product(cuda::CudaDevice& device, double width, double batch, DType dtype, int times) {
  const Product product{Pass::forward, dtype, batch, width, width};
  const DType held = dtype == DType::bf16 ? DType::bf16 : DType::fp32;
  const auto elements = [](double n) { return static_cast<std::size_t>(n); };
  const engine::Buffer a = device.allocate(elements(batch * width), held);
  const engine::Buffer b = device.allocate(elements(width * width), held);
  const engine::Buffer c = device.allocate(elements(batch * width), held);
  Case(device, fmt::format("forward product {0} x {1} x {1}, {2}", batch, width, name(dtype)),
       times, [&] { device.product(product, a.all(), b.all(), c.all()); })
      .measure();
}

}  // namespace

int main() try {
  Pulse quiet;
  cuda::CudaDevice device(quiet);
  fmt::print("| work | off | on, median | quartiles | records | lost |\n");
  fmt::print("| --- | ---: | ---: | ---: | ---: | ---: |\n");
  measure_step(device, 256, 64, DType::fp32, 50);
  measure_step(device, 1024, 256, DType::fp32, 50);
  measure_step(device, 2048, 256, DType::fp32, 30);
  measure_step(device, 4096, 256, DType::fp32, 20);
  measure_step(device, 4096, 1024, DType::tf32, 20);
  measure_step(device, 8192, 256, DType::bf16, 20);
  measure_product(device, 2048, 1024, DType::fp32, 100);
  measure_product(device, 4096, 1024, DType::fp32, 50);
  measure_product(device, 8192, 1024, DType::tf32, 50);
  measure_product(device, 8192, 4096, DType::bf16, 50);
} catch (const std::exception& error) {
  fmt::print(stderr, "ddpx_profiling_cost: {}\n", error.what());
  return 1;
}
