// --check-link and --link on logs that are not what they seem: wrong results, runs that contradict
// each other, bandwidth that collapses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "tests/cli/predict_cli.hpp"
#include "tests/support/nccl_log.hpp"

namespace ddpx {
namespace {

using test::nccl_log;
using test::ProgramResult;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Words = std::vector<std::string>;

constexpr const char* kRun = "# nThread 1 nGpus 1 minBytes 8\n";

// What it prints lies in lines of 80 columns.
ProgramResult predict_in_one_line(const Words& arguments) {
  ProgramResult result = test::predict(arguments);
  std::replace(result.out.begin(), result.out.end(), '\n', ' ');
  return result;
}

class CheckLinkDoubtsCli : public test::ProgramTest {
 protected:
  // A forecast over a log.
  static ProgramResult over(const std::string& log, const std::string& gpus) {
    return predict_in_one_line({"--link", log, "--network", "mlp:width=1024", "--gpus", gpus});
  }
};

TEST_F(CheckLinkDoubtsCli, a_link_that_corrupts_data_is_never_right) {
  std::string text = nccl_log({8}, 230);
  text.replace(text.find(" 230.0000 0"), 11, " 230.0000 57");
  const std::string log = write("wrong.txt", text);
  const ProgramResult named = predict_in_one_line({"--check-link", log, "--link", "nvlink3"});
  EXPECT_EQ(named.exit_code, 1);
  EXPECT_THAT(named.out, AllOf(StartsWith("Wrong results: line 10: 1 of 6 rows"),
                               Not(HasSubstr("That is right"))));
  EXPECT_EQ(predict_in_one_line({"--check-link", log}).exit_code, 1);
  EXPECT_THAT(predict_in_one_line({"--check-link", log, "--json"}).out,
              HasSubstr("\"corrupts_data\": true"));
  EXPECT_THAT(over(log, "8").err, HasSubstr("1 of 6 rows report wrong results"));
}

TEST_F(CheckLinkDoubtsCli, of_runs_that_contradict_each_other_the_slowest_is_judged) {
  const std::string log = write(
      "runs.txt", kRun + nccl_log({8}, 230) + kRun + nccl_log({8}, 60) + kRun + nccl_log({8}, 228));
  const ProgramResult result = predict_in_one_line({"--check-link", log, "--link", "nvlink3"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, AllOf(HasSubstr("ranks, 60.0 GB/s bus bandwidth"),
                                HasSubstr("(line 27), the slowest run"), HasSubstr("(line 16)"),
                                HasSubstr("(line 48)"), Not(HasSubstr("median"))));
  EXPECT_THAT(over(log, "8").err, AllOf(HasSubstr("3.83 times"), HasSubstr("median time is used")));
  const std::string alike =
      write("alike.txt", kRun + nccl_log({8}, 230) + kRun + nccl_log({8}, 225));
  EXPECT_EQ(predict_in_one_line({"--check-link", alike, "--link", "nvlink3"}).exit_code, 0);
}

// 230 GB/s of 16 MiB at most, 12 GB/s from 64 MiB on.
TEST_F(CheckLinkDoubtsCli, a_link_that_collapses_under_large_messages_is_below) {
  const std::string good = nccl_log({8}, 230);
  const std::string slow = nccl_log({8}, 12);
  const std::string text =
      good.substr(0, good.find("67108864 ")) + slow.substr(slow.find("67108864 "));
  const ProgramResult result =
      predict_in_one_line({"--check-link", write("falls.txt", text), "--link", "nvlink3"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("230 GB/s bus bandwidth at 16.8 MB, and 12.0 GB/s at"),
                    HasSubstr("Its largest message has 5"),
                    HasSubstr("bandwidth falls with the size"), Not(HasSubstr("Measure larger"))));
}

// Its first row took 1.6 ms, and 4 MiB 0.6.
TEST_F(CheckLinkDoubtsCli, a_first_row_that_is_odd_is_no_latency) {
  const ProgramResult result =
      predict_in_one_line({"--check-link", "tests/io/inputs/U072.txt", "--gpus", "3x8", "--link",
                           "nvlink4", "--inter-link", "infiniband-ndr"});
  EXPECT_THAT(result.out, AllOf(HasSubstr("29.5 GB/s bus bandwidth at 33.6 MB, and 5.31 GB/s at"),
                                Not(HasSubstr("latency more than"))));
}

TEST_F(CheckLinkDoubtsCli, copies_are_inside_one_host) {
  const std::string copies =
      write("copies.txt",
            "nvbandwidth Version: v0.4\nRunning device_to_device_memcpy_read_ce.\n"
            "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"
            "           0         1\n 0       N/A    44.0\n 1    44.1       N/A\n");
  EXPECT_THAT(
      predict_in_one_line({"--check-link", copies}).out,
      AllOf(Not(HasSubstr("infiniband")), Not(HasSubstr("roce")), HasSubstr("nvlink2-bridge")));
  const Words network{"--check-link", copies, "--link", "infiniband-ndr"};
  EXPECT_THAT(predict_in_one_line(network).err,
              HasSubstr("joins hosts, and these copies are inside one"));
}

TEST_F(CheckLinkDoubtsCli, what_a_refusal_tells_to_give_is_taken) {
  const Words log{"--check-link", "tests/io/inputs/U068.txt", "--gpus", "2x1"};
  Words refused = log;
  refused.insert(refused.end(), {"--link", "infiniband-hdr"});
  EXPECT_THAT(predict_in_one_line(refused).err, HasSubstr("by --inter-link in place of it"));
  Words taken = log;
  taken.insert(taken.end(), {"--inter-link", "infiniband-hdr"});
  EXPECT_EQ(predict_in_one_line(taken).exit_code, 0);
}

// Ranks 0 to 2 on one host, 8 and 9 on another, the other lines lost.
TEST_F(CheckLinkDoubtsCli, rank_lines_of_two_hosts_are_never_taken_as_one) {
  std::istringstream whole(nccl_log({8, 8}, 90));
  std::string text;
  int rank = 0;
  for (std::string line; std::getline(whole, line); ++rank) {
    const bool lost = rank < 16 && (rank > 9 || (rank > 2 && rank < 8));
    text += lost ? "" : line + "\n";
  }
  const std::string log = write("cut.txt", text);
  const ProgramResult named = predict_in_one_line({"--check-link", log, "--link", "nvlink3"});
  EXPECT_EQ(named.exit_code, 2);
  EXPECT_THAT(named.err, AllOf(HasSubstr("--inter-link: is missing"), HasSubstr("(2x8)")));
  for (const char* gpus : {"2x8", "4x4"}) {
    const ProgramResult nodes =
        predict_in_one_line({"--check-link", log, "--link", "nvlink3", "--inter-link",
                             "infiniband-ndr", "--gpus", gpus});
    EXPECT_NE(nodes.exit_code, 2) << nodes.err;
    EXPECT_THAT(nodes.out, HasSubstr(gpus == std::string("2x8") ? "of 2 hosts" : "of 4 hosts"));
  }
  EXPECT_THAT(
      predict_in_one_line({"--check-link", log, "--inter-link", "infiniband-ndr", "--gpus", "16x1"})
          .err,
      HasSubstr("is not how the log's ranks are spread"));
  EXPECT_THAT(over(log, "16").err, HasSubstr("measured on 16 ranks of 2 hosts"));
  EXPECT_EQ(over(log, "16x1").exit_code, 2);
  EXPECT_EQ(over(log, "2x8").exit_code, 0);
}

// Eight GPUs of one host, then sixteen of two: each table answers what it was measured for.
TEST_F(CheckLinkDoubtsCli, of_two_tables_the_one_that_is_asked_for_answers) {
  for (const bool turned : {false, true}) {
    const std::string one = kRun + nccl_log({8}, 230);
    const std::string two = kRun + nccl_log({8, 8}, 90);
    const std::string log = write("two.txt", turned ? two + one : one + two);
    const ProgramResult inside = predict_in_one_line({"--check-link", log, "--link", "nvlink3"});
    EXPECT_EQ(inside.exit_code, 0) << inside.err;
    EXPECT_THAT(inside.out, HasSubstr("all_reduce on 8 ranks, 230 GB/s"));
    EXPECT_THAT(predict_in_one_line(
                    {"--check-link", log, "--link", "nvlink3", "--inter-link", "infiniband-ndr"})
                    .out,
                HasSubstr("all_reduce on 16 ranks of 2 hosts, 90.0 GB/s"));
    for (const char* gpus : {"8", "4", "2x8", "4x8"})
      EXPECT_EQ(over(log, gpus).exit_code, 0) << gpus << over(log, gpus).err;
    EXPECT_THAT(over(log, "16").err, HasSubstr("measured on 16 ranks of 2 hosts"));
    const ProgramResult both =
        predict_in_one_line({"--link", log, "--inter-link", "infiniband-ndr", "--network",
                             "mlp:width=1024", "--gpus", "2x8"});
    EXPECT_EQ(both.exit_code, 0) << both.err;
  }
}

}  // namespace
}  // namespace ddpx
