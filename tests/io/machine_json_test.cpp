#include "io/machine_json.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "tests/io/damaged.hpp"
#include "tests/io/links.hpp"
#include "tests/io/plausible.hpp"
#include "tests/io/same.hpp"
#include "tests/support/expect_input_error.hpp"

namespace ddpx::io {
namespace {

HostCosts costs(double scale) {
  const auto estimate = [&](double value) {
    return Estimate<Seconds>{Seconds(value * scale), 0.08, "prior: H200's host"};
  };
  return {estimate(44e-6),  estimate(2e-4),   estimate(3e-5),   estimate(1.23e-4),
          estimate(1.3e-4), estimate(0),      estimate(7e-5),   estimate(6e-4),
          estimate(3e-4),   estimate(9e-4),   estimate(2e-5),   estimate(1e-5),
          estimate(1.2e-5), estimate(1.1e-4), estimate(1.4e-5), 0.12};
}

Machine full_machine() {
  Machine m;
  m.name = "t4x2";
  m.device = {"Tesla T4", 40, 75, Bytes(15.8e9), "nvlink2", "pcie3"};
  m.products = {
      {{Pass::forward, DType::fp32, 256, 4096, 4096},
       {Seconds(1.0 / 700), 0.01, "fitted"},
       KernelGrid{128, 2, true, {128, 256}, 32 * 1, 80}},
      {{Pass::weight_gradient, DType::fp16, 64, 1024, 64}, {Seconds(3e-5), 0.02, ""}, {}}};
  m.kernel_costs = {{Pass::forward,
                     DType::fp32,
                     {3e-6, 4e-12, 1e-12, 1e-8, 2e-10, 2e-6, 1e-12, 5e-14, 1e-15},
                     0.08,
                     0.1,
                     {{80, {2e-6, 3e-12}}, {90, {1e-6, 2e-12}}}},
                    {Pass::forward, DType::bf16, {2e-6, 1e-13}, 0.05, 0.05, {}}};
  m.one_gpu_steps = {{"mlp:width=1024,depth=8",
                      256,
                      DType::tf32,
                      Optimizer::adamw,
                      Engine::native,
                      {Seconds(0.0123), 0.01, "measured"}}};
  m.copy_bandwidth = {BytesPerSecond(2.4e11), 0.05, "prior"};
  m.optimizer_bandwidth = {BytesPerSecond(2.2e11), 0.03, "fitted"};
  m.copy_points = {{Bytes(1e6), BytesPerSecond(5e11)}, {Bytes(1e8), BytesPerSecond(2.4e11)}};
  m.optimizer_points = {{Bytes(2e6), BytesPerSecond(6e11)}};
  m.adamw_bandwidth = Estimate<BytesPerSecond>{BytesPerSecond(1.9e11), 0.04, "fitted"};
  m.adamw_points = {{Bytes(4e6), BytesPerSecond(3e11)}};
  m.forward_bandwidth = Estimate<BytesPerSecond>{BytesPerSecond(1.8e11), 0.05, "fitted"};
  m.backward_bandwidth = Estimate<BytesPerSecond>{BytesPerSecond(1.7e11), 0.06, "fitted"};
  m.kernel_gap = {Seconds(1.5e-6), 0.2, "fitted"};
  m.host = {costs(1), costs(2)};
  m.boost = Estimate<double>{0.7, 0.05, "a"};
  m.power_window = Estimate<Seconds>{Seconds(0.1), 0.5, "w"};
  m.sustained = Estimate<double>{1.2, 0.06, "b"};
  m.memory_beside = Estimate<double>{1.3, 0.1, "c"};
  m.shared_core = SharedCore{{3e-10, 0.1, "e"}, {Seconds(0), 0, ""}};
  m.hook_overlap = {0.5, 0.3, "d"};
  m.hook_gap = Estimate<Seconds>{Seconds(2e-6), 0.2, "e"};
  m.longer_gap = {Estimate<Seconds>{Seconds(1.4e-6), 0.1, "records"},
                  Estimate<Seconds>{Seconds(0.9e-6), 0.2, "prior"}};
  m.rank_spread = 0.004;
  m.residual = 0.021;
  m.links = {test::full_link(), test::figures_only()};
  m.measurements = "t4x2";
  m.measurements_hash = "fnv1a64:0123456789abcdef";
  m.notes = {"borrowed: host", "dropped: one point"};
  m.context = {{"zeta", "first"}, {"alpha", "second, with \"quotes\""}};
  return m;
}

void expect_same_host(const std::optional<HostCosts>& a, const std::optional<HostCosts>& b) {
  ASSERT_EQ(a.has_value(), b.has_value());
  if (!a) return;
  test::expect_same(a->step_per_tensor, b->step_per_tensor);
  test::expect_same(a->extra_micro_batch, b->extra_micro_batch);
  test::expect_same(a->sync_per_tensor, b->sync_per_tensor);
  test::expect_same(a->per_bucket, b->per_bucket);
  test::expect_same(a->hook_per_bucket, b->hook_per_bucket);
  test::expect_same(a->fsdp, b->fsdp);
  for (const auto member :
       {&HostCosts::fsdp_launch, &HostCosts::step, &HostCosts::sync, &HostCosts::hook,
        &HostCosts::fsdp_block, &HostCosts::fsdp_per_tensor, &HostCosts::adamw_per_tensor,
        &HostCosts::fsdp_adamw_per_tensor, &HostCosts::autocast_per_tensor}) {
    ASSERT_TRUE((*a).*member && (*b).*member);
    test::expect_same(*((*a).*member), *((*b).*member));
  }
  EXPECT_EQ(a->spread, b->spread);
}

void expect_same_products(const std::vector<ProductPoint>& a, const std::vector<ProductPoint>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    test::expect_same(a[i].product, b[i].product);
    test::expect_same(a[i].time, b[i].time);
    ASSERT_EQ(a[i].grid.has_value(), b[i].grid.has_value());
    if (!a[i].grid) continue;
    EXPECT_EQ(a[i].grid->blocks, b[i].grid->blocks);
    EXPECT_EQ(a[i].grid->per_multiprocessor, b[i].grid->per_multiprocessor);
    EXPECT_EQ(a[i].grid->persistent, b[i].grid->persistent);
    EXPECT_EQ(a[i].grid->tile.contiguous, b[i].grid->tile.contiguous);
    EXPECT_EQ(a[i].grid->tile.across, b[i].grid->tile.across);
    EXPECT_EQ(a[i].grid->tiles, b[i].grid->tiles);
  }
}

void expect_same_costs(const std::vector<KernelCosts>& a, const std::vector<KernelCosts>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].pass, b[i].pass);
    EXPECT_EQ(a[i].dtype, b[i].dtype);
    EXPECT_EQ(a[i].seconds, b[i].seconds);
    EXPECT_EQ(a[i].error, b[i].error);
    EXPECT_EQ(a[i].error_outside, b[i].error_outside);
    ASSERT_EQ(a[i].generations.size(), b[i].generations.size());
    for (std::size_t g = 0; g < a[i].generations.size(); ++g) {
      EXPECT_EQ(a[i].generations[g].generation, b[i].generations[g].generation);
      EXPECT_EQ(a[i].generations[g].seconds, b[i].generations[g].seconds);
    }
  }
}

