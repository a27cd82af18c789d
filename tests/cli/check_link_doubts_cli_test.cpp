// --check-link and --link on logs that are not what they seem: wrong results, runs that contradict
// each other, bandwidth that collapses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/nccl_log.hpp"
#include "tests/support/program_test.hpp"

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

// Words lie in lines of 80 columns.
ProgramResult predict(const Words& arguments) {
  ProgramResult result = test::run_program("ddpx-predict", arguments, "", "");
  std::replace(result.out.begin(), result.out.end(), '\n', ' ');
  return result;
}

class CheckLinkDoubtsCli : public test::ProgramTest {
 protected:
  // A forecast over a log.
  static ProgramResult over(const std::string& log, const std::string& gpus) {
    return predict({"--link", log, "--network", "mlp:width=1024", "--gpus", gpus});
  }
};

TEST_F(CheckLinkDoubtsCli, a_link_that_corrupts_data_is_never_right) {
  std::string text = nccl_log({8}, 230);
  text.replace(text.find(" 230.0000 0"), 11, " 230.0000 57");
  const std::string log = write("wrong.txt", text);
  const ProgramResult named = predict({"--check-link", log, "--link", "nvlink3"});
  EXPECT_EQ(named.exit_code, 1);
  EXPECT_THAT(named.out, AllOf(StartsWith("Wrong results: line 10: 1 of 6 rows"),
                               Not(HasSubstr("That is right"))));
  EXPECT_EQ(predict({"--check-link", log}).exit_code, 1);
  EXPECT_THAT(predict({"--check-link", log, "--json"}).out, HasSubstr("\"corrupts_data\": true"));
  EXPECT_THAT(over(log, "8").err, HasSubstr("1 of 6 rows report wrong results"));
}

TEST_F(CheckLinkDoubtsCli, of_runs_that_contradict_each_other_the_slowest_is_judged) {
  const std::string log = write(
      "runs.txt", kRun + nccl_log({8}, 230) + kRun + nccl_log({8}, 60) + kRun + nccl_log({8}, 228));
  const ProgramResult result = predict({"--check-link", log, "--link", "nvlink3"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, AllOf(HasSubstr("ranks, 60.0 GB/s bus bandwidth"),
                                HasSubstr("(line 27), the slowest run"), HasSubstr("(line 16)"),
                                HasSubstr("(line 48)"), Not(HasSubstr("median"))));
  EXPECT_THAT(over(log, "8").err, AllOf(HasSubstr("3.83 times"), HasSubstr("median time is used")));
  const std::string alike =
      write("alike.txt", kRun + nccl_log({8}, 230) + kRun + nccl_log({8}, 225));
  EXPECT_EQ(predict({"--check-link", alike, "--link", "nvlink3"}).exit_code, 0);
}

// 230 GB/s of 16 MiB at most, 12 GB/s from 64 MiB on.
TEST_F(CheckLinkDoubtsCli, a_link_that_collapses_under_large_messages_is_below) {
  const std::string good = nccl_log({8}, 230);
  const std::string slow = nccl_log({8}, 12);
  const std::string text =
      good.substr(0, good.find("67108864 ")) + slow.substr(slow.find("67108864 "));
  const ProgramResult result =
      predict({"--check-link", write("falls.txt", text), "--link", "nvlink3"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("230 GB/s bus bandwidth at 16.8 MB, and 12.0 GB/s at"),
                    HasSubstr("Its largest message has 5"),
                    HasSubstr("bandwidth falls with the size"), Not(HasSubstr("Measure larger"))));
}

// Its first row took 1.6 ms, and 4 MiB 0.6.
TEST_F(CheckLinkDoubtsCli, a_first_row_that_is_odd_is_no_latency) {
  const ProgramResult result = predict({"--check-link", "tests/io/inputs/U072.txt", "--gpus", "3x8",
                                        "--link", "nvlink4", "--inter-link", "infiniband-ndr"});
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
      predict({"--check-link", copies}).out,
      AllOf(Not(HasSubstr("infiniband")), Not(HasSubstr("roce")), HasSubstr("nvlink2-bridge")));
  const Words network{"--check-link", copies, "--link", "infiniband-ndr"};
  EXPECT_THAT(predict(network).err, HasSubstr("joins hosts, and these copies are inside one"));
}

TEST_F(CheckLinkDoubtsCli, what_a_refusal_tells_to_give_is_taken) {
  const Words log{"--check-link", "tests/io/inputs/U068.txt", "--gpus", "2x1"};
  Words refused = log;
  refused.insert(refused.end(), {"--link", "infiniband-hdr"});
  EXPECT_THAT(predict(refused).err, HasSubstr("by --inter-link in place of it"));
  Words taken = log;
  taken.insert(taken.end(), {"--inter-link", "infiniband-hdr"});
  EXPECT_EQ(predict(taken).exit_code, 0);
}

}  // namespace
}  // namespace ddpx
