// From a validation back to the next forecast: ddpx-validate --json, ddpx-predict --validation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "tests/support/program_test.hpp"

namespace ddpx {
namespace {

using test::ProgramResult;
using testing::HasSubstr;
using Words = std::vector<std::string>;

// Of the first row, by the name of its column.
std::string field(const std::string& csv, const std::string& name) {
  const auto cells = [&](std::size_t line) {
    Words result(1);
    bool quoted = false;
    for (const char c : csv.substr(line, csv.find('\r', line) - line)) {
      if (c == '"') quoted = !quoted;
      if (c == ',' && !quoted) {
        result.emplace_back();
      } else {
        result.back() += c;
      }
    }
    return result;
  };
  const Words names = cells(0);
  const Words values = cells(csv.find('\n') + 1);
  const auto column = std::find(names.begin(), names.end(), name);
  return column == names.end() ? "" : values.at(static_cast<std::size_t>(column - names.begin()));
}

class LearnedCli : public test::ProgramTest {
 protected:
  // The study's rows whose network is not `left_out`, judged.
  std::string validation(const std::string& left_out = "") const {
    const std::string runs = "validation/runs/t4x2.json";
    std::ifstream in(runs);
    std::string text;
    for (std::string line; std::getline(in, line);)
      if (left_out.empty() || line.find(left_out) == std::string::npos) text += line + "\n";
    const ProgramResult result = test::run_program(
        "ddpx-validate", {"--machine", "t4x2", "--measured", write("runs.json", text), "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return write("validation.json", result.out);
  }
  static ProgramResult predict(Words words) { return test::run_program("ddpx-predict", words); }
};

TEST_F(LearnedCli, the_next_forecast_has_the_intervals_of_the_steps_before) {
  const std::string file = validation("width=4096");
  const Words question{"--machine", "t4x2", "--link", "pcie", "--network", "mlp:width=4096"};
  Words with = question;
  with.insert(with.end(), {"--validation", file});
  const ProgramResult text = predict(with);
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("what judged steps were missed by"));
  with.emplace_back("--csv");
  Words without = question;
  without.emplace_back("--csv");
  const ProgramResult csv = predict(with);
  EXPECT_EQ(field(csv.out, "judged_steps"), "33");  // 44 less the eleven of width 4096
  const auto number = [&](const char* name) { return std::stod(field(csv.out, name)); };
  // A sixth to either side, where the constants' errors give 4.4 %.
  EXPECT_NEAR(number("step_time_s_high") / number("step_time_s"), 1.18, 0.03);
  EXPECT_NEAR(number("step_time_s_low") / number("step_time_s"), 1 / 1.18, 0.03);
  EXPECT_EQ(number("step_time_s"), std::stod(field(predict(without).out, "step_time_s")));
}

TEST_F(LearnedCli, what_a_validation_does_not_speak_of_is_refused) {
  const std::string file = validation();
  const auto refused = [&](Words words, const Words& says) {
    words.insert(words.end(), {"--validation", file});
    test::expect_refusal("ddpx-predict", predict(words), says);
  };
  refused({"--machine", "t4x2", "--link", "nvlink"},
          {"--validation", "cannot change the answer", "over nvlink2 on 2 GPUs", "over pcie"});
  refused({"--machine", "t4x2", "--link", "pcie", "--gpus", "4"}, {"cannot change the answer"});
  refused({"--machine", "t4x2", "--link", "pcie", "--strategy", "fsdp=block"},
          {"cannot change the answer", "fsdp=block"});
  refused({"--machine", "t4x2", "--link", "pcie", "--network", "gpt"},
          {"steps of gpt", "steps of mlp"});
  refused({"--machine", "t4x2", "--link", "pcie", "--straggler", "20%"}, {"--straggler"});
  refused({"--machine", "h200x2"}, {"\"t4x2\"", "\"h200x2\"", "ddpx-validate --json"});
  refused({"--machine", "t4x2", "--rank-strategies"}, {"--validation", "--rank-strategies"});
  refused({"--machine", "t4x2", "--infer-link", "t1=1ms,t2=2ms", "--params", "1M"},
          {"--validation", "--infer-link"});
}

// The same names, and not what was judged.
TEST_F(LearnedCli, a_link_and_a_machine_that_have_changed_are_refused) {
  const std::string file = validation();
  std::ostringstream text;
  text << std::ifstream("calibration/machines/t4x2.json").rdbuf();
  std::string machine = text.str();
  const std::size_t at = machine.find("\"optimizer_bandwidth_bytes_per_s\"");
  ASSERT_NE(at, std::string::npos);
  const std::size_t value = machine.find("\"value\": ", at) + 9;
  machine.replace(value, 1, "1");
  test::expect_refusal(
      "ddpx-predict",
      predict({"--machine", write("t4x2.json", machine), "--link", "pcie", "--validation", file}),
      {"--validation", "has changed", "judge the runs again"});
  const std::string link = write("link.json", R"({"schema": "ddpx.link", "schema_version": 1,
  "context": {}, "name": "pcie", "topology": "pcie", "figures": {"latency_s": 1e-5,
  "bus_bandwidth_bytes_per_s": 1.2e10}})");
  EXPECT_EQ(predict({"--machine", "t4x2", "--link", link, "--validation", file}).exit_code, 2);
}

TEST_F(LearnedCli, steps_too_few_for_an_interval_are_refused) {
  const std::string runs = write("runs.json", R"({"schema": "ddpx.runs", "schema_version": 1,
  "context": {}, "name": "two", "source": "none", "rows": [
  {"network": "mlp:width=1024,depth=8", "gpus": 2, "link": "pcie", "strategy": "ddp",
   "scaling": "weak", "dtype": "fp32", "optimizer": "sgd", "batch_per_rank": 256,
   "engine": "torch", "processes": [{"step_times_s": [0.012]}]}], "notes": []})");
  const ProgramResult judged =
      test::run_program("ddpx-validate", {"--machine", "t4x2", "--measured", runs, "--json"});
  const ProgramResult result =
      predict({"--machine", "t4x2", "--link", "pcie", "--validation", write("v.json", judged.out)});
  test::expect_refusal("ddpx-predict", result, {"--validation", "no kind has nine"});
}

}  // namespace
}  // namespace ddpx