void expect_same_steps(const std::vector<MeasuredStep>& a, const std::vector<MeasuredStep>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].network, b[i].network);
    EXPECT_EQ(a[i].batch, b[i].batch);
    EXPECT_EQ(a[i].dtype, b[i].dtype);
    EXPECT_EQ(a[i].optimizer, b[i].optimizer);
    EXPECT_EQ(a[i].engine, b[i].engine);
    test::expect_same(a[i].time, b[i].time);
  }
}

void expect_same_points(const std::vector<MemoryPoint>& a, const std::vector<MemoryPoint>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].working_set, b[i].working_set);
    EXPECT_EQ(a[i].bandwidth, b[i].bandwidth);
  }
}

void expect_round_trip(const Machine& machine) {
  const std::string text = to_json(machine);
  const Machine read = machine_from_json(text, "given.json");
  EXPECT_EQ(read.name, machine.name);
  test::expect_same(read.device, machine.device);
  expect_same_products(read.products, machine.products);
  expect_same_costs(read.kernel_costs, machine.kernel_costs);
  expect_same_steps(read.one_gpu_steps, machine.one_gpu_steps);
  test::expect_same(read.copy_bandwidth, machine.copy_bandwidth);
  test::expect_same(read.optimizer_bandwidth, machine.optimizer_bandwidth);
  expect_same_points(read.copy_points, machine.copy_points);
  expect_same_points(read.optimizer_points, machine.optimizer_points);
  ASSERT_EQ(read.adamw_bandwidth.has_value(), machine.adamw_bandwidth.has_value());
  if (read.adamw_bandwidth) {
    test::expect_same(*read.adamw_bandwidth, *machine.adamw_bandwidth);
  }
  expect_same_points(read.adamw_points, machine.adamw_points);
  test::expect_same(read.kernel_gap, machine.kernel_gap);
  expect_same_host(read.host[0], machine.host[0]);
  expect_same_host(read.host[1], machine.host[1]);
  test::expect_same(read.boost, machine.boost);
  test::expect_same(read.power_window, machine.power_window);
  test::expect_same(read.sustained, machine.sustained);
  test::expect_same(read.memory_beside, machine.memory_beside);
  test::expect_same(read.shared_core, machine.shared_core);
  test::expect_same(read.hook_overlap, machine.hook_overlap);
  ASSERT_EQ(read.hook_gap.has_value(), machine.hook_gap.has_value());
  if (read.hook_gap) test::expect_same(*read.hook_gap, *machine.hook_gap);
  for (const std::size_t engine : {0U, 1U})
    test::expect_same(read.longer_gap.at(engine), machine.longer_gap.at(engine));
  EXPECT_EQ(read.rank_spread, machine.rank_spread);
  EXPECT_EQ(read.residual, machine.residual);
  ASSERT_EQ(read.links.size(), machine.links.size());
  for (std::size_t i = 0; i < read.links.size(); ++i) {
    test::expect_same(read.links[i], machine.links[i]);
  }
  EXPECT_EQ(read.measurements, machine.measurements);
  EXPECT_EQ(read.measurements_hash, machine.measurements_hash);
  EXPECT_EQ(read.notes, machine.notes);
  EXPECT_EQ(read.context, machine.context);
  EXPECT_EQ(to_json(read), text) << "a second write has the same bytes";
}

