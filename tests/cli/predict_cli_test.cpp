// ddpx-predict as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "tests/support/golden.hpp"
#include "tests/support/program.hpp"

namespace ddpx {
namespace {

using test::ProgramResult;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
namespace fs = std::filesystem;

using Words = std::vector<std::string>;

ProgramResult predict(const Words& arguments, const std::string& redirection = "",
                      const std::string& input = "") {
  return test::run_program("ddpx-predict", arguments, redirection, input);
}

void expect_refusal(const ProgramResult& result, const Words& words) {
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_EQ(result.lines(), 1) << result.err;
  EXPECT_THAT(result.err, StartsWith("ddpx-predict: "));
  EXPECT_THAT(result.out, IsEmpty());
  for (const std::string& word : words) EXPECT_THAT(result.err, HasSubstr(word));
}

class PredictCli : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::path(testing::TempDir()) / ("predict-cli-" + std::to_string(::getpid()));
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (directory_ / name).string();
  }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

 private:
  fs::path directory_;
};

TEST_F(PredictCli, a_bare_link_answers_and_says_what_it_took) {
  const ProgramResult result = predict({"--link", "nvlink"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("On 2 x Tesla T4 over nvlink2, training mlp:depth=8"));
  EXPECT_THAT(result.err, HasSubstr("machine t4x2, shipped"));
  EXPECT_THAT(result.err, HasSubstr("nvlink is nvlink2"));
}

TEST_F(PredictCli, its_help_is_the_golden_one_and_fits_eighty_columns) {
  const ProgramResult result = predict({"--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, IsEmpty());
  test::expect_golden("predict_help.txt", result.out);
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  EXPECT_EQ(predict({"-h"}).out, result.out);
}

TEST_F(PredictCli, the_version_is_one_line) {
  const ProgramResult result = predict({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, testing::MatchesRegex("ddpx-predict [0-9]+\\.[0-9]+\\.[0-9]+.*\n"));
}

TEST_F(PredictCli, the_same_question_gives_the_same_bytes) {
  const Words question{"--link", "nvlink", "--gpus", "2,4,8", "--crossover", "--json"};
  EXPECT_EQ(predict(question).out, predict(question).out);
}

TEST_F(PredictCli, json_and_csv_hold_the_same_rows) {
  const ProgramResult json = predict({"--link", "pcie4", "--json"});
  EXPECT_THAT(json.out, StartsWith("{\n  \"schema\": \"ddpx.forecast\""));
  EXPECT_THAT(json.out, HasSubstr("\"terms_s\""));
  const std::string csv = predict({"--link", "pcie4", "--csv"}).out;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 7);
  const std::size_t at = json.out.find("\"step_time_s\": {\"value\": ") + 25;
  EXPECT_THAT(csv, HasSubstr(json.out.substr(at, json.out.find(',', at) - at)));
}

TEST_F(PredictCli, lists_name_what_is_accepted) {
  const ProgramResult links = predict({"--list-links"});
  EXPECT_EQ(links.exit_code, 0);
  EXPECT_THAT(links.out, HasSubstr("nvlink4: "));
  EXPECT_THAT(links.out, HasSubstr("https://"));
  EXPECT_THAT(predict({"--list-machines"}).out, HasSubstr("t4x2"));
}

TEST_F(PredictCli, inputs_move_the_answer) {
  const Words base{"--network", "mlp:width=2048", "--csv"};
  const auto with = [&](const Words& more) {
    Words all = base;
    all.insert(all.end(), more.begin(), more.end());
    const ProgramResult result = predict(all);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  };
  const std::string plain = with({});
  for (const Words& more : std::initializer_list<Words>{{"--gpus", "4"},
                                                        {"--link", "nvlink"},
                                                        {"--batch", "512"},
                                                        {"--optimizer", "adamw"},
                                                        {"--scaling", "strong"},
                                                        {"--strategy", "ddp,accumulate=4"},
                                                        {"--engine", "native"},
                                                        {"--machine", "t4x2-sustained"},
                                                        {"--crossover"}}) {
    EXPECT_NE(with(more), plain) << more.front();
  }
}

TEST_F(PredictCli, wrong_flags_are_one_line_that_names_them) {
  expect_refusal(predict({"--lnk", "nvlink"}), {"--lnk", "--link"});
  expect_refusal(predict({"--link"}), {"--link", "needs a value"});
  expect_refusal(predict({"nvlink"}), {"'nvlink'"});
  expect_refusal(predict({"--gpus", "2", "--gpus", "4"}), {"--gpus", "more than once"});
  expect_refusal(predict({"--json=1"}), {"json", "no value"});
  expect_refusal(predict({"--link", "nvlnk"}), {"--link", "nvlnk", "nvlink"});
  expect_refusal(predict({"--link", "25gb/s,10us"}), {"--link", "gb/s", "GB/s"});
  expect_refusal(predict({"--link", "25GB/s"}), {"--link", "two figures"});
  expect_refusal(predict({"--machine", "t4"}), {"--machine", "t4", "t4x2"});
  expect_refusal(predict({"--network", "cnn:width=4"}), {"--network", "cnn"});
  expect_refusal(predict({"--network", "mlp:width=1e99"}), {"--network", "width"});
  expect_refusal(predict({"--strategy", "ddp,zero=9"}), {"--strategy", "zero=9"});
  expect_refusal(predict({"--dtype", "bf16"}), {"bf16", "fp32"});
  expect_refusal(predict({"--csv", "--json"}), {"--csv", "--json"});
  expect_refusal(predict({"--step-time", "120ms"}), {"--step-time", "--params"});
  expect_refusal(predict({"--link", std::string(100000, 'x')}), {"--link"});
  expect_refusal(predict({"--link", "a\nb\x1b[31m"}), {"--link"});
}

TEST_F(PredictCli, wrong_files_are_one_line_that_names_them) {
  expect_refusal(predict({"--machine", path("none.json")}), {"none.json"});
  expect_refusal(predict({"--machine", "/"}), {"/"});
  expect_refusal(predict({"--machine", write("empty.json", "")}), {"empty.json"});
  expect_refusal(predict({"--machine", write("cut.json", "{\"schema\": \"ddpx.machine\", ")}),
                 {"cut.json"});
  expect_refusal(predict({"--machine", write("runs.json", "{\"schema\": \"ddpx.runs\"}")}),
                 {"runs.json", "ddpx.runs"});
  expect_refusal(
      predict({"--machine", write("binary.json", std::string("\x7f\x45\x4c\x46\0\1", 6))}),
      {"binary.json"});
  expect_refusal(predict({"--machine", write("deep.json", std::string(200000, '['))}),
                 {"deep.json"});
  expect_refusal(predict({"--link", write("words.log", "no table here\n")}), {"words.log"});
  expect_refusal(predict({"--link", write("link.json", "{\"schema\": \"ddpx.links\"}")}),
                 {"link.json"});
  expect_refusal(predict({"--network", write("net.json", "{}")}), {"net.json"});
  expect_refusal(predict({"--machine", "-"}, "", "nonsense"), {"-"});
}

TEST_F(PredictCli, a_machine_may_come_from_standard_input) {
  const std::string shipped = test::slurp("calibration/machines/t4x2.json");
  const ProgramResult result = predict({"--machine", "-", "--csv"}, "", shipped);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, predict({"--machine", "t4x2", "--csv"}).out);
}

TEST_F(PredictCli, a_raw_nccl_tests_log_is_a_link) {
  const std::string log = write("box.log",
                                "# nThread 1 nGpus 2 minBytes 8 maxBytes 134217728\n"
                                "#  Rank  0 Pid  1 on  box device  0 [0x01] Tesla T4\n"
                                "#  Rank  1 Pid  1 on  box device  1 [0x02] Tesla T4\n"
                                "#       size         count      type   redop    root     time   "
                                "algbw   busbw #wrong     time   algbw   busbw #wrong\n"
                                "#        (B)    (elements)                               (us)  "
                                "(GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
                                "     1048576        262144     float     sum      -1    120.0    "
                                "8.74    8.74      0    121.0    8.67    8.67      0\n"
                                "     8388608       2097152     float     sum      -1    850.0    "
                                "9.87    9.87      0    851.0    9.86    9.86      0\n"
                                "    67108864      16777216     float     sum      -1   6700.0   "
                                "10.02   10.02      0   6701.0   10.01   10.01      0\n"
                                "   134217728      33554432     float     sum      -1  13390.0   "
                                "10.02   10.02      0  13391.0   10.02   10.02      0\n");
  const ProgramResult result = predict({"--link", log, "--network", "mlp:width=4096", "--explain"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("an nccl-tests log"));
  EXPECT_THAT(result.out, HasSubstr("Bus bandwidth of a large message: 10.0 GB/s"));
}

TEST_F(PredictCli, output_that_cannot_be_written_is_an_error) {
  const ProgramResult full = predict({"--link", "nvlink"}, ">/dev/full");
  EXPECT_EQ(full.exit_code, 2);
  EXPECT_THAT(full.err, HasSubstr("standard output"));
  EXPECT_EQ(predict({"--link", "nvlink"}, ">&-").exit_code, 2);
  EXPECT_EQ(predict({"--help"}, ">/dev/full").exit_code, 2);
}

TEST_F(PredictCli, a_link_that_explains_nothing_is_exit_one) {
  const ProgramResult result =
      predict({"--infer-link", "t1=1s,tn=1s", "--params", "1M", "--gpus", "2"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.lines(), 1) << result.err;
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_EQ(predict({"--infer-link", "t1=3s,tn=56s", "--params", "100M"}).exit_code, 0);
}

TEST_F(PredictCli, a_user_s_own_machine_comes_before_the_shipped_one) {
  const std::string shipped = test::slurp("calibration/machines/t4x2.json");
  const std::string own =
      std::regex_replace(shipped, std::regex("\"name\": \"t4x2\""), "\"name\": \"mine\"");
  const fs::path machines = fs::path(testing::TempDir()) /
                            ("ddpx-" + std::to_string(::getpid()) + ".data") / "ddpx" / "machines";
  fs::create_directories(machines);
  std::ofstream(machines / "mine.json", std::ios::binary) << own;
  const ProgramResult result = predict({"--link", "nvlink"});
  fs::remove_all(machines.parent_path().parent_path());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("last calibrated on this host"));
  EXPECT_THAT(result.out, HasSubstr("machine mine"));
  EXPECT_THAT(result.err, Not(HasSubstr("shipped")));
}

}  // namespace
}  // namespace ddpx
