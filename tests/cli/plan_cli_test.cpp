// ddpx-predict asked for a decision, as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/predict_cli.hpp"

namespace ddpx {
namespace {

using test::expect_predict_refusal;
using test::predict;
using test::ProgramResult;
using testing::AllOf;
using testing::HasSubstr;
using Words = std::vector<std::string>;

constexpr const char* kPrices = R"({"schema": "ddpx.prices", "schema_version": 1, "context": {},
  "currency": "EUR", "machines": [{"name": "one", "gpus": 1, "price_per_hour": 0.15},
                                  {"name": "pair", "gpus": 2, "price_per_hour": 0.28}]})";

class PlanCli : public test::ProgramTest {
 protected:
  Words question_{"--machine", "t4x2", "--network", "mlp:width=1024", "--gpus", "1,2"};
  [[nodiscard]] Words with(const Words& more) const {
    Words all = question_;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

TEST_F(PlanCli, a_deadline_that_no_plan_meets_exits_with_1) {
  const std::string prices = write("prices.json", kPrices);
  const ProgramResult met =
      predict(with({"--price", prices, "--samples", "100M", "--deadline", "24h"}));
  EXPECT_EQ(met.exit_code, 0) << met.err;
  EXPECT_THAT(met.out, HasSubstr("Cheapest of 2 plans within 24.0 h: 1 GPU"));
  for (const Words& format : {Words{}, Words{"--json"}, Words{"--csv"}}) {
    Words words = with({"--price", "0.5", "--samples", "100M", "--deadline", "1min"});
    words.insert(words.end(), format.begin(), format.end());
    EXPECT_EQ(predict(words).exit_code, 1);
  }
}

TEST_F(PlanCli, prices_are_read_from_a_file_and_refused_by_its_name) {
  const std::string prices = write("prices.json", kPrices);
  EXPECT_THAT(predict(with({"--price", prices, "--json"})).out,
              AllOf(HasSubstr("\"price_per_hour\": 0.28"), HasSubstr("\"machine\": \"pair\"")));
  expect_predict_refusal(predict(with({"--price", "no-such.json"})), {"no-such.json"});
  expect_predict_refusal(predict(with({"--price", write("bad.json", "{")})), {"bad.json"});
  expect_predict_refusal(
      predict(with({"--price", write("machine.json", R"({"schema": "ddpx.machine"})")})),
      {"machine.json", "--machine"});
  expect_predict_refusal(predict(with({"--price", "2.5EUR"})), {"--price: '2.5EUR'"});
  Words four = with({"--price", prices});
  four[5] = "1,4";
  expect_predict_refusal(predict(four), {"--price", "4 GPUs", "leave that plan out"});
}

TEST_F(PlanCli, a_diagnosis_has_no_row_and_one_verdict) {
  const ProgramResult result = predict({"--diagnose", "t1=100ms,t4=180ms,busy4=50%", "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("\"rows\": []"), HasSubstr("\"verdict\": \"host\"")));
  expect_predict_refusal(predict({"--diagnose", "t1=100ms"}), {"--diagnose"});
  expect_predict_refusal(predict({"--rank-compute", "1s,2s"}), {"--rank-compute", "--diagnose"});
}

TEST_F(PlanCli, the_same_question_has_the_same_answer) {
  const Words words = with({"--critical-batch", "unknown", "--samples", "1M", "--loader-rate",
                            "50K", "--imbalance", "5%", "--straggler", "spread=2%", "--json"});
  EXPECT_EQ(predict(words).out, predict(words).out);
}

}  // namespace
}  // namespace ddpx
