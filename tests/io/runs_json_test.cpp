#include "io/runs_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tests/io/damaged.hpp"

namespace ddpx::io {
namespace {

Runs full_runs() {
  Runs runs;
  runs.name = "t4x2";
  runs.source = "a published study";
  runs.origin = Origin::imported;
  runs.context = {{"torch", "2.10"}};
  RunRow plain;
  plain.network = "mlp:width=1024,depth=8";
  plain.job.gpus = 1;
  plain.processes = {{{0.01, 0.0101}}};
  plain.device_busy_share = 0.95;
  RunRow row;
  row.network = "mlp:width=1024,depth=8";
  row.link = "pcie3";
  row.job = {2,
             128,
             Scaling::strong,
             DType::bf16,
             Optimizer::adamw,
             Engine::torch,
             parse_strategy("ddp,accumulate=8,compress=fp16,bucket=100MiB"),
             true};
  row.processes = {{{0.03, 0.031}}, {{0.029}}, {{0.0305}}};
  row.measured_communication_share = 0.4;
  row.timeline.spans = {{"forward 0", Stream::compute, Seconds(0), Seconds(0.01)},
                        {"all-reduce 0", Stream::communication, Seconds(0.01), Seconds(0.03)}};
  row.note = "a clock dropped";
  row.context = {{"clock", "585 MHz"}};
  runs.rows = {plain, row};
  runs.notes = {"n"};
  return runs;
}

// The example in docs/files.md: what stands indented from the schema to the next paragraph.
std::string documented() {
  std::ostringstream text;
  text << std::ifstream("docs/files.md").rdbuf();
  const std::string page = text.str();
  const std::size_t begin = page.find("    {\"schema\": \"ddpx.runs\"");
  return page.substr(begin, page.find("\n\n", begin) - begin);
}

TEST(RunsJson, the_documented_runs_are_read_with_the_forecasts_defaults) {
  const Runs runs = runs_from_json(documented(), "docs/files.md");
  ASSERT_EQ(runs.rows.size(), 2U);
  EXPECT_EQ(runs.rows[0].job.gpus, 1);
  EXPECT_EQ(describe(runs.rows[0].job.strategy), "ddp");
  const Job& two = runs.rows[1].job;
  EXPECT_EQ(two.scaling, Scaling::weak);
  EXPECT_EQ(two.dtype, DType::fp32);
  EXPECT_EQ(two.optimizer, Optimizer::sgd);
  EXPECT_EQ(two.strategy.micro_batches, 2);
  EXPECT_EQ(runs.rows[1].processes.size(), 2U);
}

TEST(RunsJson, what_was_written_is_read_back_field_by_field) {
  const Runs runs = full_runs();
  const Runs read = runs_from_json(to_json(runs), "given.json");
  EXPECT_EQ(read.name, runs.name);
  EXPECT_EQ(read.source, runs.source);
  EXPECT_EQ(read.origin, runs.origin);
  EXPECT_EQ(read.context, runs.context);
  EXPECT_EQ(read.notes, runs.notes);
  ASSERT_EQ(read.rows.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const RunRow& a = read.rows[i];
    const RunRow& b = runs.rows[i];
    EXPECT_EQ(a.network, b.network);
    EXPECT_EQ(a.link, b.link);
    EXPECT_EQ(a.job.gpus, b.job.gpus);
    EXPECT_EQ(a.job.batch_per_rank, b.job.batch_per_rank);
    EXPECT_EQ(a.job.scaling, b.job.scaling);
    EXPECT_EQ(a.job.dtype, b.job.dtype);
    EXPECT_EQ(a.job.optimizer, b.job.optimizer);
    EXPECT_EQ(a.job.engine, b.job.engine);
    EXPECT_EQ(a.job.graphs, b.job.graphs);
    EXPECT_EQ(describe(a.job.strategy), describe(b.job.strategy));
    EXPECT_EQ(a.device_busy_share, b.device_busy_share);
    EXPECT_EQ(a.measured_communication_share, b.measured_communication_share);
    ASSERT_EQ(a.timeline.spans.size(), b.timeline.spans.size());
    for (std::size_t j = 0; j < a.timeline.spans.size(); ++j) {
      EXPECT_EQ(a.timeline.spans[j].name, b.timeline.spans[j].name);
      EXPECT_EQ(a.timeline.spans[j].stream, b.timeline.spans[j].stream);
      EXPECT_EQ(a.timeline.spans[j].start, b.timeline.spans[j].start);
      EXPECT_EQ(a.timeline.spans[j].end, b.timeline.spans[j].end);
    }
    EXPECT_EQ(a.note, b.note);
    EXPECT_EQ(a.context, b.context);
    ASSERT_EQ(a.processes.size(), b.processes.size());
    for (std::size_t p = 0; p < a.processes.size(); ++p) {
      EXPECT_EQ(a.processes[p].step_times_s, b.processes[p].step_times_s);
    }
  }
  EXPECT_EQ(to_json(read), to_json(runs));
}

TEST(RunsJson, the_engine_of_rows_is_the_origin_of_the_file) {
  Runs runs = full_runs();
  runs.origin = Origin::native;
  EXPECT_THROW((void)to_json(runs), std::logic_error) << "torch rows in a native file";
  for (RunRow& row : runs.rows) row.job.engine = Engine::native;
  const Runs read = runs_from_json(to_json(runs), "given.json");
  EXPECT_EQ(read.origin, Origin::native);
  EXPECT_EQ(read.rows[1].job.engine, Engine::native);
  test::expect_refused(to_json(runs), runs_from_json,
                       {{"\"native\"", "\"torch\"", {"rows[1].engine: is \"native\"", "split"}}});
}

TEST(RunsJson, damaged_files_are_refused_by_path_and_value) {
  test::expect_refused(
      to_json(full_runs()), runs_from_json,
      {{"ddpx.runs", "ddpx.machine", {"take it as --machine"}},
       {"\"gpus\": 2", "\"gpus\": 0", {"rows[1].gpus: is 0; accepted: a whole number from 1"}},
       {"\"gpus\": 2", "\"gpus\": -2", {"rows[1].gpus: is -2"}},
       {"\"gpus\": 2", "\"gpus\": 2.5", {"rows[1].gpus: is 2.5"}},
       {"\"gpus\": 2", "\"gpus\": \"2x8\"", {"rows[1].gpus: is \"2x8\""}},
       {"\"step_times_s\": [0.029]",
        "\"step_times_s\": []",
        {"processes[1].step_times_s: is empty"}},
       {"\"step_times_s\": [0.029]",
        "\"step_times_s\": [0]",
        {"processes[1].step_times_s[0]: is 0"}},
       {"\"step_times_s\": [0.029]", "\"step_times_s\": [-1]", {"step_times_s[0]: is -1"}},
       {"\"step_times_s\": [0.029]", "\"step_times_s\": [NaN]", {"NaN and Infinity"}},
       {"\"step_times_s\": [0.029]", "\"step_times_s\": [\"\"]", {"is \"\""}},
       {"[{\"step_times_s\": [0.01, 0.0101]}]", "[]", {"rows[0].processes: is empty"}},
       {"\"link\": \"pcie3\"", "\"link\": \"\"", {"rows[1].link: is \"\""}},
       {"\"batch_per_rank\": 128",
        "\"batch_per_rank\": 1",
        {"rows[1].batch_per_rank: is 1", "strong scaling", "2 ranks"}},
       {"\"batch_per_rank\": 128", "\"batch_per_rank\": 0", {"rows[1].batch_per_rank: is 0"}},
       {"\"batch_per_rank\": 128", "\"batch_per_rank\": 128.5", {"is 128.5; accepted: a whole"}},
       {"\"scaling\": \"strong\"",
        "\"scaling\": \"super\"",
        {"is \"super\"; accepted: weak, strong"}},
       {"\"engine\": \"imported\"", "\"engine\": \"jax\"", {"accepted: native, torch, imported"}},
       {"ddp,accumulate=8",
        "ddp,acumulate=8",
        {"rows[1].strategy: 'acumulate=8' is not a strategy", "accumulate=K"}},
       {"ddp,accumulate=8", "ddp\\n,accumulate=8", {"rows[1].strategy", "no control characters"}},
       {"\"device_busy_share\": 0.95", "\"device_busy_share\": 95", {"from 0 to 1"}},
       {"\"stream\": \"communication\"",
        "\"stream\": \"river\"",
        {"rows[1].timeline[1].stream", "compute, communication, host"}},
       {"\"end_s\": 0.03", "\"end_s\": 0.003", {"timeline[1].end_s: is 0.003", "start_s"}},
       {"\"optimizer\": \"adamw\"", "\"optimizer\": \"lion\"", {"accepted: sgd, adamw"}},
       {"\"notes\"", "\"note\"", {"did you mean notes?"}}});
}

TEST(RunsJson, a_file_without_rows_is_refused) {
  Runs runs = full_runs();
  runs.rows.clear();
  test::expect_input_error([&] { (void)runs_from_json(to_json(runs), "given.json"); },
                           {"given.json: rows: is empty"});
}

TEST(RunsJson, truncated_files_are_refused) {
  test::expect_truncation_refused(to_json(full_runs()), runs_from_json);
}

TEST(RunsJson, no_damaged_byte_does_worse_than_one_line) {
  test::expect_no_worse_than_refused(to_json(full_runs()), runs_from_json);
}

TEST(RunsJson, binary_and_other_formats_are_refused) {
  for (const std::string& text : {std::string(1000, '\xff'), std::string("a,b\n1,2\n"),
                                  std::string("\x89PNG\r\n\x1a\n"), std::string(1000, '\0')}) {
    test::expect_input_error([&] { (void)runs_from_json(text, "given.json"); },
                             {"given.json: is not JSON"});
  }
}

}  // namespace
}  // namespace ddpx::io