TEST(MachineJson, what_was_written_is_read_back_field_by_field) {
  expect_round_trip(full_machine());
}

TEST(MachineJson, what_is_not_known_stays_unknown) {
  Machine m = full_machine();
  m.products.clear();
  m.kernel_costs.clear();
  m.one_gpu_steps.clear();
  m.host = {};
  m.boost.reset();
  m.power_window.reset();
  m.sustained.reset();
  m.memory_beside.reset();
  m.shared_core.reset();
  m.links.clear();
  m.notes.clear();
  m.context.clear();
  m.kernel_gap = {};
  m.measurements.clear();
  m.measurements_hash.clear();
  expect_round_trip(m);
}

// A file of an earlier version holds the whole gap of a step with collectives.
TEST(MachineJson, an_older_files_gaps_are_taken_by_what_they_are_longer_and_said) {
  Machine m = full_machine();  // gap 1.5 us
  m.longer_gap = {};
  std::string text = to_json(m);
  const std::string before = "  \"host\": ";
  const std::size_t at = text.find(before);
  ASSERT_NE(at, std::string::npos);
  text.insert(at, R"(  "shared_gap_s": {"value": 3.0e-6, "relative_error": 0.1, "origin": "old"},
)");
  const Machine read = machine_from_json(text, "old.json");
  for (const Engine engine : {Engine::native, Engine::torch})
    EXPECT_NEAR(read.longer_gap_of(engine).value(), 1.5e-6, 1e-15);
  // 0.3 us of the whole, and what the gap of 1.5 us is unsure by, in squares.
  const double gaps = m.kernel_gap.relative_error * 1.5e-6;
  EXPECT_NEAR(read.longer_gap[0]->relative_error, std::hypot(0.3e-6, gaps) / 1.5e-6, 1e-9);
  ASSERT_EQ(read.notes.size(), m.notes.size() + 1);
  EXPECT_NE(read.notes.back().find("shared_gap_s"), std::string::npos);
  EXPECT_NE(read.notes.back().find("ddpx-calibrate --from"), std::string::npos);
  text.insert(
      at, R"(  "longer_gap_s": {"torch": {"value": 1e-6, "relative_error": 0.1, "origin": "new"}},
)");
  test::expect_input_error([&] { static_cast<void>(machine_from_json(text, "both.json")); },
                           {"both.json: shared_gap_s: is the older form of longer_gap_s"});
}

