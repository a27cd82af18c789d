// ddpx-validate --run as a user runs it: real ranks, real training.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "io/file.hpp"
#include "io/runs_json.hpp"
#include "profiler/backends.hpp"
#include "tests/support/program_test.hpp"
#include "tests/support/small_disk.hpp"

namespace ddpx {
namespace {

namespace fs = std::filesystem;
using test::ProgramResult;
using testing::HasSubstr;
using testing::Not;

const std::string kGpuMachine = "calibration/machines/t4x2.json";
const std::string kLink = "pcie3=calibration/links/interconnects.json";

class ValidateRun : public test::ProgramTest {
 protected:
  // A machine of cores, so that its steps are those of cores wherever this runs. What it forecasts
  // is not looked at here. Not in path(), which some tests replace.
  ValidateRun() {
    std::string text = io::read_text(kGpuMachine);
    const std::string gpu = "\"multiprocessors\": 40";
    text.replace(text.find(gpu), gpu.size(), "\"multiprocessors\": 0");
    io::write_text(machine_, text);
  }
  ~ValidateRun() override { fs::remove(machine_); }

  const std::string machine_ =
      testing::TempDir() + "ddpx-cores-" + std::to_string(::getpid()) + ".json";

  // With a link of the machine's table, so that the forecast knows it.
  [[nodiscard]] ProgramResult run(std::vector<std::string> arguments) const {
    std::vector<std::string> all{"--run", "--machine", machine_, "--runs", path("runs.json")};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return test::run_program("ddpx-validate", all);
  }
  // Does `action` once both ranks of the second process set that has a rank 1, which is $p, say on
  // their job's board that they train: a set is finished by then. Whose command line matches
  // `pattern` is a rank of this test.
  void while_the_second_set_trains(const std::string& pattern, const std::string& action) const {
    io::write_text(path("meanwhile.sh"), R"sh(
      first=
      for i in $(seq 4000); do
        for p in $(pgrep -f -- "--as-rank cpu.*$1"); do
          variable() { tr '\0' '\n' </proc/$p/environ | sed -n "s/^$1=//p"; }
          [ "$(variable OMPI_COMM_WORLD_RANK)" = 1 ] || continue
          first=${first:-$p}
          [ $p = $first ] && continue
          [ $(grep -ao "$1" "$(variable DDPX_JOB_DIRECTORY)/board" | wc -l) -ge 2 ] || continue
          )sh" + action + R"sh(
          exit 0
        done
        sleep 0.05
      done)sh");
    const std::string command = "bash " + test::shell_quoted(path("meanwhile.sh")) + " " +
                                test::shell_quoted(pattern) + " 2>/dev/null &";
    ASSERT_EQ(std::system(command.c_str()), 0);
  }
  [[nodiscard]] Runs runs() const {
    return io::runs_from_json(io::read_text(path("runs.json")), path("runs.json"));
  }
};

TEST_F(ValidateRun, trains_every_row_in_three_fresh_process_sets_and_once_alone) {
  io::write_text(path("rows.json"), R"({"schema": "ddpx.runs", "schema_version": 1, "context": {},
    "name": "rows", "source": "", "notes": [], "rows": [
      {"network": "mlp:width=32,depth=2", "gpus": 2, "link": "pcie3", "strategy": "ddp,compress=fp16",
       "scaling": "weak", "dtype": "fp32", "optimizer": "sgd", "batch_per_rank": 8},
      {"network": "mlp:width=32,depth=2", "gpus": 2, "link": "pcie3", "strategy": "fsdp=unit",
       "scaling": "strong", "dtype": "fp32", "optimizer": "sgd", "batch_per_rank": 8},
      {"network": "mlp:width=32,depth=2", "gpus": 2, "link": "pcie3", "strategy": "fsdp=block",
       "scaling": "weak", "dtype": "fp32", "optimizer": "adamw", "batch_per_rank": 8}]})");
  const ProgramResult result = run({"--rows", path("rows.json"), "--seed", "4"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Runs measured = runs();
  ASSERT_EQ(measured.rows.size(), 5U);  // the first two are compared with one row on one rank
  EXPECT_EQ(measured.rows[3].job.gpus, 1);
  EXPECT_GT(measured.rows[3].device_busy_share.value(), 0);
  EXPECT_EQ(measured.rows[4].job.optimizer, Optimizer::adamw);
  EXPECT_TRUE(measured.rows[0].measured_communication_share.has_value());
  for (const RunRow& row : measured.rows) {
    EXPECT_EQ(row.link, "pcie3");
    ASSERT_EQ(row.processes.size(), 3U);
    for (const RunProcess& process : row.processes) EXPECT_GE(process.step_times_s.size(), 3U);
  }
  EXPECT_THAT(measured.notes, testing::Contains(HasSubstr("seed 4")));
  EXPECT_THAT(result.out, HasSubstr("3 rows"));
}

TEST_F(ValidateRun, a_sweep_is_run_at_every_width_and_the_file_can_be_judged_again) {
  const ProgramResult result =
      run({"--sweep", "width=16:64", "--network", "mlp:depth=2", "--batch", "4", "--link", kLink});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Runs measured = runs();
  ASSERT_EQ(measured.rows.size(), 6U);
  EXPECT_EQ(measured.rows[2].network, "mlp:depth=2,width=64");
  EXPECT_EQ(measured.rows[2].link, "pcie3");
  const ProgramResult again = test::run_program(
      "ddpx-validate", {"--measured", path("runs.json"), "--machine", machine_, "--link", kLink});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.out, result.out);
}

TEST_F(ValidateRun, a_trace_shows_the_measured_step_beside_the_forecast_one) {
  const ProgramResult result = run({"--network", "mlp:width=64,depth=2", "--batch", "16", "--link",
                                    kLink, "--trace", path("trace.json")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string trace = io::read_text(path("trace.json"));
  for (const char* process : {R"("pid":0)", R"("pid":1)"}) {
    for (const char* span : {"forward 0", "backward 1", "all-reduce 0", "optimizer 0"}) {
      EXPECT_THAT(trace,
                  testing::ContainsRegex("\"name\":\"" + std::string(span) + "\",[^}]*" + process));
    }
  }
  EXPECT_THAT(trace, HasSubstr("wait 0"));  // the engine's own
  for (const RunRow& row : runs().rows) EXPECT_FALSE(row.timeline.spans.empty());
}

TEST_F(ValidateRun, an_unknown_link_is_refused_before_anything_runs) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{}, {"--link", "shm=" + path("none.json")}}) {
    const ProgramResult result = run(arguments);  // two T4 have no link called shm
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.lines(), 1) << result.err;
    EXPECT_FALSE(fs::exists(path("runs.json")));
  }
}

