#include "model/work_scale.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "model/forecast.hpp"
#include "model/network_spec.hpp"
#include "tests/support/paper_step.hpp"

namespace ddpx {
namespace {

constexpr double kSlow = 1.3;

Machine parts() {
  Machine machine;
  machine.copy_bandwidth = {BytesPerSecond(240e9), 0.02, ""};
  machine.optimizer_bandwidth = machine.copy_bandwidth;
  for (Pass pass : {Pass::forward, Pass::data_gradient, Pass::weight_gradient}) {
    const Product product{pass, DType::fp32, 256, 1024, 1024};
    machine.products.push_back(
        {product, {Seconds(product.flops().value() / 4e12), 0.02, ""}, std::nullopt});
  }
  return machine;
}

Job one_gpu() {
  Job job;
  job.gpus = 1;
  return job;
}

double step(const Machine& machine, const std::string& network, const Job& job) {
  const Link none;
  const Network built = network_from(network);
  return StepModel(machine, none, built, job).run().total().value();
}

// `width=1024` took kSlow times what its parts take.
Machine timed() {
  Machine machine = parts();
  const std::string name = "mlp:width=1024,depth=8";
  machine.one_gpu_steps.push_back({name,
                                   256,
                                   DType::fp32,
                                   Optimizer::sgd,
                                   Engine::torch,
                                   {Seconds(kSlow * step(machine, name, one_gpu())), 0.01, ""}});
  return machine;
}

double scale_at(const Machine& machine, const std::string& network, const Job& job) {
  return work_scale(machine, ProductTable(machine, job.dtype), network_from(network), job).factor;
}

TEST(WorkScale, of_a_timed_step_gives_that_step) {
  const Machine machine = timed();
  EXPECT_NEAR(step(machine, "mlp:width=1024", one_gpu()),
              kSlow * step(parts(), "mlp:width=1024", one_gpu()), 1e-12);
  const Network network = network_from("mlp:width=1024");
  const WorkScale scale =
      work_scale(machine, ProductTable(machine, DType::fp32), network, one_gpu());
  EXPECT_EQ(scale.measured, &machine.one_gpu_steps.front());
  EXPECT_NEAR(scale.factor, kSlow, 1e-12);
}

TEST(WorkScale, fades_with_the_distance_in_size_and_batch_and_is_even_beside_it) {
  const Machine machine = timed();
  EXPECT_NEAR(scale_at(machine, "mlp:width=1025", one_gpu()), kSlow, 1e-6);
  double before = kSlow;
  for (const char* wider : {"1448", "2048", "4096", "16384"}) {
    const double scale = scale_at(machine, "mlp:width=" + std::string(wider), one_gpu());
    EXPECT_LT(scale, before) << wider;
    EXPECT_GT(scale, 1) << wider;
    before = scale;
  }
  // Two doublings away nothing known weighs as much as the timed step.
  EXPECT_NEAR(std::log(scale_at(machine, "mlp:width=4096", one_gpu())), 0.5 * std::log(kSlow),
              1e-12);
  Job larger = one_gpu();
  larger.batch_per_rank = 1024;
  EXPECT_NEAR(std::log(scale_at(machine, "mlp:width=1024", larger)), 0.5 * std::log(kSlow), 1e-12);
}

TEST(WorkScale, is_on_several_gpus_anything_between_none_and_all_of_it) {
  // Uniform in the logarithm: mean and standard deviation of 0 to ln 1.21.
  const WorkScale scale{1.21, nullptr};
  EXPECT_NEAR(scale.shared(), 1.1, 1e-12);
  EXPECT_NEAR(scale.error(), std::log(1.21) / std::sqrt(12.0), 1e-12);
}

TEST(WorkScale, is_that_of_a_ranks_own_batch_and_of_no_other_kind_of_work) {
  const Machine machine = timed();
  Job job;
  job.scaling = Scaling::strong;
  job.batch_per_rank = 512;
  EXPECT_NEAR(scale_at(machine, "mlp:width=1024", job), kSlow, 1e-12);
  EXPECT_EQ(scale_at(machine, "gpt:layers=2,hidden=64,heads=4,sequence=16,vocabulary=100", job), 1);
  job.dtype = DType::bf16;
  EXPECT_EQ(scale_at(machine, "mlp:width=1024", job), 1);
}

TEST(WorkScale, is_another_optimizers_where_a_jobs_own_was_not_timed) {
  Machine machine = timed();
  Job job = one_gpu();
  job.optimizer = Optimizer::adamw;
  const WorkScale scale =
      work_scale(machine, ProductTable(machine, job.dtype), network_from("mlp:width=1024"), job);
  EXPECT_NEAR(scale.factor, kSlow, 1e-12);
  EXPECT_EQ(scale.measured, nullptr);
}

TEST(WorkScale, that_was_carried_is_unsure_in_the_speedup_as_far_as_work_decides_it) {
  Machine machine = timed();
  machine.residual = 0;
  machine.copy_bandwidth.relative_error = machine.optimizer_bandwidth.relative_error = 0;
  for (ProductPoint& point : machine.products) point.time.relative_error = 0;
  const Network network = network_from("mlp:width=1024");
  Job job;
  job.optimizer = Optimizer::adamw;  // its own step was not timed, SGD's was
  job.gpus = 2;
  // One standard error: a uniform distribution's from 0 to ln 1.3.
  const double width = kNormalQuantile90 * std::log(kSlow) / std::sqrt(12.0);
  const auto low = [&](double bandwidth) {
    const Forecast f = forecast(machine, test::line_link(0, bandwidth), network, job);
    EXPECT_FALSE(f.one_gpu_measured);
    return std::log(f.speedup.value / f.speedup.low);
  };
  // Two GPUs that do nothing but exchange are as fast whatever one GPU is.
  EXPECT_NEAR(low(1e6), width, 0.02 * width);
  // Two that exchange nothing do the same work as one, as fast or slow as that is.
  EXPECT_LT(low(1e15), 0.02 * width);
}

TEST(WorkScale, leaves_several_gpus_no_faster_than_one_with_the_same_work) {
  const Machine machine = timed();
  const Network network = network_from("mlp:width=1024");
  const Link link = test::line_link(0, 1e15);
  const double one = step(machine, "mlp:width=1024", one_gpu());
  for (const char* words : {"no-sync", "ddp"}) {
    Job job = one_gpu();
    job.gpus = 2;
    job.strategy = parse_strategy(words);
    const Step step = StepModel(machine, link, network, job).run();
    EXPECT_GE(step.total().value(), one * (1 - 1e-4)) << words;
    EXPECT_LE(step.total().value(), one * (1 + 1e-3)) << words;
  }
}

TEST(WorkScale, is_none_where_the_host_bounds_the_timed_step) {
  Machine machine = timed();
  machine.host[static_cast<std::size_t>(Engine::torch)] = HostCosts{};
  machine.host[static_cast<std::size_t>(Engine::torch)]->step_per_tensor.value = Seconds(1);
  EXPECT_EQ(scale_at(machine, "mlp:width=1024", one_gpu()), 1);
}

TEST(WorkScale, leaves_other_networks_alone_and_follows_a_name_that_was_timed) {
  Machine machine = timed();
  Network captured = network_from("mlp:width=1024");
  captured.name = "mine";
  const ProductTable products(machine, DType::fp32);
  EXPECT_EQ(work_scale(machine, products, captured, one_gpu()).factor, 1);
  machine.one_gpu_steps.front().network = "mine";
  EXPECT_NEAR(work_scale(machine, products, captured, one_gpu()).factor, kSlow, 1e-12);
  captured.name = "mlp:of my own";
  EXPECT_EQ(work_scale(machine, products, captured, one_gpu()).factor, 1);
}

}  // namespace
}  // namespace ddpx
