#include "io/measurements_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/io/damaged.hpp"
#include "tests/io/plausible.hpp"
#include "tests/io/same.hpp"
#include "tests/support/expect_input_error.hpp"

namespace ddpx::io {
namespace {

Measurements full_measurements() {
  Measurements m;
  m.name = "t4x2";
  m.source = "a published study";
  m.device = {"Tesla T4", 40, 75, Bytes(15.8e9), "", "pcie3"};
  m.context = {{"driver", "550.1"}, {"NCCL_P2P_DISABLE", "1"}};
  m.links = {{"pcie3", "PCIe 3", Topology::pcie, true, 4, 15.75e9, "standard"},
             {"shm", "", Topology::host_memory, false, 0, 0, ""}};
  m.products = {{{Pass::data_gradient, DType::bf16, 256, 4096, 1024},
                 {1e-3, 1.1e-3},
                 KernelRecord{"sm90_xmma<a, b>", 512, 384, 168, 230400, true}},
                {{Pass::forward, DType::fp32, 1, 2, 3}, {1e-6}, {}}};
  m.collectives = {
      {"pcie3", {Collective::all_gather, DType::fp16, Bytes(4096), 8}, {9e-6, 8e-6}, "nccl-tests"},
      {"pcie3", {Collective::all_gather, DType::fp16, Bytes(8192), 8}, {9.5e-6}, ""},
      {"pcie3", {Collective::all_gather, DType::fp16, Bytes(8192), 8, true}, {8.5e-6}, ""}};
  m.collectives.front().hosts = 2;
  m.copies = {{Bytes(1 << 20), {1e-5}}};
  m.optimizers = {{{Optimizer::adamw, 1e6}, {2e-4, 3e-4}}};
  m.steps = {{"mlp:width=512,depth=8",
              256,
              8,
              DType::tf32,
              Optimizer::adamw,
              Engine::native,
              Clocks::sustained,
              {0.01, 0.011},
              "hot"}};
  m.priors = {{"host.torch.per_bucket_s", 0.000123, 0.3, "another host"},
              {"rank_spread", 0, 0, ""}};
  m.notes = {"one", "two"};
  m.products[1].dropped = {{1.0, "throttled"}};
  m.collectives[1].dropped = {{2.0, "disturbed"}, {3.0, "disturbed"}};
  m.copies[0].dropped = {{4.0, "a"}};
  m.optimizers[0].dropped = {{5.0, "b"}};
  m.copies[0].working_set = Bytes(16 << 20);
  m.optimizers[0].working_set = Bytes(64 << 20);
  m.launches = {{{1e-6, 2e-6}, {{6.0, "c"}}}};
  m.besides = {
      {"pcie3", m.products[0].product, m.collectives[0].call, {1.0}, {2.0, 2.5}, {3.0}, {4.0}}};
  m.collectives[0].reported = CollectiveRun{"RING", "LL128", 8};
  m.collectives[1].reported = CollectiveRun{"TREE", "LL", 0};
  m.copy_besides = {
      {"pcie3", {Bytes(64e6)}, m.collectives[0].call, {1.5}, {2.5}, {3.5}, {4.5}, 0.25}};
  m.elementwise = {{{RowKernel::relu_gradient, DType::fp32, 256, 4096}, {1.5e-5}, {{7.0, "d"}}}};
  m.gaps = {{false, 1.3e-6}, {true, 2.8e-6}};
  m.pairs = {{0, 1, Bytes(67108864), {2.5e-4}}};
  RankLoad load{{0.25, 0.5}, {{0.75, "slowed"}}};
  load.clock_mhz = 1755;
  load.power_w = 690.5;
  load.celsius = 0;
  load.slowed_by = "power limit";
  m.loads = {{m.products[0].product, Clocks::sustained, {load, {{0.125}}}}};
  return m;
}

void expect_same_links(const LinkDescription& a, const LinkDescription& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.title, b.title);
  EXPECT_EQ(a.topology, b.topology);
  EXPECT_EQ(a.topology_assumed, b.topology_assumed);
  EXPECT_EQ(a.channels, b.channels);
  EXPECT_EQ(a.peak_bytes_per_s, b.peak_bytes_per_s);
  EXPECT_EQ(a.source, b.source);
}

void expect_same_products(const ProductSample& a, const ProductSample& b) {
  test::expect_same(a.product, b.product);
  EXPECT_EQ(a.seconds, b.seconds);
  ASSERT_EQ(a.kernel.has_value(), b.kernel.has_value());
  if (!a.kernel) return;
  EXPECT_EQ(a.kernel->name, b.kernel->name);
  EXPECT_EQ(a.kernel->blocks, b.kernel->blocks);
  EXPECT_EQ(a.kernel->threads, b.kernel->threads);
  EXPECT_EQ(a.kernel->registers_per_thread, b.kernel->registers_per_thread);
  EXPECT_EQ(a.kernel->shared_bytes, b.kernel->shared_bytes);
  EXPECT_EQ(a.kernel->persistent, b.kernel->persistent);
}

void expect_same_collectives(const CollectiveSample& a, const CollectiveSample& b) {
  EXPECT_EQ(a.link, b.link);
  EXPECT_EQ(a.call.kind, b.call.kind);
  EXPECT_EQ(a.call.dtype, b.call.dtype);
  EXPECT_EQ(a.call.bytes, b.call.bytes);
  EXPECT_EQ(a.call.ranks, b.call.ranks);
  EXPECT_EQ(a.seconds, b.seconds);
  EXPECT_EQ(a.tool, b.tool);
  EXPECT_EQ(a.hosts, b.hosts);
}

void expect_same_steps(const StepSample& a, const StepSample& b) {
  EXPECT_EQ(a.network, b.network);
  EXPECT_EQ(a.batch, b.batch);
  EXPECT_EQ(a.micro_batches, b.micro_batches);
  EXPECT_EQ(a.dtype, b.dtype);
  EXPECT_EQ(a.optimizer, b.optimizer);
  EXPECT_EQ(a.engine, b.engine);
  EXPECT_EQ(a.clocks, b.clocks);
  EXPECT_EQ(a.seconds, b.seconds);
  EXPECT_EQ(a.note, b.note);
}

TEST(MeasurementsJson, what_was_written_is_read_back_field_by_field) {
  const Measurements m = full_measurements();
  const Measurements read = measurements_from_json(to_json(m), "given.json");
  EXPECT_EQ(read.name, m.name);
  EXPECT_EQ(read.source, m.source);
  test::expect_same(read.device, m.device);
  EXPECT_EQ(read.context, m.context);
  ASSERT_EQ(read.links.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    expect_same_links(read.links[i], m.links[i]);
    expect_same_products(read.products.at(i), m.products[i]);
    expect_same_collectives(read.collectives.at(i), m.collectives[i]);
    EXPECT_EQ(read.priors.at(i).constant, m.priors[i].constant);
    EXPECT_EQ(read.priors[i].value, m.priors[i].value);
    EXPECT_EQ(read.priors[i].relative_error, m.priors[i].relative_error);
    EXPECT_EQ(read.priors[i].source, m.priors[i].source);
  }
  EXPECT_EQ(read.copies.at(0).bytes, m.copies[0].bytes);
  EXPECT_EQ(read.copies[0].seconds, m.copies[0].seconds);
  EXPECT_EQ(read.optimizers.at(0).step.optimizer, m.optimizers[0].step.optimizer);
  EXPECT_EQ(read.optimizers[0].step.parameters, m.optimizers[0].step.parameters);
  EXPECT_EQ(read.optimizers[0].seconds, m.optimizers[0].seconds);
  expect_same_steps(read.steps.at(0), m.steps[0]);
  EXPECT_EQ(read.notes, m.notes);
  EXPECT_EQ(to_json(read), to_json(m));
}

void expect_same_dropped(const std::vector<DroppedSample>& a, const std::vector<DroppedSample>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].seconds, b[i].seconds);
    EXPECT_EQ(a[i].reason, b[i].reason);
  }
}