TEST_F(ValidateRun, what_makes_no_sense_is_refused_before_anything_runs) {
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& says) {
    const ProgramResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr(says));
    EXPECT_EQ(result.lines(), 1) << result.err;
    EXPECT_FALSE(fs::exists(path("runs.json")));
  };
  refused({"--network", "gpt:layers=2"}, "multilayer perceptrons");
  refused({"--network", "network.json"}, "mlp:");
  refused({"--processes", "2"}, "--processes");
  refused({"--batch", "0"}, "--batch");
  refused({"--batch", "1.5"}, "--batch");
  refused({"--gpus", "2,x"}, "--gpus");
  refused({"--transport", "pigeon"}, "shm");
  refused({"--sweep", "width"}, "--sweep");
  refused({"--strategy", "ddp,fsdp"}, "--strategy");
  refused({"--rows", path("none.json")}, "none.json");
  refused({"--rows", "validation/runs/t4x2.json", "--batch", "8"}, "--rows");
  refused({"--seed", "-1"}, "--seed");
  refused({"--dtype", "bf16"}, "--dtype: a row asks for bf16; CPU ranks train in fp32");
  refused({"--dtype", "int8"}, "--dtype: 'int8'");
  refused({"--optimizer", "lion"}, "sgd, adamw");
  refused({"--graphs"}, "--graphs: CPU ranks");
  refused({"--measured", "validation/runs/t4x2.json"}, "--measured");
}

