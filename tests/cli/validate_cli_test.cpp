// ddpx-validate as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/golden.hpp"
#include "tests/support/program_test.hpp"

namespace ddpx {
namespace {

namespace fs = std::filesystem;
using test::ProgramResult;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string kRuns = "validation/runs/t4x2.json";

ProgramResult validate(const std::vector<std::string>& arguments,
                       const std::string& redirection = "", const std::string& input = "") {
  return test::run_program("ddpx-validate", arguments, redirection, input);
}

void expect_validate_refusal(const ProgramResult& result, const std::vector<std::string>& words) {
  test::expect_refusal("ddpx-validate", result, words);
}

class ValidateCli : public test::ProgramTest {};

std::string runs_with(const std::string& network, int gpus, const std::string& link,
                      const std::string& context = "") {
  return R"({"schema": "ddpx.runs", "schema_version": 1, "context": {)" + context +
         R"(}, "name": "small", "source": "a test", "rows": [
    {"network": ")" +
         network + R"(", "gpus": )" + std::to_string(gpus) + R"(, "link": ")" + link +
         R"(", "strategy": "ddp", "scaling": "weak",
     "dtype": "fp32", "optimizer": "sgd", "batch_per_rank": 256, "engine": "torch", "processes": [{"step_times_s": [0.05]}]}], "notes": []})";
}

constexpr const char* kLink =
    R"({"schema": "ddpx.link", "schema_version": 1, "context": {}, "name": "other", "topology": "pcie",
  "latency_s": {"value": 1e-5, "relative_error": 0.1, "origin": "a test"},
  "bandwidth_bytes_per_s": {"value": 1e10, "relative_error": 0.1, "origin": "a test"}, "channels": 2})";