TEST(MeasurementsJson, what_a_calibration_on_the_spot_adds_is_read_back_too) {
  const Measurements m = full_measurements();
  const Measurements read = measurements_from_json(to_json(m), "given.json");
  expect_same_dropped(read.products[1].dropped, m.products[1].dropped);
  expect_same_dropped(read.collectives[1].dropped, m.collectives[1].dropped);
  expect_same_dropped(read.copies[0].dropped, m.copies[0].dropped);
  expect_same_dropped(read.optimizers[0].dropped, m.optimizers[0].dropped);
  EXPECT_EQ(read.launches.at(0).seconds, m.launches[0].seconds);
  ASSERT_EQ(read.gaps.size(), 2U);
  EXPECT_FALSE(read.gaps[0].collectives);
  EXPECT_TRUE(read.gaps[1].collectives);
  EXPECT_EQ(read.gaps[1].seconds, 2.8e-6);
  expect_same_dropped(read.launches[0].dropped, m.launches[0].dropped);
  EXPECT_EQ(read.copies[0].working_set, m.copies[0].working_set);
  EXPECT_EQ(read.optimizers[0].working_set, m.optimizers[0].working_set);
  EXPECT_FALSE(read.collectives.at(1).call.rested);
  EXPECT_TRUE(read.collectives.at(2).call.rested);
  const BesideSample& a = read.besides.at(0);
  const BesideSample& b = m.besides[0];
  EXPECT_EQ(a.link, b.link);
  test::expect_same(a.product, b.product);
  EXPECT_EQ(a.call.kind, b.call.kind);
  EXPECT_EQ(a.call.dtype, b.call.dtype);
  EXPECT_EQ(a.call.bytes, b.call.bytes);
  EXPECT_EQ(a.call.ranks, b.call.ranks);
  EXPECT_EQ(a.product_alone_seconds, b.product_alone_seconds);
  EXPECT_EQ(a.product_beside_seconds, b.product_beside_seconds);
  EXPECT_EQ(a.collective_alone_seconds, b.collective_alone_seconds);
  EXPECT_EQ(a.collective_beside_seconds, b.collective_beside_seconds);
}

