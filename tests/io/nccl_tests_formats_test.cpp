// Every layout nccl-tests has printed, written here by its own format strings (src/ at v1.0.0,
// v2.0.0, v2.13.0, v2.19.6).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "io/nccl_tests.hpp"
#include "tests/io/nccl_tests_support.hpp"

namespace ddpx::io {
namespace {

using testing::HasSubstr;
using namespace testing_support;

const std::string kHeader =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time "
    "  algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us) "
    " (GB/s)  (GB/s)       \n";
const std::string kRows =
    "     1048576        262144     float     sum      -1    121.8    8.61   16.14      0    126.6 "
    "   8.28   15.53      0\n"
    "     2097152        524288     float     sum      -1    129.8   16.16   30.30      0    127.0 "
    "  16.51   30.96      0\n"
    "     4194304       1048576     float     sum      -1    197.6   21.23   39.80      0    194.1 "
    "  21.61   40.52      0\n";

std::string with_prefix(const std::string& text, const std::string& prefix) {
  std::string out;
  bool start = true;
  for (const char c : text) {
    if (start) out += prefix;
    start = c == '\n';
    out += c;
  }
  return out;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

void expect_three_rows(const std::string& text) {
  const NcclImport import = imported(text);
  const ImportedTable table = only_table(import);
  EXPECT_EQ(table.kind, Collective::all_reduce);
  EXPECT_EQ(table.ranks, 16);
  ASSERT_EQ(table.points.size(), 3U);
  EXPECT_DOUBLE_EQ(table.points[1].time.value(), 129.8e-6);
  EXPECT_DOUBLE_EQ(table.points[1].in_place.value().value(), 127.0e-6);
  EXPECT_TRUE(import.dropped.empty());
}

TEST(NcclTestsFormats, every_launchers_tag_is_stripped) {
  for (const std::string prefix :
       {"", "[1,0]<stdout>:", "[0]", "0: ", "[default0]:", "[prterun-node-7@1,0]<stdout>: ",
        "  [1,0]<stdout>:", "node-3: ", "2025-10-17T10:00:00.123456789Z stdout F "}) {
    SCOPED_TRACE(prefix);
    expect_three_rows(with_prefix(kHeader + kRows, prefix));
  }
}

TEST(NcclTestsFormats, line_ends_colour_tabs_and_byte_order_marks_do_not_matter) {
  expect_three_rows(replaced(kHeader + kRows, "\n", "\r\n"));
  expect_three_rows(replaced(kHeader + kRows, "\n", "\r"));
  expect_three_rows("\xef\xbb\xbf" + kHeader + kRows);
  expect_three_rows("\xef\xbb\xbf" + kRows);
  expect_three_rows(with_prefix(kHeader + kRows, "\x1b[32m"));
  expect_three_rows(replaced(kRows, "\n", "\x1b[0m\n"));
  expect_three_rows(replaced(kHeader + kRows, "  ", "\t"));
  expect_three_rows(replaced(kHeader + kRows, "#", ""));
}

TEST(NcclTestsFormats, utf_16_is_refused_with_its_remedy) {
  try {
    (void)imported(std::string("\xff\xfe#\0 \0", 6));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("iconv -f UTF-16"));
  }
}

TEST(NcclTestsFormats, nccls_log_between_rows_costs_nothing_and_inside_a_row_is_joined) {
  const std::string info = "node-1:77:229 [2] NCCL INFO Channel 00/24 : 0 1 2 time 99.9\n";
  expect_three_rows(kHeader + info + replaced(kRows, "\n", "\n" + info));
  // The head, NCCL's lines, then the numbers.
  expect_three_rows(kHeader + replaced(kRows, "-1    129.8", "-1" + info + info + "    129.8"));
  // NCCL's line between the two halves.
  expect_three_rows(kHeader + replaced(kRows, "    127.0   16.51", info + "    127.0   16.51"));
}

TEST(NcclTestsFormats, before_2_13_there_is_no_root_and_an_error_for_the_count) {
  const NcclImport import = imported(
      "#       size         count    type   redop     time   algbw   busbw  error     time   algbw "
      "  busbw  error\n"
      "     1048576        262144   float     sum    121.8    8.61   16.14  5e-07    126.6    8.28 "
      "  15.53  5e-07\n"
      "     2097152        524288   float     sum    129.8   16.16   30.30  5e-07    127.0   16.51 "
      "  30.96    N/A\n");
  EXPECT_EQ(only_table(import).ranks, 16);
  EXPECT_EQ(only_table(import).kind, Collective::all_reduce);
  EXPECT_FALSE(some_note_has(import, "wrong results"));
}

TEST(NcclTestsFormats, version_1_prints_milliseconds) {
  // v1.0.0 src/all_reduce.cu: header without units; src/common.cu: deltaSec * 1.0E3.
  const std::string rows =
      "     1048576        262144   float     sum    0.122   8.61  16.14    5e-07    0.127   8.28  "
      "15.53    5e-07\n"
      "    67108864      16777216   float     sum    4.000  16.78  31.46    5e-07    4.100  16.37  "
      "30.69    5e-07\n";
  const std::string header =
      "#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  "
      "busbw      res\n";
  for (const std::string& text : {header + rows, rows}) {
    const NcclImport import = imported(text);
    EXPECT_EQ(only_table(import).points.size(), 2U);
    EXPECT_DOUBLE_EQ(only_table(import).points[1].time.value(), 4.0e-3);
    EXPECT_EQ(only_table(import).ranks, 16);
  }
  EXPECT_TRUE(some_note_has(imported(rows), "milliseconds"));
}

TEST(NcclTestsFormats, an_old_gather_counts_the_bytes_of_the_other_ranks) {
  // v2.0.0 src/all_gather.cu: algbw = busbw = count x (n - 1) / time. 4 ranks, 16 MiB in 1
  // ms: 12.58 GB/s.
  const NcclImport import = imported(
      "./all_gather_perf -g 4\n"
      "#       size         count    type     time   algbw   busbw  error     time   algbw   busbw "
      " error\n"
      "    16777216       1048576   float   1000.0   12.58   12.58  0e+00   1000.0   12.58   12.58 "
      " 0e+00\n");
  EXPECT_EQ(only_table(import).kind, Collective::all_gather);
  EXPECT_EQ(only_table(import).ranks, 4);
  EXPECT_EQ(only_table(import).points.size(), 1U);
}

TEST(NcclTestsFormats, broadcast_reduce_and_sendrecv_are_told_by_root_and_reduction) {
  const std::string numbers = "   1000.0   16.78   16.78      0   1000.0   16.78   16.78      0\n";
  EXPECT_EQ(only_table(imported("  16777216  4194304  float  none  0" + numbers)).collective,
            "broadcast");
  EXPECT_EQ(only_table(imported("  16777216  4194304  float  sum   0" + numbers)).collective,
            "reduce");
  EXPECT_EQ(only_table(imported("  16777216  4194304  float  none  -1" + numbers)).collective,
            "sendrecv");
  const std::string half = "   1000.0   16.78    8.39      0   1000.0   16.78    8.39      0\n";
  EXPECT_EQ(only_table(imported("  16777216  2097152  float  sum  -1" + half)).kind,
            Collective::reduce_scatter);
  EXPECT_EQ(only_table(imported("  16777216  2097152  float  sum  -1" + half)).ranks, 2);
}

TEST(NcclTestsFormats, timestamps_and_iteration_columns_are_passed_over) {
  expect_three_rows(kHeader + replaced(kRows, "\n", "  2026-01-31 12:00:59\n"));
  const std::string extra = "    120.0    130.0    129.0     2.10";
  const std::string header =
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong    "
      "i_min    i_max    i_p99    i_cv%"
      "     time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%\n";
  const std::string row =
      "     2097152        524288     float     sum      -1    129.8   16.16   30.30      0" +
      extra + "    127.0   16.51   30.96      0" + extra + "\n";
  for (const std::string& text : {header + row, row}) {
    const ImportedTable table = only_table(imported(text));
    EXPECT_EQ(table.ranks, 16);
    EXPECT_DOUBLE_EQ(table.points.at(0).in_place.value().value(), 127.0e-6);
  }
}

TEST(NcclTestsFormats, a_blank_half_leaves_the_other) {
  const std::string blank(32, ' ');  // writeBenchMarkLineNullBody
  const NcclImport import =
      imported(kHeader + "     2097152        524288     float     sum      -1" + blank +
               "    127.0   16.51   30.96      0\n");
  EXPECT_DOUBLE_EQ(only_table(import).points.at(0).time.value(), 127.0e-6);
  EXPECT_TRUE(some_note_has(import, "the in-place time stands in for it"));
  const NcclImport out = imported(
      kHeader +
      "     2097152        524288     float     sum      -1    127.0   16.51   30.96      0\n");
  EXPECT_FALSE(only_table(out).points.at(0).in_place.has_value());
}

TEST(NcclTestsFormats, host_times_are_refused_for_a_link) {
  const NcclImport import = imported(replaced(kHeader, "  time", "cputime") + kRows);
  EXPECT_TRUE(only_table(import).host_time);
  EXPECT_THAT(refusal_of(import), HasSubstr("without -C"));
}

TEST(NcclTestsFormats, exponents_and_whole_numbers_keep_their_precision) {
  // getFloatStr: seven characters, at worst "%7.1e".
  const NcclImport import = imported(
      kHeader +
      "  4294967296    1073741824     float     sum      -1   10094  425.49  839.16      0  1.0e+04"
      "  423.5  835.3      0\n");
  EXPECT_EQ(only_table(import).ranks, 72);
  EXPECT_DOUBLE_EQ(only_table(import).points.at(0).in_place.value().value(), 0.01);
}

TEST(NcclTestsFormats, several_collectives_in_one_log_stay_apart) {
  const std::string text = log_text("h200x2_all_reduce_nvlink.txt") +
                           log_text("h200x2_all_gather_nvlink.txt") +
                           log_text("h200x2_all_reduce_shm.txt");
  const NcclImport import = imported(text);
  ASSERT_EQ(import.tables.size(), 3U);
  EXPECT_EQ(import.tables[0].kind, Collective::all_reduce);
  EXPECT_EQ(import.tables[1].kind, Collective::all_gather);
  for (const ImportedTable& table : import.tables) EXPECT_EQ(table.points.size(), 17U);
  const auto samples = collective_samples(import, "link");
  EXPECT_EQ(samples.size(), 34U);
  EXPECT_TRUE(some_note_has(import, "a second table like that"));
}

TEST(NcclTestsFormats, of_several_reductions_only_the_sum_is_taken) {
  const NcclImport import =
      imported(kHeader + kRows + replaced(replaced(kRows, " sum", "prod"), "129.8", "229.8"));
  ASSERT_EQ(import.tables.size(), 2U);
  const auto samples = collective_samples(import, "link");
  ASSERT_EQ(samples.size(), 3U);
  for (const auto& sample : samples) EXPECT_EQ(sample.seconds.size(), 1U);
}

TEST(NcclTestsFormats, rows_that_contradict_themselves_are_dropped_with_their_line) {
  const NcclImport import = imported(kHeader + replaced(kRows, "129.8", "12.98"));
  EXPECT_EQ(only_table(import).points.size(), 2U);
  ASSERT_EQ(import.dropped.size(), 1U);
  EXPECT_EQ(import.dropped[0].line, 4U);
  EXPECT_THAT(import.dropped[0].reason, HasSubstr("contradict"));
}

TEST(NcclTestsFormats, a_rank_list_that_contradicts_the_bandwidths_is_noted) {
  const std::string two =
      "#  Rank  0 Group  0 Pid    639 on a device  0 [0x07] X\n#  Rank  1 Group  0 Pid    640 on b "
      "device  0 [0x07] X\n";
  // Two of sixteen: on two hosts in turn, on four, eight or sixteen.
  const NcclImport few = imported(two + kHeader + kRows);
  EXPECT_EQ(only_table(few).ranks, 16);
  EXPECT_EQ(only_table(few).hosts, 2);
  EXPECT_THAT(only_table(few).placed_by, HasSubstr("lists 2 of its 16 ranks (missing: 2 to 15)"));
  EXPECT_EQ(only_table(few).or_each, (std::vector<int>{1, 2, 4}));
  const NcclImport more = imported(replaced(two, "Rank  1", "Rank 31") + kHeader + kRows);
  EXPECT_EQ(only_table(more).ranks, 16);
  EXPECT_EQ(only_table(more).hosts, 0);
  EXPECT_TRUE(some_note_has(more, "the log lists 32 ranks, busbw/algbw says 16"));
}

TEST(NcclTestsFormats, wrong_results_are_reported) {
  EXPECT_TRUE(some_note_has(imported(kHeader + replaced(kRows, "30.30      0", "30.30   4096")),
                            "1 of 3 rows report wrong results"));
}

TEST(NcclTestsFormats, types_that_are_no_gradients_make_no_link) {
  EXPECT_THAT(refusal_of(imported(kHeader + replaced(kRows, "float", "int32"))),
              HasSubstr("accepted: float, half, bfloat16"));
}

}  // namespace
}  // namespace ddpx::io
