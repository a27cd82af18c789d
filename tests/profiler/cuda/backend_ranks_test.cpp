// The contract of backends on GPUs, and what every kernel of the engine computes against the mock
// device's, which are written independently.
#include "profiler/cuda/backend.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "profiler/cuda/device.hpp"
#include "profiler/screen.hpp"
#include "tests/profiler/backend_contract.hpp"
#include "tests/profiler/engine/mock_device.hpp"
#include "tests/profiler/ranks.hpp"

namespace ddpx::test {
namespace {

Backend& backend_on_ranks() {
  static Pulse quiet;
  static cuda::CudaBackend backend(quiet);
  return backend;
}

INSTANTIATE_TEST_SUITE_P(Cuda, BackendContract,
                         testing::Values(BackendUnderTest{"ranks", &backend_on_ranks,
                                                          &same_on_all_ranks}),
                         name_of);

TEST(CudaBackend, describes_the_gpu_and_the_libraries_it_stands_on) {
  const Hardware hardware = backend_on_ranks().hardware();
  EXPECT_GT(hardware.device.multiprocessors, 0);
  EXPECT_GE(hardware.device.compute_capability, 75);
  EXPECT_GT(hardware.device.memory.value(), 1e9);
  std::vector<std::string> keys;
  for (const auto& [key, value] : hardware.context) keys.push_back(key);
  EXPECT_THAT(keys, testing::IsSupersetOf({"cublas", "cuda_driver"}));
  // One rank has nobody to communicate with.
  EXPECT_EQ(std::count(keys.begin(), keys.end(), "nccl"), hardware.ranks > 1 ? 1 : 0);
}

TEST(CudaBackend, every_gpu_under_load_has_a_rate_and_clocks_where_the_driver_says_them) {
  const Product product{Pass::forward, DType::fp32, 1024, 2048, 2048};
  const std::vector<RankLoad> loads = backend_on_ranks().load(product, Clocks::burst, Seconds(0.4));
  ASSERT_EQ(loads.size(), static_cast<std::size_t>(backend_on_ranks().hardware().ranks));
  for (const RankLoad& load : loads) {
    ASSERT_FALSE(load.seconds.empty());
    // No GPU has 1,000 TFLOP/s in fp32, and none below 0.1.
    EXPECT_GT(product.flops().value() / load.seconds[0], 1e11);
    EXPECT_LT(product.flops().value() / load.seconds[0], 1e15);
    EXPECT_TRUE(same_on_all_ranks(load.seconds));
    if (load.clock_mhz) {
      EXPECT_GT(*load.clock_mhz, 100);
    }
  }
}

TEST(CudaBackend, every_pair_has_a_time_on_all_ranks_alike) {
  const int ranks = backend_on_ranks().hardware().ranks;
  const std::vector<PairSample> pairs = backend_on_ranks().pairs();
  ASSERT_EQ(pairs.size(), static_cast<std::size_t>(ranks * (ranks - 1) / 2));
  for (const PairSample& pair : pairs) {
    EXPECT_TRUE(same_on_all_ranks(pair.seconds));
    for (const double s : pair.seconds) EXPECT_TRUE(s > 1e-6 && s < 5) << s;
  }
}

TEST(CudaBackend, nccl_tells_how_it_runs_small_and_large_collectives) {
  const int ranks = backend_on_ranks().hardware().ranks;
  if (ranks == 1) GTEST_SKIP() << "one rank has nobody to communicate with";
  const auto call = [&](double bytes) {
    return CollectiveCall{Collective::all_reduce, DType::fp32, Bytes(bytes), ranks};
  };
  const auto runs = backend_on_ranks().reported({call(4096), call(67108864)});
  ASSERT_EQ(runs.size(), 2U);
  for (const auto& run : runs) {
    ASSERT_TRUE(run);
    EXPECT_THAT(run->protocol, testing::AnyOf("LL", "LL128", "SIMPLE"));
  }
  EXPECT_LE(runs[0]->channels, runs[1]->channels);
  // What the kernel's grid says of the same collective.
  const auto channels = backend_on_ranks().channels(call(67108864));
  if (channels && runs[1]->channels > 0) {
    EXPECT_EQ(*channels, runs[1]->channels);
  }
}

TEST(CudaBackend, copies_beside_collectives_give_four_times) {
  const int ranks = backend_on_ranks().hardware().ranks;
  if (ranks == 1) GTEST_SKIP() << "one rank has nobody to communicate with";
  const CollectiveCall call{Collective::all_reduce, DType::fp32, kMiB * 16, ranks};
  for (const BesideTimes& t : backend_on_ranks().sample_beside(Copy{kMiB * 32}, call, 2)) {
    for (const double s :
         {t.product_alone, t.product_beside, t.collective_alone, t.collective_beside})
      EXPECT_TRUE(s > 0 && s < 1) << s;
    EXPECT_GT(t.product_beside, 0.9 * t.product_alone);
  }
}

TEST(CudaBackend, collectives_take_after_kernel_records_what_they_took_before) {
  const int ranks = backend_on_ranks().hardware().ranks;
  if (ranks == 1) GTEST_SKIP() << "one rank has nobody to communicate with";
  const CollectiveCall call{Collective::all_reduce, DType::fp32, kMiB * 16, ranks};
  constexpr int kSamples = 41;
  const double before = median(backend_on_ranks().sample(call, kSamples));
  {
    static Pulse quiet;
    cuda::CudaBackend recording(quiet);
    static_cast<void>(recording.channels(call));
  }
  const double after = median(backend_on_ranks().sample(call, kSamples));
  std::printf("all-reduce after kernel records over before: %.4f\n", after / before);
  EXPECT_NEAR(after / before, 1, 0.02);
}

TEST(CudaBackend, a_record_takes_what_a_run_in_a_row_takes_but_for_the_gap_to_the_next) {
  static Pulse quiet;
  cuda::CudaBackend recording(quiet);
  for (const double width : {512.0, 4096.0}) {
    const Product product{Pass::weight_gradient, DType::fp32, 256, width, width};
    const double timed = median(backend_on_ranks().sample(product, 21));
    const auto record = recording.record(product);
    if (!record) GTEST_SKIP() << "no rank has kernel records";
    ASSERT_TRUE(record->kernel);
    ASSERT_GE(record->seconds.size(), 3U);
    const double recorded = median(record->seconds);
    std::printf("width %.0f: %.3g us in a row, %.3g us by records\n", width, 1e6 * timed,
                1e6 * recorded);
    EXPECT_LT(recorded, 1.05 * timed);
    EXPECT_GT(recorded, 0.95 * timed - 4e-6);
  }
}

TEST(CudaBackend, without_cupti_everything_is_timed_by_events_and_the_loss_is_said) {
  static Pulse quiet;
  cuda::CudaBackend backend(quiet, {.kernel_records = false});
  const Product product{Pass::weight_gradient, DType::fp32, 64, 512, 512};
  EXPECT_FALSE(backend.record(product));
  const int ranks = backend.hardware().ranks;
  if (ranks > 1) {
    const CollectiveCall call{Collective::all_reduce, DType::fp32, kMiB, ranks};
    for (const BesideTimes& t : backend.sample_beside(product, call, 2)) {
      EXPECT_GT(t.product_beside, 0);
      EXPECT_EQ(t.share, 0);
    }
  }
  EXPECT_THAT(backend.hardware().notes,
              testing::Contains("CUPTI is left out (--no-cupti): kernel grids are unknown and "
                                "intervals widen"));
}

std::vector<float> numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(count);
  for (float& v : values) v = uniform(random);
  return values;
}

// Runs `work` with the same inputs on a device; returns what it left in each buffer.
using Work = std::function<void(engine::Device&, std::vector<engine::Slice>&)>;
std::vector<std::vector<float>> left_by(engine::Device& device,
                                        const std::vector<std::size_t>& sizes, const Work& work) {
  std::vector<engine::Buffer> buffers;
  std::vector<engine::Slice> slices;
  unsigned seed = 0;
  for (const std::size_t size : sizes) {
    buffers.push_back(device.allocate(size, DType::fp32));
    slices.push_back(buffers.back().all());
    device.upload(numbers(size, ++seed), slices.back());
  }
  work(device, slices);
  device.synchronize();
  std::vector<std::vector<float>> results;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    results.emplace_back(sizes[i]);
    device.download(slices[i], results.back());
  }
  return results;
}