TEST(MeasurementsJson, what_gpus_add_is_read_back_too) {
  const Measurements m = full_measurements();
  const Measurements read = measurements_from_json(to_json(m), "given.json");
  ASSERT_TRUE(read.collectives[0].reported);
  EXPECT_EQ(read.collectives[0].reported->algorithm, "RING");
  EXPECT_EQ(read.collectives[0].reported->protocol, "LL128");
  EXPECT_EQ(read.collectives[0].reported->channels, 8);
  EXPECT_EQ(read.collectives[1].reported->channels, 0);
  EXPECT_FALSE(read.collectives[2].reported);
  EXPECT_EQ(read.copy_besides.at(0).copy.bytes, Bytes(64e6));
  EXPECT_EQ(read.copy_besides[0].copy_beside_seconds, (std::vector{2.5}));
  EXPECT_EQ(read.copy_besides[0].collective_alone_seconds, (std::vector{3.5}));
  EXPECT_EQ(read.copy_besides[0].kernel_share, 0.25);
  EXPECT_EQ(read.elementwise.at(0).work.kernel, RowKernel::relu_gradient);
  EXPECT_EQ(read.elementwise[0].work.columns, 4096);
  EXPECT_EQ(read.elementwise[0].seconds, (std::vector{1.5e-5}));
  EXPECT_EQ(read.pairs.at(0).second, 1);
  EXPECT_EQ(read.pairs[0].seconds, (std::vector{2.5e-4}));
  ASSERT_EQ(read.loads.at(0).ranks.size(), 2U);
  EXPECT_EQ(read.loads[0].clocks, Clocks::sustained);
  const RankLoad& load = read.loads[0].ranks[0];
  EXPECT_EQ(load.seconds, (std::vector{0.25, 0.5}));
  EXPECT_EQ(load.dropped.at(0).reason, "slowed");
  EXPECT_EQ(load.clock_mhz, 1755);
  EXPECT_EQ(load.memory_mhz, std::nullopt);
  EXPECT_EQ(load.power_w, 690.5);
  EXPECT_EQ(load.celsius, 0);
  EXPECT_EQ(load.slowed_by, "power limit");
}

TEST(MeasurementsJson, products_are_timed_or_recorded_or_both) {
  Measurements m = full_measurements();
  m.products[0].recorded_seconds = {1e-5, 2e-5};
  m.products[1].recorded_seconds = {3e-5};
  m.products[1].seconds.clear();
  const std::string text = to_json(m);
  const Measurements read = measurements_from_json(text, "given.json");
  for (std::size_t i = 0; i < 2; ++i) {
    expect_same_products(read.products[i], m.products[i]);
    EXPECT_EQ(read.products[i].recorded_seconds, m.products[i].recorded_seconds);
  }
  test::expect_refused(text, measurements_from_json,
                       {{"\"record_times_s\": [3e-05]", "\"note\": 1", {"products[1]", "note"}},
                        {", \"record_times_s\": [3e-05]", "", {"products[1]", "times_s"}},
                        {"[3e-05]", "[]", {"products[1].record_times_s: is empty"}},
                        {"[3e-05]", "[0]", {"products[1].record_times_s[0]: is 0"}}});
}

