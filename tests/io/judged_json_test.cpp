#include "io/judged_json.hpp"

#include <gtest/gtest.h>

#include "io/validation_json.hpp"
#include "tests/io/damaged.hpp"
#include "tests/io/forecasts.hpp"
#include "tests/support/expect_input_error.hpp"

namespace ddpx::io {
namespace {

Machine judged_machine() {
  Machine machine;
  machine.name = "box";
  machine.measurements_hash = "fnv1a64:12";
  return machine;
}

// What ddpx-validate writes of two rows, one without a one-GPU row beside it.
std::string written() {
  RunRow run;
  run.network = "mlp:width=4096,depth=8";
  run.link = "pcie";
  run.job.dtype = DType::bf16;
  run.job.strategy = parse_strategy("ddp,accumulate=4");
  ComparedRow row;
  row.run = &run;
  row.network = run.network;
  row.family = "accumulation";
  row.forecast = test::round_forecast();
  row.measured = {1.1 * row.forecast.step_time_s.value, 1, 2};
  row.measured_speedup = 0.9 * row.forecast.speedup.value;
  Comparison comparison;
  comparison.rows = {row, row};
  comparison.rows[1].measured_speedup.reset();
  const Machine machine = judged_machine();
  return to_json(
      ValidationDocument{machine.name, machine.measurements_hash, {"runs"}, comparison, {}},
      {{"os", "Linux"}});
}

std::vector<JudgedStep> read(std::string_view text, std::string_view place) {
  return judged_steps_from_json(text, place, judged_machine());
}

TEST(JudgedJson, steps_are_read_as_ddpx_validate_wrote_them) {
  const std::vector<JudgedStep> steps = read(written(), "validation.json");
  ASSERT_EQ(steps.size(), 2U);
  const StepKind kind{"pcie", 2, DType::bf16, Engine::torch, Regime::host_bound};
  EXPECT_EQ(steps[0].kind, kind);
  EXPECT_EQ(steps[0].network, "mlp:width=4096,depth=8");
  EXPECT_EQ(steps[0].family, "accumulation");
  EXPECT_NEAR(steps[0].step_ratio, 1.1, 1e-12);
  EXPECT_NEAR(steps[0].speedup_ratio.value(), 0.9, 1e-12);
  EXPECT_FALSE(steps[1].speedup_ratio);
}

TEST(JudgedJson, refuse_another_machine_and_what_is_no_validation) {
  test::expect_refused(
      written(), read,
      {{"\"machine\": \"box\",\n  \"machine_m",
        "\"machine\": \"other\",\n  \"machine_m",
        {"machine", "\"other\"", "\"box\"", "ddpx-validate --json"}},
       {"fnv1a64:12", "fnv1a64:13", {"machine_measurements", "fnv1a64:13", "fnv1a64:12"}},
       {"ddpx.validation", "ddpx.runs", {"ddpx.validation"}},
       {"\"gpus\": 2", "\"gpus\": 1", {"rows[0].gpus", "2 to"}},
       {"\"forecast_regime\": \"host_bound\"",
        "\"forecast_regime\": \"x\"",
        {"rows[0].forecast_regime", "host_bound"}},
       {"\"bf16\"", "\"fp8\"", {"rows[0].dtype"}},
       {"\"family\": \"accumulation\"", "\"family\": \"\"", {"rows[0].family"}}});
}

TEST(JudgedJson, refuse_ratios_that_are_no_step_of_the_same_job) {
  const std::string text = written();
  for (const char* bad : {"0", "-1", "1e-9", "1e12", "null", "\"1\""}) {
    SCOPED_TRACE(bad);
    const std::string key = "\"measured_step_time_s\": {";
    const std::size_t at = text.find("\"value\": ", text.find(key)) + 9;
    const std::string damaged =
        text.substr(0, at) + bad + text.substr(text.find_first_of(",}", at));
    test::expect_input_error([&] { (void)read(damaged, "v.json"); },
                             {"v.json", "rows[0].measured_step_time_s.value"});
  }
}

TEST(JudgedJson, a_damaged_file_is_refused_in_one_line_or_read) {
  test::expect_truncation_refused(written(), read);
  test::expect_no_worse_than_refused(written(), read);
}

}  // namespace
}  // namespace ddpx::io
