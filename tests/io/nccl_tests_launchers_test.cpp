// What loggers and launchers write before every line hides neither rows nor rank lines, and is not
// shown; a name that the log gives its collective wins where the columns allow it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "io/nccl_tests.hpp"
#include "tests/io/nccl_tests_support.hpp"
#include "tests/support/nccl_log.hpp"

namespace ddpx::io {
namespace {

using testing::HasSubstr;
using testing::Not;
using namespace testing_support;

std::string framed(const std::string& log, const std::string& before,
                   const std::string& after = "") {
  std::istringstream lines(log);
  std::string text;
  for (std::string line; std::getline(lines, line);) text += before + line + after + "\n";
  return text;
}

TEST(NcclTestsLaunchers, a_prefix_hides_neither_rows_nor_rank_lines) {
  const std::string log = test::nccl_log({8, 8}, 180);
  const ImportedTable plain = only_table(imported(log));
  ASSERT_EQ(plain.hosts, 2);
  for (const std::string prefix :
       {"2024-05-01T12:00:00.123456789Z ", "2024-05-01T12:00:00.123456789Z stdout F ",
        "[2024-05-01 12:00:00,123] ", "May 01 12:00:00 secret-9 nccl[123]: ", "1714560000.123 ",
        "secret-9: ", "worker-1  | ", "(Runner pid=123, ip=10.11.12.13) ", "> ",
        "0: ", "[1,0]<stdout>: ", "[secret-9:12345] [rank 0] ", "pod/secret-worker-0 "}) {
    const NcclImport import = imported(framed(log, prefix));
    const ImportedTable table = only_table(import);
    EXPECT_EQ(table.ranks, 16) << prefix;
    EXPECT_EQ(table.hosts, 2) << prefix;
    EXPECT_EQ(table.ranks_per_host, 8) << prefix;
    EXPECT_EQ(table.points.size(), plain.points.size()) << prefix;
  }
  const NcclImport docker = imported(
      framed(log, R"({"log":" )", R"(\n","stream":"stdout","time":"2024-05-01T12:00:00Z"})"));
  EXPECT_EQ(only_table(docker).hosts, 2);
  EXPECT_EQ(only_table(docker).points.size(), plain.points.size());
}

TEST(NcclTestsLaunchers, a_row_left_out_does_not_show_what_stands_before_it) {
  const std::string row = "1048576 262144 float sum -1 40.92 abc 48.04 0 40.96 25.60 48.00 0\n";
  for (const std::string& text :
       {row, "x 262144 float sum -1 40.92 25.62 48.04 0 40.96 25.60 48.00 0\n" + row}) {
    const NcclImport import =
        imported(framed(test::nccl_log({8}, 180) + text, "May 01 12:00:00 secret-9 nccl[123]: "));
    ASSERT_FALSE(import.dropped.empty());
    for (const DroppedRow& dropped : import.dropped)
      EXPECT_THAT(dropped.text, Not(HasSubstr("secret")));
  }
}

// sendrecv_perf prints the reduction and the root of an all-reduce, and busbw = algbw as two ranks
// have it (src/sendrecv.cu).
std::string pairs_of(double gigabytes) {
  std::string text =
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
      "time   algbw   busbw #wrong\n";
  for (double bytes = 1 << 20; bytes <= 1 << 30; bytes *= 4) {
    const double seconds = bytes / (gigabytes * 1e9);
    const std::string half =
        fmt::format(" {:.3f} {:.4f} {:.4f} 0", seconds * 1e6, gigabytes, gigabytes);
    text += fmt::format("{:.0f} {:.0f} float sum -1", bytes, bytes / 4) + half + half + "\n";
  }
  return text;
}

TEST(NcclTestsLaunchers, a_log_that_names_sendrecv_is_no_all_reduce_on_two_ranks) {
  const std::string lists =
      test::nccl_log({8}, 20).substr(0, test::nccl_log({8}, 20).find("#  "
                                                                     "     "));
  for (const std::string name : {"# Collective test starting: sendrecv_perf\n",
                                 "$ mpirun -np 8 ./build/sendrecv_perf -b 1M -e 1G -f 2\n"}) {
    const NcclImport import = imported(name + lists + pairs_of(20));
    EXPECT_EQ(only_table(import).collective, "sendrecv");
    EXPECT_EQ(only_table(import).ranks, 8);
    try {
      static_cast<void>(collective_samples(import, "link"));
      ADD_FAILURE() << "taken for a link";
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr("holds sendrecv of float, 8 ranks"));
      EXPECT_THAT(error.what(), HasSubstr("run all_reduce_perf"));
    }
  }
  // Two ranks' all-reduce has the same columns, by name or without one.
  for (const std::string name : {"$ ./build/all_reduce_perf -g 2\n", ""})
    EXPECT_EQ(only_table(imported(name + pairs_of(20))).collective, "all_reduce");
  // Two runs of one file: each has its own name.
  const NcclImport both = imported("$ ./build/sendrecv_perf -g 2\n" + pairs_of(9) +
                                   "$ ./build/all_reduce_perf -g 2\n" + pairs_of(20));
  ASSERT_EQ(both.tables.size(), 2U);
  EXPECT_EQ(both.tables[0].collective, "sendrecv");
  const auto samples = collective_samples(both, "link");
  ASSERT_EQ(samples.size(), 6U);
  for (const CollectiveSample& sample : samples) {
    ASSERT_EQ(sample.seconds.size(), 1U);
    EXPECT_NEAR(sample.call.bytes.value() / sample.seconds[0], 20e9, 1e8);
  }
}

// 128 MiB in a nanosecond are 1.3e17 B/s; a file of ours would be refused (docs/files.md).
TEST(NcclTestsLaunchers, what_no_link_moves_is_left_out_with_its_line) {
  const std::string row =
      "134217728 33554432 float sum -1 0.001 134217728 134217728 0 0.001 "
      "134217728 134217728 0\n";
  const NcclImport import = imported(pairs_of(20) + row);
  ASSERT_EQ(import.dropped.size(), 1U);
  EXPECT_EQ(import.dropped[0].line, 8U);
  EXPECT_THAT(import.dropped[0].reason, HasSubstr("1.34e+17 bytes per second, which no link has"));
  EXPECT_THROW((void)collective_samples(imported(row), "link"), InputError);
}

}  // namespace
}  // namespace ddpx::io
