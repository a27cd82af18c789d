#include "predict/request.hpp"

#include <gtest/gtest.h>

#include "tests/predict/asked.hpp"
#include "tests/predict/small_machine.hpp"
#include "tests/support/expect_input_error.hpp"

namespace ddpx {
namespace {

using test::expect_input_error;
using test::query;
using test::query_refused;
using test::small_resolvers;

TEST(Request, defaults_are_those_of_the_help) {
  const Query q = query({});
  EXPECT_EQ(q.gpus, (std::vector<NodeLayout>{{1, 2}}));
  EXPECT_EQ(q.batches, (std::vector<double>{256}));
  EXPECT_EQ(q.job.dtype, DType::fp32);
  EXPECT_EQ(q.job.engine, Engine::torch);
  EXPECT_EQ(q.job.optimizer, Optimizer::sgd);
  EXPECT_EQ(q.job.scaling, Scaling::weak);
  ASSERT_EQ(q.strategies.size(), 1U);
  EXPECT_EQ(describe(q.strategies.front()), "ddp");
  EXPECT_EQ(q.networks.front().sweep.size(), 6U);
}

TEST(Request, words_become_values) {
  Options o;
  o.dtype = "bf16";
  o.optimizer = "adamw";
  o.engine = "native";
  o.scaling = "strong";
  o.batch = "1K";
  const Query q = query(o);
  EXPECT_EQ(q.job.dtype, DType::bf16);
  EXPECT_EQ(q.job.optimizer, Optimizer::adamw);
  EXPECT_EQ(q.job.engine, Engine::native);
  EXPECT_EQ(q.job.scaling, Scaling::strong);
  EXPECT_EQ(q.batches, (std::vector<double>{1000}));
}

TEST(Request, an_unknown_word_lists_the_accepted_ones) {
  Options o;
  o.dtype = "fp8";
  query_refused(o, {"--dtype", "'fp8'", "fp32, tf32, bf16, fp16"});
  o = {};
  o.optimizer = "lion";
  query_refused(o, {"--optimizer", "'lion'", "sgd, adamw"});
  o = {};
  o.engine = "jax";
  query_refused(o, {"--engine", "'jax'", "native, torch"});
  o = {};
  o.scaling = "";
  query_refused(o, {"--scaling", "weak, strong"});
  o = {};
  o.strategies = {"ddp,magic"};
  query_refused(o, {"--strategy", "'magic'", "accumulate=K"});
}

TEST(Request, counts_and_batches_are_checked) {
  Options o;
  for (const char* gpus : {"2x", "x8", "0x8", "2x8x2", "2X8", "2.5x8", "99999x8"}) {
    o.gpus = gpus;
    query_refused(o, {"--gpus"});
  }
  o.gpus = "2,2";
  query_refused(o, {"--gpus", "'2'", "given twice"});
  o.gpus = "0";
  query_refused(o, {"--gpus"});
  o = {};
  for (const char* batch : {"0", "0.5", "2.5", "nan", "1e300", "-4", "64,,128", "64,64"}) {
    o.batch = batch;
    query_refused(o, {"--batch"});
  }
}

TEST(Request, nodes_need_what_joins_them_and_nothing_else_does) {
  Options o;
  o.networks = {"mlp:width=1024"};
  o.gpus = "2,2x4";
  EXPECT_EQ(query(o).gpus, (std::vector<NodeLayout>{{1, 2}, {2, 4}}));
  expect_input_error([&] { static_cast<void>(run(query(o))); },
                     {"--gpus", "2x4", "--inter-link", "8 ranks"});
  o.links = {"fast"};
  o.inter_link = "fast";
  const ForecastDocument document = run(query(o));
  ASSERT_EQ(document.rows.size(), 2U);
  EXPECT_EQ(document.rows[0].link, "fast");
  EXPECT_EQ(document.rows[1].link, "fast+fast");
  EXPECT_EQ(document.rows[1].nodes, 2);
  EXPECT_EQ(document.rows[1].job.gpus, 8);
  o.nics = "0";
  query_refused(o, {"--nics"});
  o.nics = "4";
  EXPECT_EQ(query(o).nics, 4);
  // Four of 4 GB/s are half of what is inside a node, four of 40 GB/s four times it.
  o.nics = "5";
  ASSERT_EQ(query(o).warnings.size(), 1U);
  EXPECT_NE(query(o).warnings.front().find("--nics 5 is no faster than 4"), std::string::npos);
  Resolvers slow = small_resolvers();
  slow.link = [](std::string_view, const std::optional<std::string>& name, const Machine&) {
    Link link = test::figures_link();
    if (*name != "slow") return link;
    link.bandwidth.value = BytesPerSecond(4e9);
    link.topology = Topology::network;
    return link;
  };
  o.inter_link = "slow";
  EXPECT_TRUE(query_from(o, slow).warnings.empty());
  o.inter_link = "pcie";  // measured, between the slots of one host
  query_refused(o, {"--inter-link", "'pcie' was measured inside one host and joins no nodes"});
  o.gpus = "8";
  query_refused(o, {"--inter-link", "--gpus 2x8"});
  o.inter_link.reset();
  query_refused(o, {"--nics", "--inter-link"});
}

TEST(Request, a_gpu_not_measured_comes_from_its_datasheet_or_from_the_machine) {
  Options o;
  o.gpu = "a100-sxm";
  o.links = {"fast"};
  EXPECT_EQ(query(o).machine.name, "a100-sxm");
  o.gpu = "a1000";
  query_refused(o, {"--gpu", "'a1000'", "t4", "h200"});
  for (const char* name : {"A100", "a100"}) {
    o.gpu = name;
    query_refused(o, {"did you mean a100-sxm, a100-sxm-40, a100-pcie, a100-pcie-40?"});
  }
  o.gpu = "NVIDIA A100-SXM4-80GB";
  query_refused(o, {"did you mean a100-sxm?"});
  o.gpu = "T4";
  query_refused(o, {"did you mean t4?"});
  o.gpu = "";
  query_refused(o, {"'' is unknown; accepted"});
  o.gpu = "a100-sxm";
  o.machine = "small";  // a "Small GPU" is none of the table
  query_refused(o, {"--gpu", "Small GPU", "leave --machine out"});
}

TEST(Request, a_model_by_its_step_needs_all_three_of_its_facts_and_nothing_else) {
  Options o;
  o.step_time = "120ms";
  query_refused(o, {"--step-time", "needs --params"});
  o = {};
  o.params = "350M";
  query_refused(o, {"--params", "needs --step-time"});
  o.step_time = "120ms";
  query_refused(o, {"--params", "needs --batch"});
  o.batch = "32,64";
  query_refused(o, {"--batch", "the one batch"});
  o.batch = "32";
  EXPECT_EQ(query(o).networks.size(), 1U);
  Options with = o;
  with.networks = {"mlp:width=1024"};
  query_refused(with, {"--params", "--network", "one of them"});
  with = o;
  with.dtype = "bf16";
  query_refused(with, {"--dtype", "cannot change"});
  with = o;
  with.sweep = "width=256:8192";
  query_refused(with, {"--sweep", "batch=LOW:HIGH"});
  with.sweep = "batch=32:1024";
  EXPECT_TRUE(query(with).batch_swept);
}

TEST(Request, the_measured_step_comes_back_on_one_gpu) {
  Options o;
  o.params = "350M";
  o.step_time = "400ms";
  o.batch = "32";
  o.gpus = "1,2";
  const ForecastDocument document = run(query(o));
  EXPECT_NEAR(document.rows.front().forecast.step_time_s.value, 0.400, 1e-9);
  // A small model whose step is shorter than launching a hundred tensors takes.
  o.params = "1M";
  o.step_time = "2ms";
  EXPECT_NEAR(run(query(o)).rows.front().forecast.step_time_s.value, 2e-3, 1e-9);
}

TEST(Request, a_step_shorter_than_its_optimizer_is_refused_with_both_times) {
  Options o;
  o.params = "10B";
  o.step_time = "120ms";
  o.batch = "32";
  query_refused(o, {"--step-time", "120 ms", "500 ms", "10.0B"});
}

TEST(Request, a_step_timed_elsewhere_is_warned_about_unless_the_machine_is_named) {
  Options o;
  o.params = "350M";
  o.step_time = "400ms";
  o.batch = "32";
  EXPECT_EQ(query(o).warnings.size(), 1U);
  o.machine = "mine";
  EXPECT_TRUE(query(o).warnings.empty());
}

// Kernels of a T4 are not those of an H200, whatever the machine is.
TEST(Request, a_capture_of_another_device_is_warned_about) {
  Options o;
  o.networks = {"mine.json"};
  Resolvers names = small_resolvers();
  std::string device;
  std::string on;
  names.machine = [&](const std::optional<std::string>&) {
    Machine machine = test::small_machine();
    machine.device.name = on;
    machine.device.multiprocessors = on.find("EPYC") == std::string::npos ? 40 : 0;
    return machine;
  };
  names.network_file = [&](const std::string& path) {
    Network network = opaque({1e6, Seconds(1e-5), 10});
    network.name = path;
    network.captured.emplace();
    network.captured->batch = 8;
    network.captured->device = device;
    return network;
  };
  const auto warnings = [&](const char* captured, const char* machine) {
    device = captured;
    on = machine;
    return query_from(o, names).warnings;
  };
  for (const auto& [captured, machine] : {std::pair("NVIDIA H200", "NVIDIA H200"),
                                          {"Tesla T4", "Tesla T4"},
                                          {"CPU, 8 threads", "AMD EPYC, one core"},
                                          {"", "Tesla T4"}})
    EXPECT_TRUE(warnings(captured, machine).empty()) << captured;
  for (const auto& [captured, machine] : {std::pair("NVIDIA H200", "Tesla T4"),
                                          {"CPU, 8 threads", "Tesla T4"},
                                          {"Tesla T4", "AMD EPYC, one core"},
                                          {"Some GPU", "Tesla T4"}}) {
    ASSERT_EQ(warnings(captured, machine).size(), 1U) << captured;
    EXPECT_NE(warnings(captured, machine)[0].find(std::string("captured on ") + captured),
              std::string::npos);
  }
}

}  // namespace
}  // namespace ddpx
