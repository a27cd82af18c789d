#include "predict/diagnose.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "predict/link_text.hpp"
#include "predict/measured.hpp"
#include "predict/table.hpp"
#include "tests/predict/diagnosed.hpp"
#include "tests/predict/small_machine.hpp"

namespace ddpx {
namespace {

using test::diagnosed;
using test::not_diagnosed;
using test::run_of;
using testing::HasSubstr;
using testing::Not;

std::string diagnosis_text(const Options& options) {
  std::string text = text_of(diagnose(options, test::diagnose_resolvers()));
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// The forecast step of 100M parameters, 300 ms on one GPU, over a link.
Seconds forecast_step(const char* figures, int gpus) {
  Job job;
  job.gpus = gpus;
  job.batch_per_rank = gpus;
  const Machine machine = test::small_machine();
  const Network network = measured_network(machine, job, {100e6, Seconds(0.3), job.batch_per_rank});
  const Link link = link_from_figures("--link", figures);
  return StepModel(machine, link, network, job).run().total();
}

Options run_over(const char* run_link, const char* named_link) {
  Options o = run_of(
      ("t1=300ms,t4=" + std::to_string(1e3 * forecast_step(run_link, 4).value()) + "ms").c_str());
  o.params = "100M";
  o.links = {named_link};
  return o;
}

TEST(Diagnose, a_step_the_link_explains_is_communications) {
  const DiagnosedRun run = diagnosed(run_over("1GB/s,10us", "1GB/s,10us"));
  EXPECT_EQ(run.diagnosis.verdict, Cause::communication);
  EXPECT_NEAR(run.implied[1]->value(), 1e9, 1e7);
  EXPECT_NEAR(run.diagnosis.finding(Cause::communication)->explains.value() +
                  run.diagnosis.finding(Cause::latency)->explains.value(),
              run.diagnosis.excess->value(), 0.01 * run.diagnosis.excess->value());
}

TEST(Diagnose, the_link_that_it_would_take_is_held_against_the_one_that_was_named) {
  EXPECT_THAT(diagnosis_text(run_over("0.5GB/s,10us", "10GB/s,10us")),
              HasSubstr("5.0 % of 10GB/s,10us's"));
}

TEST(Diagnose, a_wait_of_nothing_is_a_wait) {
  Options o = run_of("t1=100ms,t4=180ms,data1=0,data4=80ms");
  EXPECT_EQ(diagnosed(o).diagnosis.verdict, Cause::loader);
}

TEST(Diagnose, where_there_is_nothing_to_explain_no_cause_is_listed) {
  Options o = run_of("t1=100ms,t4=101ms");
  o.params = "350M";
  o.links = {"1GB/s,10us"};
  EXPECT_EQ(diagnosed(o).diagnosis.verdict, Cause::none);
  EXPECT_THAT(diagnosis_text(o), Not(HasSubstr("explains ")));
}

TEST(Diagnose, a_step_the_link_does_not_explain_is_not) {
  const Options o = run_over("0.5GB/s,10us", "10GB/s,10us");
  EXPECT_EQ(diagnosed(o).diagnosis.verdict, Cause::unexplained);
  EXPECT_TRUE(diagnosed(o).diagnosis.not_communication);
  EXPECT_THAT(diagnosis_text(o), HasSubstr("It is not communication: over 10GB/s,10us"));
  EXPECT_THAT(diagnosis_text(o), HasSubstr("busy4="));
}

TEST(Diagnose, a_link_named_slower_than_it_is_is_told) {
  const std::string text = diagnosis_text(run_over("3GB/s,10us", "1GB/s,10us"));
  EXPECT_THAT(text, HasSubstr("more than all of that: the link is faster than it was named"));
}

TEST(Diagnose, nodes_are_those_of_the_count_that_is_judged) {
  Options o = run_of("t1=0.8s,t16=2.4s,t24=4.8s");
  o.params = "640M";
  o.links = {"100GB/s,10us"};
  o.gpus = "2x8";
  o.inter_link = "1GB/s,30us";
  not_diagnosed(o, {"--gpus", "24 GPUs", "add 24"});
  o.gpus = "2x8,3x8";
  EXPECT_EQ(diagnosed(o).diagnosis.verdict, Cause::communication);
  o.inter_link.reset();
  not_diagnosed(o, {"--gpus", "3x8 needs --inter-link"});
}

TEST(Diagnose, a_network_counts_by_its_parameters) {
  Options o = run_over("0.5GB/s,10us", "10GB/s,10us");
  o.networks = {"mlp:width=1024"};
  not_diagnosed(o, {"--network", "--params"});
  o.params.reset();
  EXPECT_THAT(diagnosis_text(o), HasSubstr("For 8.46M parameters it would take, if the link took "
                                           "all of it, a link of"));
  EXPECT_THAT(diagnosis_text(o), HasSubstr("bus bandwidth and 10.0 us latency (assumed)"));
}

TEST(Diagnose, many_slow_messages_are_latency) {
  EXPECT_EQ(diagnosed(run_over("100GB/s,50ms", "100GB/s,50ms")).diagnosis.verdict, Cause::latency);
}

TEST(Diagnose, a_pair_below_any_link_is_a_fault) {
  // 3 s on one GPU, 56 s on two (case U029).
  Options o = run_of("t1=3s,t2=56s");
  o.params = "100M";
  EXPECT_THAT(diagnosis_text(o), HasSubstr("below any working PCIe link"));
  EXPECT_THAT(diagnosis_text(o), HasSubstr("0.107x of 2"));
}

TEST(Diagnose, equal_wall_times_name_no_rank) {
  // Four T4, 200 ms injected on rank 1: the walls are equal (case U119).
  Options o = run_of("t4=362.1ms");
  o.rank_wall = "293ms,292.2ms,293ms,293.1ms";
  EXPECT_EQ(diagnosed(o).diagnosis.verdict, Cause::unexplained);
  const std::string text = diagnosis_text(o);
  EXPECT_THAT(text, HasSubstr("name no rank"));
  EXPECT_THAT(text, Not(HasSubstr("rank 1")));
  o.rank_wall.reset();
  o.rank_compute = "93ms,292.2ms,93ms,93.1ms";
  EXPECT_THAT(diagnosis_text(o),
              HasSubstr("rank 1 computes longer than the median rank by 199 ms"));
  o.rank_wall = "293ms,292.2ms,293ms,293.1ms";
  EXPECT_THAT(diagnosis_text(o), Not(HasSubstr("--rank-compute"))) << "it is there";
  o.rank_wall.reset();
  o.rank_compute.reset();
  o.rank_data = "10.4ms,10.4ms,199.7ms,10.4ms";
  EXPECT_THAT(diagnosis_text(o), HasSubstr("rank 2 waits for data longer than the median rank by "
                                           "189 ms"));
}

TEST(Diagnose, walls_that_one_synchronised_step_cannot_have_are_questioned) {
  Options o = run_of("t1=57ms,t4=237ms");
  o.rank_wall = "100ms,237ms,100ms,100ms";
  const std::string text = diagnosis_text(o);
  EXPECT_THAT(text, HasSubstr("differ by 137 %"));
  EXPECT_THAT(text, HasSubstr("not walls of one synchronised step"));
  EXPECT_THAT(text, HasSubstr("What was timed?"));
  EXPECT_THAT(text, Not(HasSubstr("name no rank")));
}

// One GPU's share of the work takes 100 ms; ranks that are done in 20 did other work.
TEST(Diagnose, ranks_that_compute_a_fraction_of_one_gpus_step_are_told) {
  Options o = run_of("t1=100ms,t4=150ms");
  o.rank_compute = "20ms,20ms,21ms,20ms";
  EXPECT_THAT(diagnosis_text(o),
              HasSubstr("Ranks compute 20.0 ms where one GPU's step has it take 100 "
                        "ms"));
  o.rank_compute = "80ms,81ms,82ms,80ms";
  EXPECT_THAT(diagnosis_text(o), Not(HasSubstr("Ranks compute")));
}

TEST(Diagnose, rates_are_steps_of_the_batch) {
  Options o = run_of("r1=15.4,r2=4.5,r4=14");
  not_diagnosed(o, {"--diagnose", "--batch"});
  o.batch = "16";
  const DiagnosedRun run = diagnosed(o);
  EXPECT_NEAR(run.points[0].time.value(), 16 / 15.4, 1e-12);
  EXPECT_NEAR(run.points[2].time.value(), 64 / 14.0, 1e-12);
  ASSERT_EQ(run.flags.size(), 1U);
  EXPECT_EQ(run.flags[0].gpus, 2);
  EXPECT_EQ(run.judged.gpus, 4);
  EXPECT_THAT(diagnosis_text(o), HasSubstr("The step on 2 GPUs is suspect"));
  // Too little time for the update of so many parameters: of the flags that were given.
  o.batch = "1";
  o.params = "17G";
  not_diagnosed(o, {"--diagnose: ", "give the --batch that the rates are of"});
}

TEST(Diagnose, a_superlinear_point_is_flagged_and_not_judged) {
  Options o = run_of("r1=13,r2=18,r4=59");
  o.batch = "4";
  EXPECT_EQ(diagnosed(o).judged.gpus, 2);
  EXPECT_THAT(diagnosis_text(o), HasSubstr("more than linear"));
  o = run_of("t1=100ms,t2=40ms");
  EXPECT_THAT(diagnosis_text(o), Not(HasSubstr("nothing to explain")));
  EXPECT_EQ(diagnosed(o).next,
            "the step on 2 GPUs again, with that on one GPU and at the same batch");
}

TEST(Diagnose, points_that_need_different_links_are_told) {
  // 0.8, 2.4 and 4.8 s on 8, 16 and 24 GPUs taken as 1, 2 and 3 nodes (case U032).
  Options o = run_of("t1=0.8s,t16=2.4s,t24=4.8s");
  o.params = "640M";
  EXPECT_THAT(diagnosis_text(o), HasSubstr("worse than one link explains"));
}

TEST(Diagnose, a_small_message_that_takes_long_waits_for_a_rank) {
  // 228 bytes in 4 ms (case U120).
  Options o = run_of("message=228B,took=4ms");
  not_diagnosed(o, {"message=", "--link"});
  o.links = {"10GB/s,20us"};
  not_diagnosed(o, {"message=", "--gpus"});
  o.gpus = "160";
  EXPECT_THAT(diagnosis_text(o), HasSubstr("waiting for a rank that comes late"));
  o.diagnose = "message=1GB,took=205ms";
  EXPECT_THAT(diagnosis_text(o), HasSubstr("it is the transfer"));
}

TEST(Diagnose, loader_and_host_have_their_own_evidence) {
  Options o = run_of("t1=100ms,t4=180ms,busy4=50%");
  EXPECT_EQ(diagnosed(o).diagnosis.verdict, Cause::host);
  o = run_of("t1=100ms,t4=180ms,data1=5ms,data4=80ms");
  EXPECT_EQ(diagnosed(o).diagnosis.verdict, Cause::loader);
  o = run_of("t1=100ms,t4=110ms,data4=50ms");
  EXPECT_THAT(diagnosis_text(o), HasSubstr("waits for data for 50.0 ms, more than all of that."));
  o = run_of("t1=100ms,t4=180ms");
  o.batch = "32";
  o.loader_rate = "711";  // 128 samples in 180 ms
  EXPECT_EQ(diagnosed(o).diagnosis.verdict, Cause::loader);
  o.gpus = "4";
  o.diagnose = "t1=100ms,tn=180ms";
  EXPECT_EQ(diagnosed(o).judged.gpus, 4);
}

TEST(Diagnose, a_step_that_was_taken_was_fed) {
  Options o = run_of("t1=100ms,t2=160ms");
  o.batch = "32";
  o.loader_rate = "100";  // 64 samples in 640 ms
  not_diagnosed(o, {"--loader-rate", "'100'", "640 ms", "160 ms"});
  o.loader_rate = "410";
  EXPECT_NO_THROW(static_cast<void>(test::answer(o)));
}

// A loader changes nothing of what the link takes.
TEST(Diagnose, communication_is_the_links_with_any_loader) {
  Options o = run_of("t1=100ms,t2=150ms");
  o.params = "48M";
  o.links = {"4GB/s,50us"};
  const auto communication = [&] {
    return diagnosed(o).diagnosis.finding(Cause::communication)->explains.value();
  };
  const double without = communication();
  o.batch = "32";
  o.loader_rate = "430";
  EXPECT_DOUBLE_EQ(communication(), without);
}

}  // namespace
}  // namespace ddpx
