// A step of real PyTorch DDP, from GPU kernel records: MLP width 4096, depth 8, batch 256, fp32,
// SGD, default buckets, rank 0 of two H200 over NVLink, PyTorch 2.11. Durations below are medians
// of the kernels of two clean steps (the first of the trace waits for the other rank); the
// timeline's times are the second step's.
#include <gtest/gtest.h>

#include "model/step.hpp"
#include "tests/model/h200.hpp"

namespace ddpx {
namespace {

constexpr double kMicro = 1e-6;
constexpr double kWidth = 4096;
constexpr double kBatch = 256;
constexpr double kGapMicros = 1.3;  // between two kernels

// `micros` of its kernel, and until the next.
ProductPoint product(Pass pass, double out, double micros, std::optional<KernelGrid> grid) {
  ProductPoint p;
  p.product = {pass, DType::fp32, kBatch, kWidth, out};
  p.time = {Seconds((micros + kGapMicros) * kMicro), 0.01, "trace"};
  p.grid = grid;
  return p;
}

Machine traced_machine() {
  Machine m;
  m.name = "h200";
  m.device.multiprocessors = test::kSms;
  m.device.compute_capability = 90;
  m.products = {
      product(Pass::forward, kWidth, 229.2, std::nullopt),
      // 172.9 us alone, and the reduction of its four splits.
      product(Pass::data_gradient, kWidth, 172.9 + kGapMicros + 6.4, KernelGrid{128, 1, false}),
      product(Pass::weight_gradient, kWidth, 184.5, KernelGrid{512, 1, false}),
      product(Pass::forward, 64, 31.2, std::nullopt),
      product(Pass::data_gradient, 64, 7.2, std::nullopt),
      product(Pass::weight_gradient, 64, 6.6 + 2.5, std::nullopt),
  };
  m.copy_bandwidth = {BytesPerSecond(2 * 67.1e6 / (32.3 * kMicro)), 0.02,
                      "copy of one weight gradient"};
  m.optimizer_bandwidth = {BytesPerSecond(12 * 134.5e6 / (424.9 * kMicro)), 0.02, "SGD.step"};
  m.kernel_gap = {Seconds(kGapMicros * kMicro), 0.1, "between two kernels"};
  return m;
}

// As they ran in the second step: the first bucket (1.05 MB) 64.2 us, most of it waiting for the
// other rank, which holds the multiprocessors all the same; the others (67.1 MB) 254 us.
Link traced_link() {
  Link link;
  link.name = "nvlink";
  link.topology = Topology::nvlink;
  link.channels = 24;
  const double bandwidth = (67.125e6 - 1.049e6) / ((254 - 64.2) * kMicro);
  const double latency = 64.2 * kMicro - 1.049e6 / bandwidth;
  link.curves.emplace_back(
      CollectiveCall{Collective::all_reduce, DType::fp32, Bytes{}, 2},
      std::vector<ProtocolLine>{{{Seconds(latency), 0, ""}, {BytesPerSecond(bandwidth), 0, ""}}},
      std::vector<CurvePoint>{});
  return link;
}

TEST(TracedStep, has_nine_buckets_the_first_of_one_mebibyte) {
  const Machine m = traced_machine();
  const Link link = traced_link();
  const Network network = mlp({.width = kWidth});
  const StepModel model(m, link, network, Job{});
  ASSERT_EQ(model.buckets().size(), 9U);
  EXPECT_EQ(model.buckets()[0].bytes, Bytes(4 * (64 * kWidth + 64)));
  EXPECT_EQ(model.buckets()[1].bytes, Bytes(4 * (kWidth * kWidth + kWidth)));
}

TEST(TracedStep, is_reproduced_within_three_percent) {
  const Machine m = traced_machine();
  const Link link = traced_link();
  const Network network = mlp({.width = kWidth});
  const StepModel model(m, link, network, Job{});
  const Step step = model.run();
  const Timeline timeline = model.timeline();
  double forward_end = 0;
  double backward_end = 0;
  for (const Span& span : timeline.spans) {
    if (span.name.starts_with("forward")) forward_end = span.end / Seconds(kMicro);
    if (span.name.starts_with("backward")) backward_end = span.end / Seconds(kMicro);
  }
  // First kernel 19687.6, first of backward 21613.8, last of backward 25970.5, optimizer ends
  // 26838.8.
  EXPECT_NEAR(forward_end, 21613.8 - 19687.6, 0.03 * (21613.8 - 19687.6));
  EXPECT_NEAR(backward_end - forward_end, 25970.5 - 21613.8, 0.03 * (25970.5 - 21613.8));
  EXPECT_NEAR(step.total() / Seconds(kMicro), 26838.8 - 19687.6, 0.03 * (26838.8 - 19687.6));
}

TEST(TracedStep, is_missed_by_a_tenth_without_waves) {
  const Machine waves = traced_machine();
  Machine none = waves;
  none.device.multiprocessors = 0;
  const Link link = traced_link();
  const Network network = mlp({.width = kWidth});
  const double with = StepModel(waves, link, network, Job{}).run().total() / Seconds(kMicro);
  const double without = StepModel(none, link, network, Job{}).run().total() / Seconds(kMicro);
  EXPECT_LT(without, 0.9 * with);
}

}  // namespace
}  // namespace ddpx
