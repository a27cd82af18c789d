// --diagnose as a user writes it: what is read, and what is refused.
#include <gtest/gtest.h>

#include "predict/diagnose.hpp"
#include "predict/link_text.hpp"
#include "tests/predict/diagnosed.hpp"
#include "tests/predict/small_machine.hpp"

namespace ddpx {
namespace {

using test::diagnosed;
using test::not_diagnosed;
using test::run_of;

TEST(Diagnose, hostile_words_are_refused) {
  for (const char* text : {"",
                           "t1",
                           "t1=",
                           "t1=1s",
                           "t4=1s",
                           "t0=1s,t2=1s",
                           "t1=1s,t1=2s",
                           "t1=1s,r1=2,t2=1s",
                           "t1=1s,tn=2s",
                           "t1=-1s,t2=1s",
                           "t1=nan,t2=1s",
                           "x1=1s,t2=1s",
                           "t1=1s,t2=1s,busy4=50%",
                           "t1=1s,t2=1s,busy2=150%",
                           "t1=1s,t2=1s,busy2=0.5",
                           "t1=1s,t2=1s,data2=2s",
                           "message=1KB",
                           "took=4ms",
                           "t1=1s,t99999999999=2s",
                           "t1=1s,,t2=2s",
                           "=1s",
                           "t1.5=1s,t2=2s",
                           "t1=1e300s,t2=1s",
                           "t1=1s,t2=1e-300s",
                           "t1=1s;t2=2s"}) {
    not_diagnosed(run_of(text), {"--diagnose"});
  }
  Options o = run_of("t1=1s,t4=2s");
  for (const char* ranks : {"", "1s", "1s,2s", "1s,2s,3s,x", "1s,2s,3s,-4s", "1,2,3,4"}) {
    o.rank_compute = ranks;
    not_diagnosed(o, {"--rank-compute"});
  }
}

TEST(Diagnose, what_cannot_change_the_verdict_is_an_error) {
  Options o = run_of("t1=1s,t4=2s");
  o.links = {"10GB/s,20us"};
  not_diagnosed(o, {"--link", "--params"});
  o.params = "1M";
  o.nics = "2";
  not_diagnosed(o, {"--nics"});
  o.nics.reset();
  o.inter_link = "10GB/s,20us";
  o.links.clear();
  not_diagnosed(o, {"--inter-link"});
  o = run_of("t1=1s,t4=2s");
  o.loader_rate = "100";
  not_diagnosed(o, {"--loader-rate", "--batch"});
  for (auto [flag, name] : {std::pair{&Options::machine, "--machine"},
                            {&Options::gpu, "--gpu"},
                            {&Options::optimizer, "--optimizer"},
                            {&Options::engine, "--engine"}}) {
    o = run_of("t1=1s,t4=2s");
    o.*flag = flag == &Options::gpu ? "v100-sxm" : flag == &Options::engine ? "native" : "sgd";
    if (flag == &Options::machine) o.machine = "small";
    not_diagnosed(o, {name, "--params"});
  }
  o = run_of("t1=1s,t4=2s");
  o.strategies = {"fsdp=block"};
  not_diagnosed(o, {"--strategy", "--params"});
  o.strategies = {"ddp,accumulate=4"};
  EXPECT_EQ(diagnosed(o).diagnosis.verdict, Cause::none)
      << "16 times the samples in twice the time";
  o = run_of("t1=1s,t4=2s");
  o.batch = "64";
  not_diagnosed(o, {"--batch", "rN="});
  o = run_of("t1=1s,t4=2s");
  o.gpus = "4";
  not_diagnosed(o, {"--gpus", "tn="});
  o = run_of("t4=2s");
  o.rank_compute = "1s,1s,1s,2s";
  o.params = "1M";
  not_diagnosed(o, {"--params", "t1="});
  o.params.reset();
  o.scaling = "strong";
  not_diagnosed(o, {"--scaling", "t1="});
  o = run_of("t1=1s,t4=2s,message=1KB,took=1ms");
  o.links = {"10GB/s,20us"};
  not_diagnosed(o, {"--diagnose", "two questions"});
  o = run_of("message=1KB,took=1ms");
  o.links = {"10GB/s,20us"};
  o.gpus = "4";
  o.optimizer = "adamw";
  not_diagnosed(o, {"--optimizer", "message"});
  o = run_of("t1=1s,t4=2s");
  o.crossover = true;
  not_diagnosed(o, {"--crossover", "--diagnose"});
  o = run_of("t1=1s,t4=2s");
  o.price = "3";
  not_diagnosed(o, {"--price", "--diagnose"});
}

TEST(Diagnose, no_part_of_a_step_takes_longer_than_the_step) {
  Options o = run_of("t1=10ms,t2=20ms");
  o.rank_compute = "50ms,60ms";
  not_diagnosed(o, {"--rank-compute", "50.0 ms", "20.0 ms"});
  o = run_of("t1=10ms,t2=20ms");
  o.rank_data = "5ms,100ms";
  not_diagnosed(o, {"--rank-data", "100 ms"});
}

TEST(Diagnose, a_rank_may_wait_for_no_data_at_all) {
  Options o = run_of("t1=100ms,t2=160ms");
  for (const char* none : {"0ms", "0", "0.0s"}) {
    o.rank_data = std::string(none) + ",50ms";
    EXPECT_NO_THROW(static_cast<void>(test::answer(o))) << none;
  }
  o.rank_data = "-0ms,50ms";
  not_diagnosed(o, {"--rank-data", "-0ms"});
}

TEST(Diagnose, walls_longer_than_the_step_and_messages_faster_than_the_link_are_refused) {
  Options o = run_of("t1=1s,t2=1.2s");
  o.rank_wall = "5s,1s";
  not_diagnosed(o, {"--rank-wall", "5.00 s", "1.20 s"});
  o = run_of("message=228B,took=1ns");
  o.links = {"300GB/s,10us"};
  o.gpus = "8";
  not_diagnosed(o, {"--diagnose", "took=1.00 ns", "unit"});
}

}  // namespace
}  // namespace ddpx
