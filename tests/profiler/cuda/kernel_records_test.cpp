// Grids, blocks, registers and times marked "two H200" are kernel records of a PyTorch DDP step on
// two H200 over NVLink (CUPTI through torch.profiler).

#include "profiler/cuda/kernel_records.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace ddpx::cuda {
namespace {

Device h200() {
  Device device;
  device.multiprocessors = 132;
  device.compute_capability = 90;
  return device;
}

Kernel kernel(const std::string& name, std::array<int, 3> grid, std::uint64_t start_ns,
              std::uint64_t end_ns) {
  Kernel made;
  made.name = name;
  made.grid = grid;
  made.block = {256, 1, 1};
  made.start_ns = start_ns;
  made.end_ns = end_ns;
  return made;
}

Kernel nvjet(std::array<int, 3> grid, std::array<int, 3> cluster) {  // two H200, bf16
  Kernel made = kernel("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", grid, 0, 658965);
  made.block = {384, 1, 1};
  made.cluster = cluster;
  made.registers_per_thread = 168;
  made.dynamic_shared_bytes = 213188;
  return made;
}

TEST(KernelRecords, a_grid_that_fills_the_gpu_once_is_persistent) {
  EXPECT_TRUE(is_persistent(nvjet({2, 66, 1}, {1, 2, 1}), h200()));
  EXPECT_FALSE(is_persistent(nvjet({4, 22, 1}, {1, 4, 1}), h200()));  // fewer tiles than that
  EXPECT_FALSE(is_persistent(nvjet({2, 64, 1}, {2, 1, 1}), h200()));
  EXPECT_FALSE(is_persistent(nvjet({2, 132, 1}, {1, 2, 1}), h200()));
}

TEST(KernelRecords, a_run_takes_what_its_kernels_take) {
  // A product and the sum of its parts, three times.
  std::vector<Kernel> kernels;
  for (std::uint64_t run = 0; run < 3; ++run) {
    kernels.push_back(kernel("gemm", {8, 1, 1}, 100'000 * run, 100'000 * run + 20'000));
    kernels.push_back(kernel("sum", {8, 1, 1}, 100'000 * run + 21'000, 100'000 * run + 25'000));
  }
  const std::vector<double> times = run_times(kernels, 3);
  ASSERT_EQ(times.size(), 3U);
  for (const double time : times) EXPECT_NEAR(time, 24e-6, 1e-12);
  kernels.pop_back();
  EXPECT_TRUE(run_times(kernels, 3).empty()) << "one was lost";
  EXPECT_TRUE(run_times({}, 3).empty());
  EXPECT_TRUE(run_times(kernels, 0).empty());
  kernels = {kernel("gemm", {8, 1, 1}, 0, 0)};
  EXPECT_TRUE(run_times(kernels, 1).empty()) << "without times";
}

TEST(KernelRecords, whole_clusters_fill_the_gpu_as_far_as_they_go) {
  Kernel four = nvjet({128, 1, 1}, {4, 1, 1});
  EXPECT_FALSE(is_persistent(four, h200()));
  four.max_active_clusters = 32;
  EXPECT_TRUE(is_persistent(four, h200()));
  Device b200 = h200();
  b200.multiprocessors = 148;
  b200.compute_capability = 100;
  EXPECT_TRUE(is_persistent(nvjet({144, 1, 1}, {16, 1, 1}), b200));  // 9 clusters of 16
}

TEST(KernelRecords, small_blocks_and_older_parts_are_not_persistent) {
  EXPECT_FALSE(is_persistent(kernel("elementwise", {132, 1, 1}, 0, 1), h200()));
  Device rtx4090 = h200();
  rtx4090.multiprocessors = 128;
  rtx4090.compute_capability = 89;
  EXPECT_FALSE(is_persistent(nvjet({128, 1, 1}, {1, 1, 1}), rtx4090));
  EXPECT_FALSE(is_persistent(nvjet({132, 1, 1}, {1, 1, 1}), Device{}));
}

TEST(KernelRecords, the_main_kernel_has_the_longest_time_of_all_runs_together) {
  std::vector<Kernel> kernels;
  for (std::uint64_t run = 0; run < 3; ++run) {
    const std::uint64_t at = run * 1000;
    Kernel main = kernel("sgemm", {4, 32, 1}, at, at + 400);
    main.block = {16, 8, 1};
    main.registers_per_thread = 128;
    main.static_shared_bytes = 13000;
    main.dynamic_shared_bytes = 56;
    kernels.push_back(main);
    kernels.push_back(kernel("splitKreduce", {128, 4, 1}, at + 400, at + 500));
    kernels.push_back(kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", {24, 1, 1}, at, at + 5000));
  }
  kernels.push_back(kernel("once", {1, 1, 1}, 9000, 9900));  // longest, but once
  const auto main = main_kernel(kernels, h200());
  ASSERT_TRUE(main);
  EXPECT_EQ(main->record.name, "sgemm");
  EXPECT_EQ(main->record.blocks, 128);
  EXPECT_EQ(main->record.threads, 128);
  EXPECT_EQ(main->record.registers_per_thread, 128);
  EXPECT_EQ(main->record.shared_bytes, 13056);
  EXPECT_FALSE(main->record.persistent);
  EXPECT_EQ(main->launches, 3);
  EXPECT_DOUBLE_EQ(main->share, 1200.0 / (1200 + 300 + 900));
}

TEST(KernelRecords, without_kernels_there_is_no_main_one) {
  EXPECT_FALSE(main_kernel({}, h200()));
  EXPECT_FALSE(main_kernel(std::vector{kernel("ncclKernel", {2, 1, 1}, 0, 9)}, h200()));
  const auto empty = main_kernel(std::vector{kernel("k", {2, 1, 1}, 9, 9)}, h200());
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->share, 0);
}

// Two H200: 248.64 us of a product from 2446.3 on, NCCL from 2443.6 to 2529.46; and 300.35 us from
// 3300.3 on, NCCL from 3296.6 to 3435.86. The records' own shares are 0.334 and 0.451.
TEST(KernelRecords, share_beside_a_collective_is_that_of_recorded_steps) {
  const std::vector<Kernel> nccl = {
      kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", {24, 1, 1}, 2443600, 2529460),
      kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", {24, 1, 1}, 3296600, 3435860)};
  EXPECT_NEAR(share_beside(kernel("a", {64, 1, 2}, 2446300, 2694940), nccl), 0.334, 0.001);
  EXPECT_NEAR(share_beside(kernel("b", {64, 1, 2}, 3300300, 3600650), nccl), 0.451, 0.001);
}

TEST(KernelRecords, collectives_that_overlap_count_once_and_other_kernels_and_gpus_do_not) {
  Kernel elsewhere = kernel("ncclKernel", {1, 1, 1}, 0, 1000);
  elsewhere.device = 1;
  const std::vector<Kernel> others = {
      kernel("ncclKernel", {1, 1, 1}, 0, 500), kernel("ncclKernel", {1, 1, 1}, 100, 400),
      kernel("ncclKernel", {1, 1, 1}, 450, 600), kernel("sgemm", {1, 1, 1}, 0, 1000), elsewhere};
  EXPECT_DOUBLE_EQ(share_beside(kernel("k", {1, 1, 1}, 0, 1000), others), 0.6);
  EXPECT_EQ(share_beside(kernel("k", {1, 1, 1}, 700, 700), others), 0);
  EXPECT_EQ(share_beside(kernel("k", {1, 1, 1}, 700, 600), others), 0);
}

TEST(KernelRecords,
     side_by_side_counts_kernels_that_began_beside_a_collective_and_had_it_all_along) {
  Trace trace;
  trace.kernels = {kernel("sgemm", {64, 1, 1}, 0, 10'000),  // before it
                   kernel("ncclDevKernel_AllReduce", {24, 1, 1}, 10'500, 50'000),
                   kernel("sgemm", {64, 1, 1}, 11'000, 29'000),
                   kernel("memset", {1, 1, 1}, 29'000, 29'100),
                   kernel("sgemm", {64, 1, 1}, 30'000, 50'000),
                   kernel("sgemm", {64, 1, 1}, 49'000, 60'000)};  // a tenth of it
  const KernelRecord product{"sgemm", 64, 1, 0, 0, false};
  const auto times = side_by_side(product, trace);
  ASSERT_TRUE(times);
  EXPECT_DOUBLE_EQ(times->product.value(), 19e-6);
  EXPECT_DOUBLE_EQ(times->share, 1);
  ASSERT_EQ(times->collectives.size(), 1U);
  EXPECT_DOUBLE_EQ(times->collectives[0], 39.5e-6);
  EXPECT_DOUBLE_EQ(time_of(product, trace)->value(), 14.5e-6);
}

TEST(KernelRecords, side_by_side_takes_what_there_is_where_no_kernel_had_the_collective_all_along) {
  Trace trace;
  trace.kernels = {kernel("ncclDevKernel_AllReduce", {24, 1, 1}, 0, 5'000),
                   kernel("sgemm", {64, 1, 1}, 1'000, 11'000),
                   kernel("ncclDevKernel_AllReduce", {24, 1, 1}, 12'500, 15'000),
                   // Began 2 us before the collective, so beside none.
                   kernel("sgemm", {64, 1, 1}, 10'500, 20'000)};
  const KernelRecord product{"sgemm", 64, 1, 0, 0, false};
  const auto times = side_by_side(product, trace);
  ASSERT_TRUE(times);
  EXPECT_DOUBLE_EQ(times->product.value(), 10e-6);
  EXPECT_DOUBLE_EQ(times->share, 0.4);
  EXPECT_EQ(times->collectives.size(), 2U);
  EXPECT_FALSE(side_by_side({"other", 64, 1, 0, 0, false}, trace));
  EXPECT_FALSE(time_of({"sgemm", 32, 1, 0, 0, false}, trace));
  EXPECT_FALSE(side_by_side(product, {}));
}

TEST(KernelRecords, channels_are_the_grid_of_nccl) {
  EXPECT_EQ(channels_of(kernel("ncclDevKernel_AllReduce", {24, 1, 1}, 0, 1)), 24);
  EXPECT_EQ(channels_of(kernel("sgemm", {24, 1, 1}, 0, 1)), std::nullopt);
}

TEST(KernelRecords, the_usual_gap_is_the_busiest_streams_without_waits_and_collectives) {
  Trace trace;
  std::uint64_t now = 1000;
  for (int i = 0; i < 30; ++i) {
    trace.kernels.push_back(kernel("sgemm", {4, 1, 1}, now, now + 5000));
    now += 5000 + (i % 3 == 0 ? 1200 : 1400);
  }
  EXPECT_NEAR(usual_gap(trace).value().value(), 1.4e-6, 1e-12);
  trace.kernels.push_back(kernel("sgemm", {4, 1, 1}, now + 100'000, now + 101'000));  // waited
  Kernel summed = kernel("ncclDevKernel_AllReduce", {24, 1, 1}, 2000, 90'000);
  trace.kernels.push_back(summed);
  Kernel elsewhere = kernel("fill", {1, 1, 1}, 3000, 3100);
  elsewhere.stream = summed.stream + 1;
  trace.kernels.push_back(elsewhere);
  EXPECT_NEAR(usual_gap(trace).value().value(), 1.4e-6, 1e-12);
  // A copy between two kernels has a gap on either side.
  trace.transfers.push_back({"copy device to device", 64, 0, trace.kernels[0].stream, 6500, 6800});
  EXPECT_TRUE(usual_gap(trace));
  trace.kernels.resize(5);
  trace.transfers.clear();
  EXPECT_FALSE(usual_gap(trace));
  EXPECT_FALSE(usual_gap({}));
}

TEST(KernelRecords, a_huge_grid_does_not_overflow) {
  constexpr int kMost = std::numeric_limits<int>::max();
  EXPECT_GT(kernel("k", {kMost, 65535, 65535}, 0, 1).blocks(), 9e18);
}

TEST(KernelRecords, time_counts_once_where_kernels_overlap) {
  Trace trace;
  trace.kernels = {kernel("a", {1, 1, 1}, 1000, 3000), kernel("b", {1, 1, 1}, 2000, 4000),
                   kernel("c", {1, 1, 1}, 2500, 2600)};
  trace.transfers.push_back({"copy device to device", 64, 0, 7, 6000, 6500});
  EXPECT_DOUBLE_EQ(busy_time(trace).value(), 3.5e-6);
  EXPECT_EQ(busy_time({}).value(), 0);
}

TEST(KernelRecords, a_collectives_blocks_are_its_channels) {
  Trace trace;
  trace.kernels = {kernel("sgemm", {4, 1, 1}, 0, 1),
                   kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", {24, 1, 1}, 1, 2)};
  EXPECT_EQ(channels_of(trace), 24);
  trace.kernels.pop_back();
  EXPECT_EQ(channels_of(trace), std::nullopt);
}

TEST(KernelRecords, a_trace_becomes_the_timeline_of_one_device) {
  Trace trace;
  trace.kernels = {kernel("ncclKernel", {24, 1, 1}, 5000, 9000),
                   kernel("sgemm", {4, 1, 1}, 4000, 8000)};
  Kernel other = kernel("sgemm", {4, 1, 1}, 0, 100);
  other.device = 1;
  trace.kernels.push_back(other);
  trace.transfers.push_back({"copy device to device", 64, 0, 7, 8000, 8500});
  const Timeline timeline = timeline_of(trace, 0);
  ASSERT_EQ(timeline.spans.size(), 3);
  EXPECT_EQ(timeline.spans[0].name, "sgemm");
  EXPECT_EQ(timeline.spans[0].stream, Stream::compute);
  EXPECT_EQ(timeline.spans[0].start.value(), 0);
  EXPECT_DOUBLE_EQ(timeline.spans[1].start.value(), 1e-6);
  EXPECT_DOUBLE_EQ(timeline.spans[1].end.value(), 5e-6);
  EXPECT_EQ(timeline.spans[1].stream, Stream::communication);
  EXPECT_EQ(timeline.spans[2].name, "copy device to device");
  EXPECT_TRUE(timeline_of(trace, 3).spans.empty());
}

}  // namespace
}  // namespace ddpx::cuda
