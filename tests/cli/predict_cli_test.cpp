// ddpx-predict as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "tests/cli/predict_cli.hpp"
#include "tests/support/golden.hpp"

namespace ddpx {
namespace {

namespace fs = std::filesystem;
using test::expect_predict_refusal;
using test::predict;
using test::ProgramResult;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

using Words = std::vector<std::string>;

class PredictCli : public test::ProgramTest {};

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

// A refusal names the flag that gave what is refused.
TEST_F(PredictCli, links_and_machines_are_refused_by_their_flag) {
  expect_predict_refusal(predict({"--link", "nvlink4", "--gpus", "2x8", "--inter-link", "pcie3"}),
                         {"--inter-link: 'pcie3' joins the GPUs of one host"});
  expect_predict_refusal(predict({"--link", "nvlink4", "--gpus", "2x8", "--inter-link", "nosuch"}),
                         {"--inter-link: knows no link \"nosuch\""});
  expect_predict_refusal(predict({"--link", "nvlink4", "--gpus", "2x8", "--inter-link", "25GB/s"}),
                         {"--inter-link: '25GB/s' needs two figures"});
  expect_predict_refusal(predict({"--link", "nvlink2-bridge", "--gpus", "4"}),
                         {"--link: 'nvlink2-bridge' joins at most 2 GPUs"});
  expect_predict_refusal(predict({"--link", "nvlink", "--dtype", "bf16"}),
                         {"--machine: 't4x2' has no measured product in bf16"});
}

TEST_F(PredictCli, names_in_utf8_are_printed_as_they_are) {
  const auto named = [&](const std::string& name) {
    return predict({"--link", write("link.json", R"({"schema": "ddpx.links", "schema_version": 1,
      "context": {}, "links": [{"name": ")" + name + R"(", "topology": "network",
      "latency_s": {"value": 1e-5, "relative_error": 0.1},
      "bandwidth_bytes_per_s": {"value": 1e10, "relative_error": 0.1}}]})"),
                    "--link", "tcp-10gbe", "--network", "mlp:width=1024"});
  };
  // Ten columns: two of each of the first two.
  EXPECT_THAT(named("連線-größe").out, HasSubstr("\nlink        params"));
  EXPECT_THAT(named("連線-größe").out, HasSubstr("\n連線-größe   8.46M"));
  EXPECT_THAT(named("a\u202Eb").out, HasSubstr("over a\\xe2\\x80\\xaeb, training"));
  expect_predict_refusal(named("a\\u001b[2J"), {"no control characters"});
}

TEST_F(PredictCli, decisions_that_nothing_satisfies_exit_with_1) {
  const Words network{"--network", "mlp:width=1024", "--machine", "t4x2"};
  const auto with = [&](Words words) {
    words.insert(words.end(), network.begin(), network.end());
    return predict(words);
  };
  EXPECT_EQ(with({"--rank-strategies"}).exit_code, 0);
  EXPECT_EQ(with({"--rank-strategies", "--gpu-memory", "1MB"}).exit_code, 1);
  EXPECT_EQ(with({"--require", "speedup=1.5"}).exit_code, 0);
  EXPECT_EQ(with({"--require", "speedup=1000"}).exit_code, 1);
  EXPECT_EQ(with({"--require", "speedup=fast"}).exit_code, 2);
  EXPECT_EQ(with({"--require", "speedup=1000", "--json"}).exit_code, 1);
}

TEST_F(PredictCli, the_list_of_links_fits_eighty_columns) {
  std::istringstream lines(predict({"--list-links"}).out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST_F(PredictCli, the_terminals_width_moves_no_file_and_a_word_is_no_width) {
  const Words words{"--machine", "t4x2", "--network", "mlp:width=1024"};
  const Words file{"--machine", "t4x2", "--network", "gpt", "--json"};
  const std::string usual = predict(words).out;
  const std::string json = predict(file).out;
  ::setenv("COLUMNS", "50", 1);
  EXPECT_EQ(predict(file).out, json);
  EXPECT_NE(predict(words).out, usual);
  ::setenv("COLUMNS", "wide", 1);
  EXPECT_EQ(predict(words).out, usual);
  ::unsetenv("COLUMNS");
}

TEST_F(PredictCli, a_step_on_one_gpu_has_no_verdict) {
  const Words question{"--gpus", "1,2", "--network", "mlp:width=1024"};
  Words json = question;
  json.emplace_back("--json");
  EXPECT_THAT(predict(json).out,
              AllOf(HasSubstr("\"verdict\": null"), HasSubstr("\"verdict\": \"does_not_pay\"")));
  EXPECT_THAT(predict(question).out, testing::ContainsRegex("  -\n"));
}

TEST_F(PredictCli, an_error_names_the_flag_the_user_gave) {
  expect_predict_refusal(predict({"--sweep", "foo=1:8"}), {"--sweep: 'foo'", "accepted: width"});
  expect_predict_refusal(predict({"--sweep", "width=1:99999999"}),
                         {"--sweep: 'width=", "from 1 to"});
  expect_predict_refusal(predict({"--infer-link", "t1=1us,tn=2us", "--params", "1G"}),
                         {"--infer-link: 1.00 us is no longer"});
  expect_predict_refusal(predict({"--network", "-"}), {"standard input: is empty"});
  expect_predict_refusal(predict({"--machine", "-"}), {"standard input: is empty"});
  expect_predict_refusal(predict({"--link", "-"}), {"standard input: is empty"});
}

TEST_F(PredictCli, a_bucket_size_is_echoed_in_the_unit_it_was_given_in) {
  const Words question{"--network",       "mlp:width=1024", "--strategy",
                       "ddp,bucket=25MB", "--strategy",     "ddp,bucket=25MiB"};
  EXPECT_THAT(predict(question).out,
              AllOf(HasSubstr("ddp,bucket=25MB"), HasSubstr("ddp,bucket=25MiB")));
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
  expect_predict_refusal(predict({"--lnk", "nvlink"}), {"--lnk", "--link"});
  expect_predict_refusal(predict({"--link"}), {"--link", "needs a value"});
  expect_predict_refusal(predict({"nvlink"}), {"'nvlink'"});
  expect_predict_refusal(predict({"--gpus", "2", "--gpus", "4"}), {"--gpus", "more than once"});
  expect_predict_refusal(predict({"--json=1"}), {"json", "no value"});
  expect_predict_refusal(predict({"--link", "nvlnk"}), {"--link", "nvlnk", "nvlink"});
  expect_predict_refusal(predict({"--link", "25gb/s,10us"}), {"--link", "gb/s", "GB/s"});
  expect_predict_refusal(predict({"--link", "25GB/s"}), {"--link", "two figures"});
  expect_predict_refusal(predict({"--link", "nanGB/s,10us"}),
                         {"--link: 'nanGB/s' is no finite number"});
  expect_predict_refusal(predict({"--machine", "t4"}), {"--machine", "t4", "t4x2"});
  expect_predict_refusal(predict({"--network", "cnn:width=4"}), {"--network", "cnn"});
  expect_predict_refusal(predict({"--network", "mlp:width=1e99"}), {"--network", "width"});
  expect_predict_refusal(predict({"--strategy", "ddp,zero=9"}), {"--strategy", "zero=9"});
  expect_predict_refusal(predict({"--dtype", "bf16"}), {"bf16", "fp32"});
  expect_predict_refusal(predict({"--csv", "--json"}), {"--csv", "--json"});
  expect_predict_refusal(predict({"--step-time", "120ms"}), {"--step-time", "--params"});
  expect_predict_refusal(predict({"--link", std::string(100000, 'x')}), {"--link"});
  expect_predict_refusal(predict({"--link", "a\nb\x1b[31m"}), {"--link"});
}

TEST_F(PredictCli, wrong_files_are_one_line_that_names_them) {
  expect_predict_refusal(predict({"--machine", path("none.json")}), {"none.json"});
  expect_predict_refusal(predict({"--machine", "/"}), {"/"});
  expect_predict_refusal(predict({"--machine", write("empty.json", "")}), {"empty.json"});
  expect_predict_refusal(
      predict({"--machine", write("cut.json", "{\"schema\": \"ddpx.machine\", ")}), {"cut.json"});
  expect_predict_refusal(predict({"--machine", write("runs.json", "{\"schema\": \"ddpx.runs\"}")}),
                         {"runs.json", "ddpx.runs"});
  expect_predict_refusal(
      predict({"--machine", write("binary.json", std::string("\x7f\x45\x4c\x46\0\1", 6))}),
      {"binary.json"});
  expect_predict_refusal(predict({"--machine", write("deep.json", std::string(200000, '['))}),
                         {"deep.json"});
  expect_predict_refusal(predict({"--link", write("words.log", "no table here\n")}), {"words.log"});
  expect_predict_refusal(predict({"--link", write("link.json", "{\"schema\": \"ddpx.links\"}")}),
                         {"link.json"});
  expect_predict_refusal(predict({"--network", write("net.json", "{}")}), {"net.json"});
  expect_predict_refusal(predict({"--machine", "-"}, "", "nonsense"), {"-"});
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
  EXPECT_THAT(result.out, HasSubstr("large message: 10.0 GB/s"));
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

// Carried from itself a machine would lose what was measured of it.
TEST_F(PredictCli, a_gpu_that_the_machine_was_measured_on_is_refused) {
  expect_predict_refusal(predict({"--machine", "t4x2", "--gpu", "t4", "--link", "nvlink",
                                  "--network", "mlp:width=512"}),
                         {"--gpu", "'t4' is what t4x2 was measured on", "leave --gpu out"});
}

}  // namespace
}  // namespace ddpx