TEST_F(ValidateCli, help_shows_what_works_and_nothing_else) {
  const ProgramResult help = validate({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.err, IsEmpty());
  test::expect_golden("validate_help.txt", help.out);
  std::istringstream lines(help.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST_F(ValidateCli, version_is_one_line) {
  const ProgramResult version = validate({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.out, testing::MatchesRegex("ddpx-validate [0-9]+\\.[0-9]+\\.[0-9]+.*\n"));
}

TEST_F(ValidateCli, says_the_verdict_first_and_fits_80_columns) {
  const ProgramResult result = validate({"--measured", kRuns});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, testing::StartsWith("The forecast step is "));
  EXPECT_THAT(result.err, HasSubstr("machine t4x2"));
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST_F(ValidateCli, says_where_runs_are_of_another_gpu) {
  const std::string runs = "validation/runs/t4x2.json";
  const ProgramResult other = validate({"--machine", "h200x2", "--measured", runs});
  EXPECT_THAT(other.err, testing::AllOf(HasSubstr("are of \"Tesla T4"),
                                        HasSubstr("\"h200x2\" is \"NVIDIA H200\"")));
  const ProgramResult same = validate({"--machine", "t4x2", "--measured", runs});
  EXPECT_THAT(same.err, Not(HasSubstr("are of")));
}

TEST_F(ValidateCli, writes_reports_charts_and_trace_and_says_where) {
  const ProgramResult result =
      validate({"--machine", "t4x2", "--measured", kRuns, "--markdown", path("r.md"), "--html",
                path("r.html"), "--trace", path("t.json")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(files(), testing::ElementsAre("r-communication.svg", "r-errors.svg", "r-speedup.svg",
                                            "r.html", "r.md", "t.json"));
  EXPECT_THAT(test::slurp(path("r.md")), HasSubstr("(r-speedup.svg)"));
  EXPECT_THAT(test::slurp(path("t.json")), HasSubstr("traceEvents"));
  EXPECT_THAT(result.out, HasSubstr("r.html"));
  EXPECT_THAT(result.out, HasSubstr("largest error"));
}

TEST_F(ValidateCli, the_same_inputs_give_the_same_bytes) {
  const auto once = validate({"--measured", kRuns, "--json"});
  const auto again = validate({"--measured", kRuns, "--json"});
  EXPECT_EQ(once.exit_code, 0);
  EXPECT_EQ(once.out, again.out);
  EXPECT_THAT(once.out, HasSubstr("\"median_abs_error\""));
}

TEST_F(ValidateCli, exits_with_1_outside_the_tolerance_and_writes_the_report_nevertheless) {
  const ProgramResult result = validate(
      {"--machine", "t4x2", "--measured", kRuns, "--tolerance", "0.01%", "--html", path("r.html")});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.lines(), 1) << result.err;
  EXPECT_THAT(result.err, HasSubstr("outside the tolerance of 0.01 %"));
  EXPECT_THAT(files(), testing::ElementsAre("r.html"));
  EXPECT_EQ(validate({"--measured", kRuns, "--tolerance", "90 %"}).exit_code, 0);
}

TEST_F(ValidateCli, reads_standard_input_and_several_files) {
  const std::string runs = runs_with("mlp:width=2048,depth=8", 2, "pcie");
  EXPECT_EQ(validate({"--measured", "-"}, "", runs).exit_code, 0);
  const ProgramResult two =
      validate({"--measured", kRuns, "--measured", write("a.json", runs), "--json"});
  EXPECT_EQ(two.exit_code, 0) << two.err;
  EXPECT_THAT(two.out, HasSubstr("\"small\""));
}

TEST_F(ValidateCli, runs_of_one_gpu_are_judged_without_links_verdicts_and_baselines) {
  const std::string runs = write("one.json", runs_with("mlp:width=2048,depth=8", 1, ""));
  const ProgramResult result = validate({"--measured", runs, "--markdown", path("one.md"), "--html",
                                         path("one.html"), "--trace", path("one-trace.json")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("one GPU, GPU-bound"));
  EXPECT_THAT(test::slurp(path("one.md")), HasSubstr("1 row of one GPU, the work alone"));
  for (const char* word : {"verdict", "aselines on", "speedups and"}) {
    EXPECT_THAT(result.out.substr(0, result.out.find("error of")), Not(HasSubstr(word)));
    EXPECT_THAT(result.out, Not(HasSubstr("Baselines on")));
  }
  EXPECT_THAT(validate({"--measured", runs, "--json"}).out, HasSubstr(R"("link": "one GPU")"));
  expect_validate_refusal(
      validate({"--measured", runs, "--link", "pcie=" + write("l.json", kLink)}),
      {"--link", "\"pcie\"", "of one GPU"});
}

TEST_F(ValidateCli, refuses_malformed_and_unknown_options) {
  expect_validate_refusal(validate({}), {"--measured", "is missing"});
  expect_validate_refusal(validate({"--measured"}), {"--measured", "needs a value"});
  expect_validate_refusal(validate({"--mesured", kRuns}), {"--mesured", "did you mean --measured"});
  expect_validate_refusal(validate({kRuns}), {"unexpected", "t4x2.json"});
  expect_validate_refusal(validate({"--measured", kRuns, "--run"}), {"--run", "--measured"});
  expect_validate_refusal(validate({"--measured", kRuns, "--run-torch"}),
                          {"--run-torch", "--measured"});
  expect_validate_refusal(validate({"--run", "--run-torch"}), {"--run-torch", "two engines"});
  expect_validate_refusal(validate({"--run-torch"}), {"--machine", "--run-torch"});
  for (const std::string tolerance :
       {"10", "0%", "-5%", "nan%", "inf%", "x", "5%%", "", "5 percent"}) {
    expect_validate_refusal(validate({"--measured", kRuns, "--tolerance", tolerance}),
                            {"--tolerance", "accepted: a percentage above 0"});
  }
  for (const std::string link : {"pcie", "=x.json", "pcie=", "="}) {
    expect_validate_refusal(validate({"--measured", kRuns, "--link", link}),
                            {"--link", "NAME=FILE"});
  }
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(ValidateCli, refuses_contradictory_and_ineffective_options) {
  expect_validate_refusal(
      validate({"--measured", kRuns, "--html", path("r"), "--trace", path("r")}),
      {"--html", "--trace", "same file"});
  expect_validate_refusal(validate({"--measured", kRuns, "--markdown", "-"}),
                          {"--markdown", "standard output"});
  expect_validate_refusal(validate({"--measured", kRuns, "--html", "-", "--json"}),
                          {"--html", "--json"});
  expect_validate_refusal(validate({"--measured", kRuns, "--measured", kRuns}),
                          {"--measured", "twice"});
  const std::string copy = write("runs.json", test::slurp(kRuns));
  expect_validate_refusal(validate({"--measured", copy, "--html", copy}), {"--html", "write over"});
  EXPECT_EQ(test::slurp(copy), test::slurp(kRuns));
  expect_validate_refusal(
      validate({"--measured", kRuns, "--link", "unused=calibration/links/interconnects.json",
                "--html", path("r.html")}),
      {"--link", "unused"});
  EXPECT_THAT(files(), testing::ElementsAre("runs.json"));
}

TEST_F(ValidateCli, refuses_files_that_are_no_runs_naming_file_and_place) {
  const std::string good = test::slurp(kRuns);
  const auto refused = [&](const std::string& text, const std::vector<std::string>& words) {
    expect_validate_refusal(
        validate({"--measured", write("runs.json", text), "--html", path("r.html")}), words);
  };
  refused("", {"runs.json"});
  refused(good.substr(0, good.size() / 2), {"runs.json"});
  refused(std::string("\x7f"
                      "ELF\0\1\2",
                      7),
          {"runs.json"});
  refused(test::slurp("calibration/machines/t4x2.json"), {"runs.json", "ddpx.machine"});
  refused(runs_with("mlp:width=2048,depth=8", 2, "pcei"),
          {"runs.json: rows[0].link", "pcei", "pcie"});
  refused(runs_with("mlp:widht=2048", 2, "pcie"), {"runs.json: rows[0].network", "widht"});
  refused(runs_with("nowhere.json", 2, "pcie"), {"runs.json: rows[0].network", "nowhere.json"});
  refused(runs_with("mlp:width=2048", 2, "pcie", R"("machine": "t4x3")"),
          {"runs.json: context.machine", "t4x3", "t4x2"});
  EXPECT_THAT(files(), testing::ElementsAre("runs.json"));
  expect_validate_refusal(validate({"--measured", path("none.json")}),
                          {"none.json", "cannot be read"});
}

TEST_F(ValidateCli, refuses_unknown_and_broken_machines) {
  expect_validate_refusal(validate({"--measured", kRuns, "--machine", "t4x22"}),
                          {"--machine", "did you mean t4x2"});
  expect_validate_refusal(validate({"--measured", kRuns, "--machine", kRuns}),
                          {kRuns, "ddpx.runs"});
}

TEST_F(ValidateCli, takes_the_machine_that_the_runs_name_and_a_link_by_file) {
  const std::string runs =
      write("runs.json", runs_with("mlp:width=2048,depth=8", 2, "mine", R"("machine": "t4x2")"));
  expect_validate_refusal(validate({"--measured", runs}), {"mine"});
  const ProgramResult result =
      validate({"--measured", runs, "--link", "mine=" + write("link.json", kLink)});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("named by"));
}

// Runs that name no machine are not silently those of two T4.
TEST_F(ValidateCli, says_which_machine_it_took_and_which_others_there_are) {
  const std::string runs = write("runs.json", runs_with("mlp:width=2048,depth=8", 2, "pcie", ""));
  const ProgramResult result = validate({"--measured", runs});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("machine t4x2, shipped"));
  EXPECT_THAT(result.err, HasSubstr("--machine takes another: t4x2-sustained, h200x2"));
}

TEST_F(ValidateCli, a_full_disk_is_an_error_and_leaves_no_half_file) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  expect_validate_refusal(validate({"--measured", kRuns, "--html", "/dev/full"}),
                          {"/dev/full", "cannot be written"});
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  const ProgramResult result = validate({"--measured", kRuns, "--json"}, ">/dev/full");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("standard output"));
  expect_validate_refusal(validate({"--measured", kRuns, "--markdown", path("none/r.md")}),
                          {"none/r.md", "cannot be written"});
  EXPECT_THAT(files(), IsEmpty());
}

// Runs of eight GPUs say in their context whether NCCL could reduce in the switch; where they say
// that it could not, the forecast is the ring's: slower, and surer.
TEST_F(ValidateCli, rows_that_ran_without_nvls_are_forecast_by_the_ring) {
  const auto step = [&](const std::string& context) {
    std::string text = runs_with("mlp:width=8192,depth=4", 8, "nvlink", context);
    const std::string batch = "\"batch_per_rank\": ";
    text.replace(text.find(batch), batch.size() + 3, batch + "8");  // communication is most of it
    const std::string runs = write("runs.json", text);
    const ProgramResult result = validate({"--machine", "h200x2", "--measured", runs, "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const auto member = [&](const std::string& name) {
      const std::size_t at = result.out.find(name, result.out.find("\"step_time_s\""));
      return std::stod(result.out.substr(at + name.size()));
    };
    return std::pair(member("\"value\": "), member("\"high\": ") / member("\"low\": "));
  };
  const auto either = step("");
  const auto ring = step(R"("NCCL_NVLS_ENABLE": "0")");
  EXPECT_GT(ring.first, 1.01 * either.first);
  EXPECT_LT(ring.second, either.second);
  EXPECT_EQ(step(R"("NCCL_NVLS_ENABLE": "1")"), either);
}

}  // namespace
}  // namespace ddpx