TEST(MachineJson, damaged_files_are_refused_by_path_and_value) {
  test::expect_refused(
      to_json(full_machine()), machine_from_json,
      {{"ddpx.machine", "ddpx.runs", {"ddpx-validate takes it as --measured"}},
       {"\"schema_version\": 1", "\"schema_version\": 2", {"schema_version: is 2"}},
       {"\"time_s\": 0.0014285714285714286", "\"time_s\": -1", {"products[0].time_s: is -1"}},
       {"\"time_s\": 0.0014285714285714286", "\"time_s\": NaN", {"NaN"}},
       {"\"time_s\": 0.0014285714285714286", "\"time_s\": 1e999", {"number overflow"}},
       {"\"time_s\": 0.0014285714285714286", "\"time_s\": null", {"products[0].time_s: is null"}},
       {"\"rows\": 256", "\"rows\": 0", {"products[0].rows: is 0"}},
       {"\"rows\": 256, ", "", {"products[0]: has no \"rows\""}},
       {"\"rows\": 256", "\"rows\": 256, \"rows\": 256", {"products[0]: gives \"rows\" twice"}},
       {"\"pass\": \"forward\"",
        "\"pass\": \"sideways\"",
        {"products[0].pass: is \"sideways\"; accepted: forward, data_gradient, weight_gradient"}},
       {"\"persistent\": true", "\"persistent\": 1", {"grid.persistent: is 1; accepted: true"}},
       {"\"blocks\": 128", "\"blocks\": -128", {"grid.blocks: is -128"}},
       {"\"launch_s\": 3e-06", "\"launch_s\": -1", {"kernel_costs[0].launch_s: is -1"}},
       {"\"launch_s\": 3e-06,", "", {"kernel_costs[0]: has no \"launch_s\""}},
       {"\"error\": 0.08", "\"error\": -0.08", {"kernel_costs[0].error: is -0.08"}},
       {"\"across\": 256", "\"across\": 0", {"tile.across: is 0"}},
       {"\"contiguous\": 128", "\"contiguous\": 99999", {"tile.contiguous: is 99999"}},
       {"\"multiprocessors\": 40", "\"multiprocessors\": -1", {"device.multiprocessors: is -1"}},
       {"\"multiprocessors\": 40", "\"multiprocessors\": \"40\"", {"multiprocessors: is \"40\""}},
       {"\"native\": {",
        "\"jax\": {",
        {"longer_gap_s: has the unknown key \"jax\"", "native, torch"}},
       {"\"per_bucket_s\"", "\"per_buckets_s\"", {"host.native", "did you mean per_bucket_s?"}},
       {"{\"value\": 0.5, ", "{\"value\": 1.5, ", {"hook_overlap.value: is 1.5", "from 0 to 1"}},
       {"\"rank_spread\": 0.004", "\"rank_spread\": -0.004", {"rank_spread: is -0.004"}},
       {"\"ranks\": 2", "\"ranks\": 0", {"links[0].curves[0].ranks: is 0"}},
       {"\"bytes\": 65536", "\"bytes\": 4096", {"links[0].curves[0].points[1].bytes", "once"}},
       {"\"engine\": \"native\"", "\"engine\": \"jax\"", {"one_gpu_steps[0].engine"}},
       {"\"working_set_bytes\": 100000000",
        "\"working_set_bytes\": 1000000",
        {"copy_points[1].working_set_bytes", "more than the point before it"}},
       {"\"residual\"", "\"residuals\"", {"unknown key \"residuals\"", "did you mean residual?"}},
       {"\"notes\": [", "\"notes\": [7, ", {"notes[0]: is 7; accepted: a text"}},
       {"\"hash\"", "\"hush\"", {"measurements", "did you mean hash?"}}});
}