void expect_same(const std::vector<std::size_t>& sizes, const Work& work, double tolerance) {
  engine::MockDevice mock;
  const auto here = left_by(shared_device(), sizes, work);
  const auto reference = left_by(mock, sizes, work);
  for (std::size_t b = 0; b < here.size(); ++b) {
    for (std::size_t i = 0; i < here[b].size(); ++i)
      ASSERT_NEAR(here[b][i], reference[b][i], tolerance) << "buffer " << b << " at " << i;
  }
}

// Odd and even sizes: what can be moved four at a time, and what cannot.
constexpr std::size_t kRows = 37;
constexpr std::size_t kSizes[] = {21, 64, 200};

TEST(CudaKernels, products_of_all_passes_equal_the_reference) {
  for (const std::size_t in : kSizes) {
    for (const std::size_t out : kSizes) {
      const auto product = [&](Pass pass) {
        return Product{pass, DType::fp32, kRows, static_cast<double>(in), static_cast<double>(out)};
      };
      expect_same(
          {kRows * in, out * in, kRows * out},
          [&](engine::Device& d, auto& s) { d.product(product(Pass::forward), s[0], s[1], s[2]); },
          1e-4);
      expect_same(
          {kRows * out, out * in, kRows * in},
          [&](engine::Device& d, auto& s) {
            d.product(product(Pass::data_gradient), s[0], s[1], s[2]);
          },
          1e-4);
      expect_same(
          {kRows * out, kRows * in, out * in},
          [&](engine::Device& d, auto& s) {
            d.product(product(Pass::weight_gradient), s[0], s[1], s[2]);
          },
          1e-4);
    }
  }
}

