#include "predict/infer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "predict/link_text.hpp"
#include "predict/measured.hpp"
#include "tests/predict/small_machine.hpp"
#include "tests/support/expect_input_error.hpp"

namespace ddpx {
namespace {

using test::small_machine;

Job two_gpus() {
  Job job;
  job.gpus = 2;
  job.batch_per_rank = 2;
  return job;
}

TEST(Infer, the_link_a_step_was_forecast_with_is_found_again) {
  const Machine machine = small_machine();
  const Job job = two_gpus();
  for (const char* figures : {"0.2GB/s,10us", "1.1GB/s,10us", "6GB/s,10us"}) {
    const Link link = link_from_figures("--link", figures);
    const Network network =
        measured_network(machine, job, {200e6, Seconds(0.3), job.batch_per_rank});
    const Seconds step = StepModel(machine, link, network, job).run().total();
    const InferredLink found = infer_link(machine, job, 200e6, {Seconds(0.3), step});
    EXPECT_NEAR(found.bus_bandwidth.value() / link.bandwidth.value.value(), 1.0, 1e-3) << figures;
  }
}

TEST(Infer, a_tenfold_slower_pair_is_called_a_fault) {
  // 3 s on one GPU, 56 s on two: 400 MB of gradients in 53 s.
  const InferredLink found =
      infer_link(small_machine(), two_gpus(), 100e6, {Seconds(3), Seconds(56)});
  EXPECT_NEAR(found.speedup, 0.107, 0.0005);
  EXPECT_LT(found.bus_bandwidth.value(), 0.1e9);
  EXPECT_NE(found.reading.find("below any working PCIe link"), std::string::npos) << found.reading;
  EXPECT_NE(found.reading.find("no working link explains this"), std::string::npos);
}

TEST(Infer, a_modest_gain_implies_a_slow_link) {
  // 0.75 s to 1.33 s per step on two GPUs is 1.13x.
  const InferredLink found =
      infer_link(small_machine(), two_gpus(), 50e6, {Seconds(0.75), Seconds(1.33)});
  EXPECT_NEAR(found.speedup, 1.128, 0.001);
  EXPECT_GT(found.bus_bandwidth.value(), 0.1e9);
}

TEST(Infer, steps_that_no_link_explains_are_unmet_in_one_line) {
  for (const StepPair& steps :
       {StepPair{Seconds(1), Seconds(1)}, StepPair{Seconds(1), Seconds(0.5)},
        StepPair{Seconds(1), Seconds(1e6)}}) {
    try {
      static_cast<void>(infer_link(small_machine(), two_gpus(), 1e6, steps));
      ADD_FAILURE() << "nothing was thrown";
    } catch (const UnmetError& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
}

std::string unmet_text(const Job& job, const StepPair& steps) {
  try {
    static_cast<void>(infer_link(for_known_step(small_machine()), job, 100e6, steps));
  } catch (const UnmetError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Infer, a_step_faster_than_free_communication_is_explained_by_no_link) {
  Job job = two_gpus();
  job.gpus = 8;
  job.batch_per_rank = 32;
  job.scaling = Scaling::strong;
  // Eight GPUs can take no less than 120/8 ms.
  const std::string text = unmet_text(job, {Seconds(0.120), Seconds(0.001)});
  EXPECT_NE(text.find("no link explains a step of 1.00 ms on 8 GPUs beside 120 ms on one (120x"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("not of the same training"), std::string::npos) << text;
  EXPECT_EQ(text.find("fast enough"), std::string::npos) << text;
  EXPECT_EQ(text.find("--straggler"), std::string::npos) << text;  // no wait is 56 ms long
  // Linear, and below what waiting for unequal samples leaves room for.
  EXPECT_NE(unmet_text(two_gpus(), {Seconds(0.3), Seconds(0.3)}).find("--straggler spread=0%"),
            std::string::npos);
}

TEST(Infer, what_is_left_for_the_link_within_two_runs_difference_is_said) {
  const std::string none = unmet_text(two_gpus(), {Seconds(0.3), Seconds(0.34)});
  const double free = std::stod(none.substr(none.find("would take ") + 11)) / 1000;
  const std::string text = unmet_text(two_gpus(), {Seconds(0.3), Seconds(free * 1.015)});
  EXPECT_NE(text.find(" ms for the link, too little to infer one from"), std::string::npos) << text;
  EXPECT_NE(text.find("differ by 2.0 %"), std::string::npos) << text;
  EXPECT_EQ(text.find("shows no communication"), std::string::npos) << text;
}

TEST(Infer, the_parts_of_a_step_with_free_communication_add_up_to_it) {
  const std::string text = unmet_text(two_gpus(), {Seconds(0.3), Seconds(0.34)});
  EXPECT_NE(text.find("any fast enough link"), std::string::npos) << text;
  const std::size_t take = text.find("would take ");
  ASSERT_NE(take, std::string::npos) << text;
  const double total = std::stod(text.substr(take + 11));
  const std::size_t from = text.find('(', take);
  const std::string parts = text.substr(from + 1, text.find(')', from) - from - 1);
  double sum = 0;
  for (std::size_t at = 0; at != std::string::npos;) {
    const double time = std::stod(parts.substr(at));
    sum += parts.find(" ms", at) < parts.find(" us", at) ? time : time / 1000;
    const std::size_t comma = parts.find(", ", at);
    const std::size_t last = parts.find(" and ", at);
    at = std::string::npos;
    for (std::size_t next : {comma == std::string::npos ? comma : comma + 2,
                             last == std::string::npos ? last : last + 5}) {
      if (next != std::string::npos && std::isdigit(static_cast<unsigned char>(parts[next])) != 0)
        at = std::min(at, next);
    }
  }
  EXPECT_NEAR(sum / total, 1, 0.01) << text;
}

TEST(Infer, a_refusal_says_what_its_forecast_rests_on) {
  for (const double many : {0.34, 0.05, 1e6}) {
    const std::string text = unmet_text(two_gpus(), {Seconds(0.3), Seconds(many)});
    for (const char* ground :
         {"for compute", "for the optimizer", "for bucket copies",
          "the optimizer and copies are priced on the memory of Small GPU (small)",
          "ranks are taken to differ by 2.0 % and samples by 30 %, of which a rank has 2",
          "free communication still has 10.0 us of latency, assumed"})
      EXPECT_NE(text.find(ground), std::string::npos) << ground << "\n" << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
  }
}

TEST(Infer, a_pair_is_two_times_in_order) {
  const StepPair pair = parse_step_pair("--infer-link", "t1=120ms,tn=1.5s");
  EXPECT_DOUBLE_EQ(pair.one.value(), 0.120);
  EXPECT_DOUBLE_EQ(pair.many.value(), 1.5);
  EXPECT_FALSE(pair.gpus);
  EXPECT_EQ(parse_step_pair("--infer-link", "t1=120ms,t16=1.5s").gpus, 16);
  test::expect_input_error(
      [] { static_cast<void>(parse_step_pair("--infer-link", "t1=120ms,t2=180ms,t4=200ms")); },
      {"--infer-link", "more than two steps", "--diagnose takes several"});
  for (const char* text : {"", "t1=1s", "tn=1s,t1=1s", "t1=1s,t0=2s", "t1=1s,t1=2s", "t1=1s,t-2=2s",
                           "t1=1s,t=2s", "t1=1s,t2x8=2s", "t1=1s,t99999999999=2s", "t1=1,tn=2",
                           "t1=,tn=", "t1=1s,tn=2s,", "t1=nans,tn=1s", "t1=0s,tn=1s"}) {
    test::expect_input_error([&] { static_cast<void>(parse_step_pair("--infer-link", text)); },
                             {"--infer-link"});
  }
}

}  // namespace
}  // namespace ddpx
