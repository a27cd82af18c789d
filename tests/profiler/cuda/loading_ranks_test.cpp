// Kernels and collectives that wait: a rank whose collective waits on the device for its peer must
// still be able to issue, or nobody moves on (profiler/cuda/loading.hpp). Of use before any other
// test has loaded the kernels: run by itself.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <thread>

#include "profiler/cuda/loading.hpp"
#include "tests/profiler/ranks.hpp"

namespace ddpx::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLate{2};
constexpr double kIssuing = 1.0;  // seconds; hundreds of launches take some milliseconds
constexpr std::size_t kFewRows = 8;
constexpr std::size_t kColumns = 32;
constexpr std::size_t kElements = kFewRows * kColumns;

double seconds_of(const std::function<void()>& work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// How long `work` takes rank 0 to issue while its collective waits for the others, which come late.
double beside_a_waiting_collective(const std::function<void()>& work) {
  engine::Device& device = shared_device();
  const engine::Buffer sent = device.allocate(kElements, DType::fp32);
  device.collective(Collective::all_reduce, sent.all(), sent.all());  // connects
  device.synchronize();
  device.barrier();
  double taken = 0;
  if (device.rank() != 0) std::this_thread::sleep_for(kLate);
  device.collective(Collective::all_reduce, sent.all(), sent.all());
  if (device.rank() == 0) taken = seconds_of(work);
  device.synchronize();
  device.maximum(std::span(&taken, 1));
  return taken;
}

TEST(Loading, kernels_are_issued_while_a_collective_waits_for_its_peer) {
  engine::Device& device = shared_device();
  if (device.ranks() == 1) GTEST_SKIP() << "one rank has nobody to wait for";
  std::vector<engine::Buffer> memory;
  const auto slice = [&](DType dtype, std::size_t count, std::size_t begin) {
    memory.push_back(device.allocate(begin + count, dtype));
    return memory.back().part(begin, count);
  };
  std::vector<std::function<void()>> kernels;
  for (const std::size_t begin : {0, 1}) {
    const engine::Slice labels = slice(DType::fp32, kFewRows, 0);
    const engine::Slice loss = slice(DType::fp32, 1, 0);
    const engine::Slice full = slice(DType::fp32, kElements, begin);
    const engine::Slice count = slice(DType::fp32, engine::kAdamWCountElements, 0);
    for (const DType dtype : {DType::fp32, DType::bf16}) {
      const engine::Slice a = slice(dtype, kElements, begin);
      const engine::Slice b = slice(dtype, kElements, begin);
      const engine::Slice row = slice(dtype, kColumns, begin);
      kernels.insert(kernels.end(), {[&device, a, row] { device.add_bias(a, row, true); },
                                     [&device, a, b] { device.relu_backward(a, b); },
                                     [&device, a, row] { device.bias_gradient(a, row); },
                                     [&device, a, b] { device.copy(a, b); },
                                     [&device, a, b] { device.copy_scaled(a, 0.5F, b); },
                                     [&device, a] { device.scale(a, 0.5F); },
                                     [&device, a, b] { device.add(a, b); },
                                     [&device, a, full] { device.cast(a, full); },
                                     [&device, a, full] { device.cast(full, a); }});
      // Its scratch memory is taken at the first use, when nothing is in flight.
      device.cross_entropy(a, labels, 1, true, loss, b);
    }
    const engine::Slice g = slice(DType::fp32, kElements, begin);
    const engine::Slice m = slice(DType::fp32, kElements, begin);
    const engine::Slice v = slice(DType::fp32, kElements, begin);
    kernels.insert(kernels.end(), {[&device, full, g] { device.sgd(full, g, 0.1F); },
                                   [&device, full, g, m, v, count] {
                                     device.adamw(full, g, {m, v, count}, {});
                                   }});
  }
  const double taken = beside_a_waiting_collective([&] {
    for (const auto& kernel : kernels) kernel();
  });
  EXPECT_LT(taken, kIssuing);
}

TEST(Loading, a_product_of_a_new_shape_is_issued_when_the_device_has_run_dry) {
  engine::Device& device = shared_device();
  if (device.ranks() == 1) GTEST_SKIP() << "one rank has nobody to wait for";
  const engine::Buffer x = device.allocate(kElements, DType::fp32);
  const engine::Buffer w = device.allocate(kColumns * kColumns, DType::fp32);
  const engine::Buffer y = device.allocate(kElements, DType::fp32);
  const Product product{Pass::forward, DType::fp32, kFewRows, kColumns, kColumns};
  const auto issue = [&] { device.product(product, x.all(), w.all(), y.all()); };
  const double late = std::chrono::duration<double>(kLate).count();
  EXPECT_GT(beside_a_waiting_collective(issue), 0.5 * late);
  EXPECT_LT(beside_a_waiting_collective(issue), kIssuing);
}

TEST(FirstUse, is_told_by_shape_pass_alignment_and_of_collectives_by_kind_and_size) {
  cuda::FirstUse first;
  alignas(16) std::array<float, 8> memory{};
  const Product product{Pass::forward, DType::fp32, 64, 128, 128};
  const float* const a = memory.data();
  EXPECT_TRUE(first.of(product, a, a, a));
  EXPECT_FALSE(first.of(product, a, a, a));
  EXPECT_FALSE(first.of(product, a + 4, a, a));  // 16 bytes on: aligned alike
  EXPECT_TRUE(first.of(product, a + 1, a, a));
  EXPECT_TRUE(first.of(product, a, a + 2, a));
  Product other = product;
  other.pass = Pass::weight_gradient;
  EXPECT_TRUE(first.of(other, a, a, a));
  other.out = 64;
  EXPECT_TRUE(first.of(other, a, a, a));
  EXPECT_TRUE(first.of(Collective::all_gather, DType::fp32, 64));
  EXPECT_FALSE(first.of(Collective::all_gather, DType::fp32, 64));
  EXPECT_TRUE(first.of(Collective::all_gather, DType::fp32, 65));
  EXPECT_TRUE(first.of(Collective::all_reduce, DType::fp32, 64));
}

}  // namespace
}  // namespace ddpx::test