TEST(CudaKernels, elementwise_kernels_equal_the_reference) {
  for (const std::size_t n : {std::size_t{1}, std::size_t{3}, std::size_t{64}, std::size_t{4097}}) {
    expect_same(
        {n, n}, [](engine::Device& d, auto& s) { d.relu_backward(s[0], s[1]); }, 0);
    expect_same(
        {n, n}, [](engine::Device& d, auto& s) { d.copy(s[0], s[1]); }, 0);
    expect_same(
        {n, n}, [](engine::Device& d, auto& s) { d.copy_scaled(s[0], 0.5F, s[1]); }, 0);
    expect_same(
        {n, n}, [](engine::Device& d, auto& s) { d.add(s[0], s[1]); }, 1e-7);
    // One rounding less where the multiplication is fused.
    expect_same(
        {n, n}, [](engine::Device& d, auto& s) { d.sgd(s[0], s[1], 0.1F); }, 2.5e-7);
    const auto scaled =
        left_by(shared_device(), {n}, [](engine::Device& d, auto& s) { d.scale(s[0], 0.25F); });
    const std::vector<float> before = numbers(n, 1);
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(scaled[0][i], 0.25F * before[i]);
    // Away from the alignment of memory.
    if (n > 3) {
      expect_same(
          {n, n},
          [n](engine::Device& d, auto& s) {
            d.copy_scaled(s[0].part(1, n - 3), 0.5F, s[1].part(2, n - 3));
          },
          0);
    }
  }
}

TEST(CudaKernels, rows_and_columns_equal_the_reference) {
  for (const std::size_t columns : kSizes) {
    const std::vector<std::size_t> sizes{kRows * columns, columns};
    for (const bool relu : {false, true})
      expect_same(
          sizes, [relu](engine::Device& d, auto& s) { d.add_bias(s[0], s[1], relu); }, 1e-7);
    expect_same(
        sizes, [](engine::Device& d, auto& s) { d.bias_gradient(s[0], s[1]); }, 1e-5);
  }
}

TEST(CudaKernels, the_loss_and_its_gradient_equal_the_reference) {
  for (const std::size_t classes : kSizes) {
    for (const bool fresh : {true, false}) {
      expect_same(
          {kRows * classes, kRows, 1, kRows * classes},
          [&](engine::Device& d, auto& s) {
            std::vector<float> labels(kRows);
            for (std::size_t i = 0; i < kRows; ++i) labels[i] = static_cast<float>(i * 7 % classes);
            d.upload(labels, s[1]);
            d.cross_entropy(s[0], s[1], 0.25F, fresh, s[2], s[3]);
          },
          1e-4);
    }
  }
}

// From memory that is not pinned, at once: the kernel must not read what was there before.
TEST(CudaKernels, read_what_was_uploaded_just_before) {
  engine::Device& device = shared_device();
  for (const std::size_t count : {16, 16384, 300'000, 4'000'000}) {
    const engine::Buffer from = device.allocate(count, DType::fp32);
    const engine::Buffer to = device.allocate(count, DType::fp32);
    std::vector<float> seen(count);
    for (int turn = 1; turn <= 20; ++turn) {
      const std::vector<float> values(count, static_cast<float>(turn));
      device.upload(values, from.all());
      device.copy_scaled(from.all(), 1, to.all());
      device.download(to.all(), seen);
      ASSERT_EQ(seen, values) << count << " elements, turn " << turn;
    }
  }
}

TEST(CudaKernels, casts_round_to_nearest_even_and_back) {
  engine::Device& device = shared_device();
  for (const DType half : {DType::fp16, DType::bf16}) {
    const std::vector<float> values = numbers(1001, 5);
    const engine::Buffer full = device.allocate(values.size(), DType::fp32);
    const engine::Buffer small = device.allocate(values.size(), half);
    device.upload(values, full.all());
    device.cast(full.all(), small.all());
    device.cast(small.all(), full.all());
    std::vector<float> seen(values.size());
    device.download(full.all(), seen);
    const double bits = half == DType::fp16 ? 11 : 8;
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_NEAR(seen[i], values[i], std::abs(values[i]) * std::exp2(-bits) + 1e-7);
  }
}

}  // namespace
}  // namespace ddpx::test
