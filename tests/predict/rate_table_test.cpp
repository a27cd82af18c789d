#include "predict/rate_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "model/error.hpp"
#include "tests/support/expect_input_error.hpp"

namespace ddpx {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

void table_refused(std::string_view text, std::initializer_list<std::string_view> words) {
  test::expect_input_error([&] { static_cast<void>(rate_table("--diagnose log", text)); }, words);
}

TEST(RateTable, leaves_out_what_names_no_plan) {
  const RateTable table =
      rate_table("x",
                 "bench                Plan          metric     GPU1     GPU2\n"
                 "-----------------------------------------------------------\n"
                 "hf_t5                         train_rate     2.28     2.22\n"
                 "ppo                  DDP      train_rate   918.81   834.84\r\n"
                 "resnet50                      train_rate    38.66    36.31\n");
  EXPECT_EQ(table.benchmark, "ppo");
  EXPECT_EQ(table.plan, "DDP");
  EXPECT_THAT(table.rates, ElementsAre(Pair(1, "918.81"), Pair(2, "834.84")));
  EXPECT_THAT(table.left_out, ElementsAre("hf_t5", "resnet50"));
}

TEST(RateTable, without_a_plan_takes_its_one_line) {
  const RateTable table =
      rate_table("x", "| model | gpu1 | 4GPU |\n|---|---:|---:|\n| a | 10 | 33 |\n");
  EXPECT_THAT(table.rates, ElementsAre(Pair(1, "10"), Pair(4, "33")));
  EXPECT_THAT(table.left_out, IsEmpty());
}

TEST(RateTable, that_is_incomplete_or_hostile_is_refused_by_line) {
  const std::string head = "bench Plan metric GPU1 GPU2\n";
  table_refused("", {"--diagnose log", "no table of rates", "bench Plan metric GPU1 GPU2"});
  table_refused("GPU1 GPU2\na 1 2\n", {"no table of rates"});
  table_refused(head, {"no line under"});
  table_refused(head + "bert train_rate 1 2\n", {"names a plan in no line", "side by side"});
  table_refused(head + "a DDP train_rate 1 2\nb DDP train_rate 1 2\n", {"2 benchmarks", "a, b"});
  table_refused(head + "a train_rate 1 2\nb 2\n", {"line 3", "2 words of 5"});
  table_refused(head + "a DDP train_rate 1 x\n", {"line 2", "'x'"});
  table_refused(head + "a DDP train_rate 1 -2\n", {"line 2", "'-2'"});
  table_refused(head + "a DDP train_time 1 2\n", {"line 2", "train_time", "rate"});
  table_refused("bench GPU0 GPU2\n", {"line 1", "GPU0"});
  table_refused("bench GPU2 GPU2\n", {"line 1", "two columns"});
  std::mt19937_64 random(7);
  const std::string alphabet = "aGPU12 \n\t|-.xDtrate\0\xff";
  for (int round = 0; round < 5000; ++round) {
    std::string text = round % 2 == 0 ? head : "";
    for (auto n = random() % 40; n > 0; --n) text += alphabet[random() % alphabet.size()];
    try {
      EXPECT_FALSE(rate_table("x", text).rates.empty());
    } catch (const InputError&) {
    }
  }
}

}  // namespace
}  // namespace ddpx