TEST(MeasurementsJson, a_sample_is_a_line) {
  EXPECT_THAT(
      to_json(full_measurements()),
      testing::HasSubstr(
          "\n    {\"link\": \"pcie3\", \"collective\": \"all_gather\", \"dtype\": \"fp16\", "
          "\"ranks\": 8, \"bytes\": 4096, \"times_s\": [9e-06, 8e-06], "
          "\"tool\": \"nccl-tests\", \"reported\": {\"algorithm\": \"RING\", "
          "\"protocol\": \"LL128\", \"channels\": 8}, \"hosts\": 2},\n"));
}

TEST(MeasurementsJson, damaged_files_are_refused_by_path_and_value) {
  test::expect_refused(
      to_json(full_measurements()), measurements_from_json,
      {{"ddpx.measurements", "ddpx.machine", {"take it as --machine"}},
       {"\"times_s\": [9e-06, 8e-06]", "\"times_s\": []", {"collectives[0].times_s: is empty"}},
       {"\"times_s\": [9e-06, 8e-06]",
        "\"times_s\": [9e-06, 0]",
        {"collectives[0].times_s[1]: is 0; accepted: a number from 1e-10 to 1000000"}},
       {"\"times_s\": [9e-06, 8e-06]", "\"times_s\": [9e-06, -8e-06]", {"times_s[1]: is -8e-06"}},
       {"\"times_s\": [9e-06, 8e-06]", "\"times_s\": [9e-06, Infinity]", {"NaN and Infinity"}},
       {"\"times_s\": [9e-06, 8e-06]", "\"times_s\": 9e-06", {"times_s: is 9e-06", "an array"}},
       {"\"ranks\": 8", "\"ranks\": 0", {"collectives[0].ranks: is 0"}},
       {"\"bytes\": 4096", "\"bytes\": 0", {"collectives[0].bytes: is 0"}},
       {"\"clocks\": \"sustained\"", "\"clocks\": \"cold\"", {"accepted: burst, sustained"}},
       {"\"micro_batches\": 8", "\"micro_batches\": 0", {"steps[0].micro_batches: is 0"}},
       {"\"batch_per_rank\": 256", "\"batch_per_rank\": 0", {"steps[0].batch_per_rank: is 0"}},
       {"\"batch_per_rank\": 256",
        "\"batch_per_rank\": 1.5",
        {"steps[0].batch_per_rank: is 1.5; accepted: a whole number"}},
       {"\"threads\": 384", "\"threads\": 0", {"products[0].kernel.threads: is 0"}},
       {"\"parameters\": 1000000", "\"parameters\": 0", {"optimizers[0].parameters: is 0"}},
       {"\"constant\": \"rank_spread\"", "\"constant\": \"\"", {"priors[1].constant: is \"\""}},
       {"\"channels\": 8}", "\"channels\": 0}", {"collectives[0].reported.channels: is 0"}},
       {"\"algorithm\": \"RING\"", "\"algorithm\": \"\"", {"reported.algorithm: is \"\""}},
       {"\"kernel\": \"relu_gradient\"",
        "\"kernel\": \"relu\"",
        {"elementwise[0].kernel", "bias_relu, relu_gradient, bias_gradient"}},
       {"\"columns\": 4096", "\"columns\": 0", {"elementwise[0].columns: is 0"}},
       {"\"second\": 1", "\"second\": 0", {"pairs[0].second: is 0", "above \"first\", 0"}},
       {"\"power_w\": 690.5", "\"power_w\": -1", {"loads[0].ranks[0].power_w: is -1"}},
       {"\"copy_alone_times_s\": [1.5]",
        "\"copy_alone_times_s\": []",
        {"copy_besides[0].copy_alone_times_s: is empty"}},
       {"\"copies\"", "\"coppies\"", {"did you mean copies?"}},
       {"\"step_times_s\"", "\"times_s\"", {"steps[0]", "step_times_s"}}});
}

TEST(MeasurementsJson, a_size_measured_in_two_samples_is_refused) {
  Measurements m = full_measurements();
  m.collectives.push_back(m.collectives[1]);
  test::expect_input_error([&] { (void)measurements_from_json(to_json(m), "given.json"); },
                           {"collectives[3].bytes: is 8192", "collectives[1] has it already"});
  m.collectives[3].tool = "torch";
  EXPECT_NO_THROW((void)measurements_from_json(to_json(m), "given.json"));
  // Measured anew by another process set.
  m.collectives[3].tool = m.collectives[1].tool;
  m.collectives[3].process_set = 2;
  const Measurements read = measurements_from_json(to_json(m), "given.json");
  EXPECT_EQ(read.collectives[1].process_set, 0);
  EXPECT_EQ(read.collectives[3].process_set, 2);
}

