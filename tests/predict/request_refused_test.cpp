// Flags that exclude one another, and flags that cannot change the answer.
#include <gtest/gtest.h>

#include "predict/request.hpp"
#include "tests/predict/asked.hpp"
#include "tests/predict/small_machine.hpp"
#include "tests/support/expect_input_error.hpp"

namespace ddpx {
namespace {

using test::expect_input_error;
using test::query;
using test::query_refused;
using test::small_resolvers;

TEST(Request, formats_and_modes_exclude_one_another) {
  Options o;
  o.csv = o.json = true;
  query_refused(o, {"--csv", "--json"});
  o = {};
  o.csv = o.explain = true;
  query_refused(o, {"--explain", "--csv"});
  o = {};
  o.list_links = o.list_machines = true;
  query_refused(o, {"--list-links", "--list-machines"});
  o = {};
  o.list_links = true;
  o.gpus = "4";
  query_refused(o, {"--gpus", "cannot change what --list-links prints"});
  o = {};
  o.list_machines = o.json = true;
  query_refused(o, {"--json", "--list-machines"});
}

TEST(Request, a_sweep_and_what_it_varies_are_not_both_given) {
  Options o;
  o.sweep = "batch=64:4096";
  query_refused(o, {"--sweep", "needs a --network"});
  o.networks = {"mlp:width=1024"};
  o.batch = "256";
  query_refused(o, {"--batch", "--sweep"});
  o.batch.reset();
  EXPECT_EQ(query(o).batches.size(), 7U);
  o.sweep = "width=256:8192";
  query_refused(o, {"--network", "sets width"});
  o.sweep = "depth=2:16";
  EXPECT_EQ(query(o).networks.front().sweep.size(), 4U);
  o.sweep = "colour=2:16";
  query_refused(o, {"colour", "width"});
  o.networks = {"model.json"};
  query_refused(o, {"--sweep", "model.json", "colour"});
}

TEST(Request, nothing_is_given_twice) {
  Options o;
  o.networks = {"mlp:width=1024,depth=8", "mlp:depth=8,width=1024"};
  query_refused(o, {"--network", "given twice"});
  o = {};
  o.links = {"pcie", "pcie3"};  // both resolve to one link
  query_refused(o, {"--link", "'pcie3'", "already given"});
  o = {};
  o.strategies = {"ddp", "ddp"};
  query_refused(o, {"--strategy", "same"});
}

TEST(Request, what_cannot_change_a_step_on_one_gpu_is_refused) {
  const auto one = [] {
    Options o;
    o.gpus = "1";
    return o;
  };
  Options o = one();
  o.links = {"pcie"};
  query_refused(o, {"--link", "one GPU"});
  o = one();
  o.scaling = "strong";
  query_refused(o, {"--scaling", "one GPU"});
  o = one();
  o.crossover = true;
  query_refused(o, {"--crossover", "one GPU"});
  o = one();
  for (const char* words : {"ddp,compress=fp16", "accumulate=8,bucket=25MiB", "fsdp", "no-sync"}) {
    o.strategies = {words};
    query_refused(o, {"--strategy", words, "one GPU", "accumulate=K"});
  }
  EXPECT_EQ(run(query(one())).rows.size(), 6U);
}

// What one GPU's accumulated step takes is the same whether other counts stand beside it.
TEST(Request, one_gpu_may_accumulate) {
  Options o;
  o.gpus = "1";
  o.networks = {"mlp:width=1024"};
  o.strategies = {"ddp", "accumulate=8"};
  const ForecastDocument alone = run(query(o));
  o.gpus = "1,2";
  const ForecastDocument beside = run(query(o));
  ASSERT_EQ(alone.rows.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_EQ(alone.rows[i].forecast.step_time_s.value, beside.rows[i].forecast.step_time_s.value);
  EXPECT_GT(alone.rows[1].forecast.step_time_s.value, 7 * alone.rows[0].forecast.step_time_s.value);
}

// A GPU alone in its node has nobody there to exchange with.
TEST(Request, a_link_inside_nodes_of_one_gpu_is_refused_and_cited_nowhere) {
  Options o;
  o.networks = {"mlp:width=1024"};
  o.gpus = "8x1";
  o.inter_link = "fast";
  o.links = {"pcie"};
  query_refused(o, {"--link", "'8x1' has one in each", "nothing travels over it"});
  o.gpus = "1,2x1,8x1";
  query_refused(o, {"--link"});
  o.gpus = "2,8x1";
  EXPECT_EQ(query(o).links.front().name, "pcie");
  o.gpus = "8x1";
  o.links.clear();
  const ForecastRow row = run(query(o)).rows.front();
  EXPECT_EQ(row.link, "fast");
  EXPECT_EQ(row.link_title.find("pcie"), std::string::npos) << row.link_title;
  for (const std::string& constant : row.rests_on)
    EXPECT_EQ(constant.find("pcie"), std::string::npos) << constant;
}

TEST(Request, a_link_that_nothing_crosses_is_refused) {
  Options o;
  o.links = {"pcie"};
  o.strategies = {"no-sync"};
  query_refused(o, {"--link", "exchanges nothing"});
  o.strategies = {"no-sync", "ddp"};
  EXPECT_EQ(query(o).strategies.size(), 2U);
}

TEST(Request, a_link_question_takes_only_what_it_uses) {
  Options o;
  o.infer_link = "t1=1s,tn=2s";
  const auto infer_refused = [&](std::initializer_list<std::string_view> words) {
    expect_input_error([&] { static_cast<void>(infer(o, small_resolvers())); }, words);
  };
  infer_refused({"--infer-link", "needs --params"});
  o.params = "100M";
  o.gpus = "2x8";
  infer_refused({"--gpus", "'2x8'", "one link that joins them all", "give 16"});
  o.gpus.reset();
  EXPECT_TRUE(infer(o, small_resolvers()).inferred);
  o.links = {"pcie"};
  infer_refused({"--link", "cannot change what --infer-link finds"});
  o.links.clear();
  o.gpus = "2,4";
  infer_refused({"--gpus", "one count"});
  o.gpus = "1";
  infer_refused({"--gpus"});
  o.gpus = "16";
  o.infer_link = "t1=1s,t16=2s";
  EXPECT_EQ(infer(o, small_resolvers()).inferred->job.gpus, 16);
  o.gpus = "8";
  infer_refused({"--gpus", "is 8", "a step on 16"});
  o.gpus.reset();
  EXPECT_EQ(infer(o, small_resolvers()).inferred->job.gpus, 16);
}

}  // namespace
}  // namespace ddpx