TEST_F(ValidateRun, options_of_run_without_it_are_refused) {
  const ProgramResult result = test::run_program(
      "ddpx-validate", {"--measured", "validation/runs/t4x2.json", "--processes", "5"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--processes"));
}

TEST_F(ValidateRun, a_file_that_cannot_be_written_is_said_before_the_measuring) {
  const ProgramResult result =
      test::run_program("ddpx-validate", {"--run", "--machine", machine_, "--runs",
                                          path("no/such/folder/runs.json"), "--link", kLink});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--runs"));
  for (const char* report : {"--markdown", "--html", "--trace"}) {
    const ProgramResult refused = run({report, path("no/such/folder/report"), "--link", kLink});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr(report));
    EXPECT_EQ(refused.lines(), 1) << refused.err;
    EXPECT_FALSE(fs::exists(path("runs.json")));
  }
}

TEST_F(ValidateRun, one_rank_alone_is_judged_by_its_step) {
  const ProgramResult result = run({"--gpus", "1"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("one GPU, "));
  EXPECT_THAT(result.out, Not(HasSubstr("Baselines")));
  const Runs runs = io::runs_from_json(test::slurp(path("runs.json")), "runs.json");
  ASSERT_EQ(runs.rows.size(), 1U);
  EXPECT_EQ(runs.rows[0].job.gpus, 1);
}

TEST_F(ValidateRun, a_machine_of_gpus_judged_on_cores_is_said) {
  if (visible_gpus() > 0) GTEST_SKIP() << "there are GPUs here";
  const ProgramResult result = test::run_program(
      "ddpx-validate",
      {"--run", "--machine", kGpuMachine, "--runs", path("runs.json"), "--network",
       "mlp:width=32,depth=2", "--batch", "8", "--link", kLink, "--markdown", path("report.md")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string said = "was measured on Tesla T4; this host shows no GPU";
  EXPECT_THAT(result.err, HasSubstr(said));
  EXPECT_THAT(io::read_text(path("report.md")), HasSubstr(said));
}

TEST_F(ValidateRun, the_rank_word_alone_starts_nothing) {
  EXPECT_EQ(test::run_program("ddpx-validate", {"--as-rank", "cpu", "{}"}).exit_code, 2);
}

TEST_F(ValidateRun, a_full_disk_is_said_leaves_no_half_file_and_the_steps_are_kept_elsewhere) {
  if (!test::can_mount()) GTEST_SKIP() << "no mount namespaces here";
  const test::DiskResult result =
      test::run_on(test::Disk::full, path(""), "ddpx-validate",
                   {"--run", "--machine", machine_, "--runs", path("runs.json"), "--network",
                    "mlp:width=32,depth=2", "--batch", "8", "--link", kLink});
  EXPECT_EQ(result.program.exit_code, 2);
  EXPECT_EQ(result.program.lines(), 1) << result.program.err;
  EXPECT_THAT(result.program.err, HasSubstr(path("runs.json") + ": cannot be written: No space"));
  EXPECT_EQ(result.left, "filler\n");
  const std::string kept = test::kept_file(result.program.err);
  ASSERT_NE(kept, "") << result.program.err;
  EXPECT_EQ(io::runs_from_json(io::read_text(kept), kept).rows.size(), 2U);
  fs::remove(kept);
}

TEST_F(ValidateRun, without_permission_to_write_nothing_is_run) {
  if (!test::can_mount()) GTEST_SKIP() << "no mount namespaces here";
  const test::DiskResult result =
      test::run_on(test::Disk::read_only, path(""), "ddpx-validate",
                   {"--run", "--machine", machine_, "--runs", path("runs.json"), "--link", kLink});
  EXPECT_EQ(result.program.exit_code, 2);
  EXPECT_EQ(result.program.lines(), 1) << result.program.err;
  EXPECT_THAT(result.program.err, HasSubstr("--runs: '" + path("runs.json") +
                                            "' cannot be written: Read-only file system"));
  EXPECT_EQ(result.left, "filler\n");
}

TEST_F(ValidateRun, an_interrupt_ends_it_with_130_leaves_no_process_and_what_is_finished_is_kept) {
  while_the_second_set_trains("width=77[8]", "pkill -INT -f 'ddpx-validate --run .*width=77[8]'");
  const ProgramResult result =
      run({"--network", "mlp:width=778,depth=4", "--batch", "32", "--link", kLink});
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_THAT(result.err, testing::ContainsRegex("interrupted; [0-9]+ of 6 runs are kept"));
  EXPECT_EQ(result.lines(), 1) << result.err;
  EXPECT_FALSE(runs().rows.empty());
  EXPECT_NE(std::system("pgrep -f -- '--as-rank cpu.*width=77[8]' >/dev/null"), 0);
}

TEST_F(ValidateRun,
       a_killed_rank_ends_the_run_is_named_leaves_no_process_and_what_is_finished_is_kept) {
  while_the_second_set_trains("width=77[7]", "kill -9 $p");
  const ProgramResult result =
      run({"--network", "mlp:width=777,depth=4", "--batch", "32", "--link", kLink});
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_THAT(result.err, HasSubstr("rank 1"));
  EXPECT_THAT(result.err, HasSubstr("mlp:width=777"));
  EXPECT_THAT(result.err, HasSubstr("of 6 runs are kept in " + path("runs.json")));
  EXPECT_EQ(result.lines(), 1) << result.err;
  const Runs kept = runs();
  ASSERT_FALSE(kept.rows.empty());
  EXPECT_EQ(kept.rows.front().processes.size(), 1U);
  EXPECT_NE(std::system("pgrep -f -- '--as-rank cpu.*width=77[7]' >/dev/null"), 0);
}

}  // namespace
}  // namespace ddpx