TEST(MeasurementsJson, a_constant_borrowed_twice_is_refused) {
  Measurements m = full_measurements();
  m.priors.push_back(m.priors.front());
  m.priors.back().value *= 1.01;
  test::expect_input_error(
      [&] { (void)measurements_from_json(to_json(m), "given.json"); },
      {"priors[" + std::to_string(m.priors.size() - 1) + "].constant", "priors[0] has it already"});
}

TEST(MeasurementsJson, truncated_files_are_refused) {
  test::expect_truncation_refused(to_json(full_measurements()), measurements_from_json);
}

// As the table of docs/files.md.
TEST(MeasurementsJson, every_rate_and_time_is_one_that_can_be) {
  constexpr test::Field kFields[] = {{"peak_bytes_per_s", 1e3, 1e15},
                                     {"bytes", 1, 1e16},
                                     {"working_set_bytes", 1, 1e16},
                                     {"memory_bytes", 0, 1e16},
                                     {"times_s", 1e-10, 1e6},
                                     {"step_times_s", 1e-10, 1e6},
                                     {"dropped.time_s", 1e-10, 1e6},
                                     {"product_alone_times_s", 1e-10, 1e6},
                                     {"product_beside_times_s", 1e-10, 1e6},
                                     {"copy_alone_times_s", 1e-10, 1e6},
                                     {"copy_beside_times_s", 1e-10, 1e6},
                                     {"collective_alone_times_s", 1e-10, 1e6},
                                     {"collective_beside_times_s", 1e-10, 1e6},
                                     {"idle_s", 1e-10, 1e6},
                                     {"clock_mhz", 0, 1e5},
                                     {"power_w", 0, 1e5},
                                     {"celsius", 0, 300},
                                     {"priors.relative_error", 0, 100}};
  constexpr std::string_view kCounts[] = {"schema_version",
                                          "multiprocessors",
                                          "compute_capability",
                                          "rows",
                                          "in",
                                          "out",
                                          "blocks",
                                          "threads",
                                          "ranks",
                                          "hosts",
                                          "shared_bytes",
                                          "channels",
                                          "batch_per_rank",
                                          "process_set",
                                          "columns",
                                          "gpus",
                                          "micro_batches",
                                          "first",
                                          "second",
                                          "parameters",
                                          "kernel_share",
                                          "priors.value",
                                          "registers_per_thread"};
  test::expect_every_number_bounded(to_json(full_measurements()), measurements_from_json, kFields,
                                    kCounts);
}

// A borrowed constant has the range that it has in a machine.
TEST(MeasurementsJson, a_prior_is_in_the_range_of_its_constant) {
  const std::string good = to_json(full_measurements());
  for (const auto& [constant, bad] : {std::pair("copy_bandwidth_bytes_per_s", "1.5"),
                                      {"kernel_gap_s", "2"},
                                      {"host.torch.fsdp_s", "2000"},
                                      {"power_window_s", "1e-7"},
                                      {"residual", "101"}}) {
    SCOPED_TRACE(constant);
    const std::string named = test::replaced(good, "host.torch.per_bucket_s", constant);
    test::expect_input_error(
        [&, &value = bad] {
          (void)measurements_from_json(test::replaced(named, "0.000123", value), "given.json");
        },
        {"given.json: priors[0].value: is ", " to "});
  }
}

// A copy of 1 GB: 1e16 bytes per second are 100 ns, and 1e7 are 100 s; small ones may wait.
TEST(MeasurementsJson, times_of_bytes_make_a_rate_that_can_be) {
  const auto read = [](double bytes, double seconds) {
    Measurements m = full_measurements();
    m.copies = {{Bytes(bytes), {seconds}}};
    return test::refusal(measurements_from_json, to_json(m));
  };
  EXPECT_EQ(read(1e9, 1e-7), "");
  EXPECT_EQ(read(1e9, 99), "");
  EXPECT_EQ(read(4, 0.9), "");
  EXPECT_THAT(read(1e9, 0.9e-7), testing::StartsWith("given.json: copies[0].times_s[0]: is 9e-08"));
  EXPECT_THAT(read(1e9, 101),
              testing::HasSubstr("make 10000000 to 1e+16 (bytes per second of a memory)"));
}

}  // namespace
}  // namespace ddpx::io