TEST(MachineJson, costs_of_nothing_or_of_one_pass_twice_are_refused) {
  Machine m = full_machine();
  m.kernel_costs[0].seconds = {0, 0, 0, 0, 0, 1e-6, 1e-12, 0};  // of split kernels alone
  test::expect_input_error([&] { (void)machine_from_json(to_json(m), "given.json"); },
                           {"given.json", "kernel_costs[0].launch_s: is 0; accepted: more than 0"});
  m = full_machine();
  m.kernel_costs.push_back(m.kernel_costs[0]);
  test::expect_input_error([&] { (void)machine_from_json(to_json(m), "given.json"); },
                           {"kernel_costs[2].pass: is \"forward\"; accepted: a pass that"});
}

// Which of two times counts would be the order's choice.
TEST(MachineJson, a_step_or_a_product_timed_twice_is_refused) {
  Machine m = full_machine();
  m.one_gpu_steps.push_back(m.one_gpu_steps.front());
  m.one_gpu_steps.back().time.value *= 10;
  test::expect_input_error(
      [&] { (void)machine_from_json(to_json(m), "given.json"); },
      {"one_gpu_steps[" + std::to_string(m.one_gpu_steps.size() - 1) + "]", "[0] times already"});
  m = full_machine();
  m.products.push_back(m.products.front());
  test::expect_input_error(
      [&] { (void)machine_from_json(to_json(m), "given.json"); },
      {"products[" + std::to_string(m.products.size() - 1) + "]", "[0] times already"});
}

TEST(MachineJson, truncated_files_are_refused) {
  test::expect_truncation_refused(to_json(full_machine()), machine_from_json);
}

TEST(MachineJson, no_damaged_byte_does_worse_than_one_line) {
  test::expect_no_worse_than_refused(to_json(full_machine()), machine_from_json);
}

TEST(MachineJson, a_machine_that_is_not_finite_is_not_written) {
  Machine m = full_machine();
  m.residual = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW((void)to_json(m), std::logic_error);
}

