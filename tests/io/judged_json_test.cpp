#include "io/judged_json.hpp"

#include <gtest/gtest.h>

#include "io/validation_json.hpp"
#include "tests/io/damaged.hpp"
#include "tests/io/forecasts.hpp"
#include "tests/support/expect_input_error.hpp"

namespace ddpx::io {
namespace {

Job judged_job() {
  Job job;
  job.gpus = 4;
  job.batch_per_rank = 256;
  job.scaling = Scaling::strong;
  job.dtype = DType::bf16;
  job.optimizer = Optimizer::adamw;
  job.strategy = parse_strategy("ddp,accumulate=4");
  job.graphs = true;
  return job;
}

// What ddpx-validate writes of two rows, one without a one-GPU row beside it.
std::string written_rows() {
  RunRow run;
  run.network = "mlp:width=4096,depth=8";
  run.link = "pcie";
  run.job = judged_job();
  ComparedRow row;
  row.run = &run;
  row.network = run.network;
  row.forecast = test::round_forecast();
  row.measured = {1.1 * row.forecast.step_time_s.value, 1, 2};
  row.measured_speedup = 0.9 * row.forecast.speedup.value;
  Comparison comparison;
  comparison.rows = {row, row};
  comparison.rows[1].measured_speedup.reset();
  return to_json(ValidationDocument{"box", {"runs"}, comparison, {}}, {{"os", "Linux"}});
}

std::vector<JudgedRow> read_rows(std::string_view text, std::string_view place) {
  return judged_rows_from_json(text, place, "box");
}

TEST(JudgedJson, rows_are_read_as_ddpx_validate_wrote_them) {
  const std::vector<JudgedRow> rows = read_rows(written_rows(), "validation.json");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].network, "mlp:width=4096,depth=8");
  EXPECT_EQ(rows[0].link, "pcie");
  EXPECT_EQ(rows[0].job, judged_job());
  EXPECT_NEAR(rows[0].measured_s / rows[0].step_s, 1.1, 1e-12);
  EXPECT_NEAR(rows[0].speedup_ratio.value(), 0.9, 1e-12);
  EXPECT_FALSE(rows[1].speedup_ratio);
}

TEST(JudgedJson, refuse_another_machine_and_what_is_no_validation) {
  test::expect_refused(
      written_rows(), read_rows,
      {{"\"machine\": \"box\"",
        "\"machine\": \"other\"",
        {"machine", "\"other\"", "\"box\"", "ddpx-validate --json"}},
       {"ddpx.validation", "ddpx.runs", {"ddpx.validation"}},
       {"\"gpus\": 4", "\"gpus\": 1", {"rows[0].gpus", "one GPU alone"}},
       {"\"gpus\": 4", "\"gpus\": 0", {"rows[0].gpus", "1 to"}},
       {"\"batch_per_rank\": 64", "\"batch_per_rank\": 0", {"rows[0].batch_per_rank"}},
       {"\"ddp,accumulate=4\"", "\"banana\"", {"rows[0].strategy", "banana"}},
       {"\"link\": \"pcie\"", "\"link\": \"\"", {"rows[0].link"}},
       {"\"bf16\"", "\"fp8\"", {"rows[0].dtype"}}});
}

TEST(JudgedJson, refuse_ratios_that_are_no_step_of_the_same_job) {
  const std::string text = written_rows();
  for (const char* bad : {"0", "-1", "1e-9", "1e12", "null", "\"1\""}) {
    SCOPED_TRACE(bad);
    const std::string key = "\"measured_step_time_s\": {";
    const std::size_t at = text.find("\"value\": ", text.find(key)) + 9;
    const std::string damaged =
        text.substr(0, at) + bad + text.substr(text.find_first_of(",}", at));
    test::expect_input_error([&] { (void)read_rows(damaged, "v.json"); },
                             {"v.json", "rows[0].measured_step_time_s.value"});
  }
}

TEST(JudgedJson, a_damaged_file_is_refused_in_one_line_or_read) {
  test::expect_truncation_refused(written_rows(), read_rows);
  test::expect_no_worse_than_refused(written_rows(), read_rows);
}

}  // namespace
}  // namespace ddpx::io
