// What makes a log's figures doubtful: wrong results, runs that contradict each other, one rank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/io/nccl_tests_support.hpp"
#include "tests/support/nccl_log.hpp"

namespace ddpx::io {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace testing_support;
using test::nccl_log;

// With the last 0 of each row, the in-place half's #wrong, or the first half's, as `count`.
std::string with_wrong(const std::string& log, bool in_place, const std::string& count) {
  std::istringstream lines(log);
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = in_place ? line.rfind(" 0") : line.find(" 0 ");
    if (line.find(" float ") != std::string::npos) line.replace(at, 2, " " + count);
    text += line + "\n";
  }
  return text;
}

TEST(NcclTestsDoubts, wrong_results_of_either_half_are_counted) {
  for (const bool in_place : {false, true}) {
    const auto import = read_nccl_tests(with_wrong(nccl_log({8}, 230), in_place, "57"), "log");
    EXPECT_THAT(wrong_results(import), ElementsAre("line 10: 6 of 6 rows report wrong results: "
                                                   "this link corrupts data"));
    EXPECT_TRUE(some_note_has(import, "corrupts data"));
  }
  // Before 2.13 the column is the largest error, of rounding here.
  EXPECT_THAT(wrong_results(read_nccl_tests(with_wrong(nccl_log({8}, 230), false, "2e-07"), "log")),
              IsEmpty());
}

TEST(NcclTestsDoubts, runs_that_differ_much_are_told_with_each_figure) {
  const auto runs = [](const std::vector<double>& figures) {
    std::string text;
    for (const double figure : figures)
      text += "# nThread 1 nGpus 1 minBytes 8\n" + nccl_log({8}, figure);
    return read_nccl_tests(text, "log");
  };
  EXPECT_THAT(contradictions(runs({230, 225})), IsEmpty());
  EXPECT_THAT(contradictions(runs({230})), IsEmpty());
  const NcclImport import = runs({230, 60, 228});
  EXPECT_THAT(
      contradictions(import),
      ElementsAre(AllOf(HasSubstr("3.83 times at 1 GiB"),
                        HasSubstr("230 GB/s (line 16), 60 GB/s (line 32), 228 GB/s (line 48)"))));
  const auto found = contradiction(import, Collective::all_reduce, DType::fp32, 8);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->slowest, &import.tables[1]);
}

// Ranks of two counts are two questions.
TEST(NcclTestsDoubts, runs_on_other_ranks_contradict_nothing) {
  const std::string both =
      nccl_log({8}, 230) + "# nThread 1 nGpus 1 minBytes 8\n" + nccl_log({8, 8}, 90);
  EXPECT_THAT(contradictions(read_nccl_tests(both, "log")), IsEmpty());
}

TEST(NcclTestsDoubts, one_rank_is_no_reduce_scatter_and_has_no_link) {
  const std::string log =
      "#  Rank  0 Group  0 Pid 1 on host0 device  0 [0x01] GPU\n"
      "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
      "1048576 262144 float sum -1 5.00 209.72 0.00 0 5.00 209.72 0.00 0\n"
      "4194304 1048576 float sum -1 8.00 524.29 0.00 0 8.00 524.29 0.00 0\n";
  const std::string named = "# Collective test starting: all_reduce_perf\n" + log;
  const std::string bare = log.substr(log.find('\n') + 1);
  for (const std::string& text : {log, named, bare})
    EXPECT_THAT(refusal_of(read_nccl_tests(text, "log")),
                AllOf(HasSubstr("one rank, so nothing travels over a link"),
                      HasSubstr("on two or more"), HasSubstr("all_reduce")));
  EXPECT_EQ(only_table(read_nccl_tests(named, "log")).collective, "all_reduce");
}

}  // namespace
}  // namespace ddpx::io