// As the table of docs/files.md.
TEST(MachineJson, every_rate_and_time_is_one_that_can_be) {
  constexpr test::Field kFields[] = {{"links.bandwidth_bytes_per_s.value", 1e3, 1e15},
                                     {"lines.bandwidth_bytes_per_s.value", 1e3, 1e15},
                                     {"bandwidth_low_bytes_per_s", 1e3, 1e15},
                                     {"bandwidth_high_bytes_per_s", 1e3, 1e15},
                                     {"peak_bytes_per_s", 1e3, 1e15},
                                     {"beside_copies.rate_bytes_per_s", 1e3, 1e15},
                                     {"copy_bandwidth_bytes_per_s.value", 1e7, 1e16},
                                     {"optimizer_bandwidth_bytes_per_s.value", 1e7, 1e16},
                                     {"adamw_bandwidth_bytes_per_s.value", 1e7, 1e16},
                                     {"between_products_bytes_per_s.forward.value", 1e7, 1e16},
                                     {"between_products_bytes_per_s.backward.value", 1e7, 1e16},
                                     {"bytes_per_s", 1e7, 1e16},
                                     {"working_set_bytes", 1, 1e16},
                                     {"points.bytes", 1, 1e16},
                                     {"memory_bytes", 0, 1e16},
                                     {"products.time_s", 1e-10, 1e6},
                                     {"step_time_s", 1e-10, 1e6},
                                     {"points.time_s", 1e-10, 1e6},
                                     {"lines.latency_s.value", 0, 1e3},
                                     {"latency_s.value", 1e-10, 1e3},
                                     {"large_latency_s.value", 1e-10, 1e3},
                                     {"delay_s.value", 0, 1e3},
                                     {"burst_s.value", 1e-12, 1e3},
                                     {"kernel_gap_s.value", 0, 1},
                                     {"hook_gap_s.value", 0, 1},
                                     {"longer_gap_s.native.value", 0, 1},
                                     {"longer_gap_s.torch.value", 0, 1},
                                     {"power_window_s.value", 1e-6, 1e4},
                                     {"step_per_tensor_s.value", 0, 1e3},
                                     {"extra_micro_batch_s.value", 0, 1e3},
                                     {"sync_per_tensor_s.value", 0, 1e3},
                                     {"per_bucket_s.value", 0, 1e3},
                                     {"hook_per_bucket_s.value", 0, 1e3},
                                     {"fsdp_s.value", 0, 1e3},
                                     {"fsdp_launch_s.value", 0, 1e3},
                                     {"host.native.step_s.value", 0, 1e3},
                                     {"host.torch.step_s.value", 0, 1e3},
                                     {"sync_s.value", 0, 1e3},
                                     {"hook_s.value", 0, 1e3},
                                     {"fsdp_block_s.value", 0, 1e3},
                                     {"fsdp_per_tensor_s.value", 0, 1e3},
                                     {"adamw_per_tensor_s.value", 0, 1e3},
                                     {"fsdp_adamw_per_tensor_s.value", 0, 1e3},
                                     {"autocast_per_tensor_s.value", 0, 1e3},
                                     {"launch_s", 0, 1},
                                     {"multiply_s", 0, 1e-6},
                                     {"load_s", 0, 1e-6},
                                     {"kernel_costs.step_s", 0, 1e-3},
                                     {"generations.step_s", 0, 1e-3},
                                     {"l2_s", 0, 1e-6},
                                     {"store_s", 0, 1e-6},
                                     {"split_s", 0, 1},
                                     {"sum_s", 0, 1e-6},
                                     {"traffic_s", 0, 1e-7},
                                     {"seconds_per_byte.value", 0, 1e-3},
                                     {"boost_factor.value", 1e-3, 1e3},
                                     {"sustained_factor.value", 1e-3, 1e3},
                                     {"memory_beside_factor.value", 1e-3, 1e3},
                                     {"beside_compute.value", 1e-3, 1e3},
                                     {"beside_copies.collective.value", 1e-3, 1e3},
                                     {"beside_copies.copy.value", 1e-3, 1e3},
                                     {"beside_memory.value", 0, 1e4},
                                     {"beside_flops.value", 0, 1e4},
                                     {"hook_overlap.value", 0, 1},
                                     {"rank_spread", 0, 100},
                                     {"residual", 0, 100},
                                     {"spread", 0, 100},
                                     {"error", 0, 100},
                                     {"error_outside", 0, 100},
                                     {"relative_error", 0, 100}};
  constexpr std::string_view kCounts[] = {"schema_version",
                                          "multiprocessors",
                                          "compute_capability",
                                          "rows",
                                          "in",
                                          "out",
                                          "blocks",
                                          "per_multiprocessor",
                                          "ranks",
                                          "contiguous",
                                          "across",
                                          "batch_per_rank",
                                          "most_ranks",
                                          "generation",
                                          "hosts",
                                          "channels"};
  Machine machine = full_machine();
  machine.links.front().beside_memory = {0.3, 0.1, ""};
  machine.links.front().beside_flops = {0.2, 0.1, ""};
  machine.links.front().beside_copies =
      BesideCopies{{1.2, 0.1, ""}, {1.1, 0.1, ""}, BytesPerSecond(4e9)};
  test::expect_every_number_bounded(to_json(machine), machine_from_json, kFields, kCounts);
}

}  // namespace
}  // namespace ddpx::io
