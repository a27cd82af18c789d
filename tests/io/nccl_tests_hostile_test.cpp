// Logs cut, damaged and invented: nothing but InputError may come out, and no row that was not
// there.
#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "io/nccl_tests.hpp"
#include "tests/io/nccl_tests_support.hpp"

namespace ddpx::io {
namespace {

using namespace testing_support;

std::size_t points_in(const NcclImport& import) {
  std::size_t count = 0;
  for (const ImportedTable& table : import.tables) {
    for (const ImportedPoint& point : table.points) {
      EXPECT_TRUE(std::isfinite(point.time.value()) && point.time.value() > 0);
      EXPECT_GT(point.bytes.value(), 0);
      ++count;
    }
  }
  for (const DroppedRow& dropped : import.dropped) {
    EXPECT_EQ(dropped.text.find('\n'), std::string::npos);
    EXPECT_LT(dropped.text.size(), 200U);
    EXPECT_FALSE(dropped.reason.empty());
  }
  return count;
}

// Reads, makes samples, and gives the number of points; 0 when refused.
std::size_t read_all(const std::string& text) {
  try {
    const NcclImport import = read_nccl_tests(text, "log");
    const std::size_t count = points_in(import);
    (void)refusal_of(import);
    return count;
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return 0;
  }
}

TEST(NcclTestsHostile, every_prefix_of_a_log_gives_the_rows_before_the_cut) {
  const std::string text = log_text("h200x2_all_reduce_nvlink.txt");
  const NcclImport whole = read_nccl_tests(text, "log");
  std::size_t before = 0;
  for (std::size_t length = 1; length < text.size(); ++length) {
    std::size_t found = 0;
    try {
      const NcclImport import = read_nccl_tests(text.substr(0, length), "log");
      found = points_in(import);
      ASSERT_LE(import.tables.size(), 1U);
      for (std::size_t i = 0; i < found; ++i) {
        ASSERT_EQ(import.tables[0].points[i].time, whole.tables[0].points[i].time)
            << "cut at " << length;
      }
    } catch (const InputError&) {
    }
    ASSERT_GE(found, before) << "cut at " << length;
    before = found;
  }
  EXPECT_EQ(before, 17U);
}

TEST(NcclTestsHostile, flipped_bytes_lose_rows_but_add_none) {
  std::mt19937 random(20260131);
  for (const std::string name :
       {"h200x2_all_reduce_nvlink.txt", "U072.txt", "U075.txt", "U082.txt"}) {
    const std::string text = log_text(name);
    const std::size_t rows = read_all(text);
    for (int round = 0; round < 300; ++round) {
      std::string damaged = text;
      for (unsigned flip = 0; flip < 1U + random() % 40U; ++flip) {
        damaged[random() % damaged.size()] = static_cast<char>(random() % 256U);
      }
      // A flipped byte may split a line in two, never invent a measurement that agrees with its
      // bandwidth.
      EXPECT_LE(read_all(damaged), rows);
    }
  }
}

TEST(NcclTestsHostile, shuffled_lines_of_several_logs_are_survived) {
  std::mt19937 random(7);
  std::vector<std::string> lines;
  for (const std::string name :
       {"h200x2_all_gather_shm.txt", "U071.txt", "U073.txt", "U078.txt", "U081.txt", "U088.txt"}) {
    std::istringstream text(log_text(name));
    for (std::string line; std::getline(text, line);) lines.push_back(line);
  }
  for (int round = 0; round < 100; ++round) {
    std::shuffle(lines.begin(), lines.end(), random);
    std::string text;
    for (const std::string& line : lines) text += line + (random() % 20 == 0 ? "" : "\n");
    read_all(text);
  }
}

TEST(NcclTestsHostile, numbers_at_the_edge_are_dropped_or_read) {
  const std::string rest = "    121.8    8.61   16.14      0    126.6    8.28   15.53      0\n";
  for (const std::string head :
       {"0 0 float sum -1", "99999999999999999999999 1 float sum -1", "-5 5 float sum -1",
        "18446744073709551615 1 float sum -1", "1048576 0 float sum -1",
        "1048576 262144 float sum 999999999999", "1e6 2 float sum -1", "0x10 4 float sum -1"}) {
    SCOPED_TRACE(head);
    EXPECT_LE(read_all("  " + head + rest), 1U);
  }
  for (const std::string numbers :
       {"0 0 0 0 0 0 0 0", "-1 1 1 0 1 1 1 0", "inf inf inf 0 1 1 1 0",
        "nan nan nan 0 nan nan nan 0", "1e999 1 1 0 1 1 1 0", "1e-320 1e300 1e300 0 1 1 1 0",
        "121.8 -8.61 16.14 0 1 1 1 0", "121.8 8.61 16.14 1e99 1 1 1 N/A", "121.8 8.61", "."}) {
    SCOPED_TRACE(numbers);
    read_all("  1048576 262144 float sum -1 " + numbers + "\n");
    read_all("  1048576 262144 float sum " + numbers);
  }
}

TEST(NcclTestsHostile, a_row_of_damaged_digits_is_counted_among_those_left_out) {
  const std::string good = "  1048576 262144 float sum -1 121.8 8.61 16.14 0 126.6 8.28 15.53 0\n";
  const std::string rest = " float sum -1 121.8 8.61 16.14 0 126.6 8.28 15.53 0\n";
  for (const std::string head :
       {"99999999999999999999999 262144", "1048576 99999999999999999999999", "-1048576 262144",
        "1048576 -262144", "18446744073709551615 262144"}) {
    const NcclImport import = read_nccl_tests(good + head + rest, "log");
    ASSERT_EQ(import.dropped.size(), 1U) << head;
    EXPECT_EQ(import.dropped.front().line, 2U);
    EXPECT_NE(import.dropped.front().reason.find("size or count"), std::string::npos);
    EXPECT_EQ(points_in(import), 1U);
  }
}

TEST(NcclTestsHostile, a_row_whose_size_is_no_number_is_counted_among_those_left_out) {
  const std::string good = "  1048576 262144 float sum -1 121.8 8.61 16.14 0 126.6 8.28 15.53 0\n";
  const std::string rest = " float sum -1 121.8 8.61 16.14 0 126.6 8.28 15.53 0\n";
  for (const std::string head : {"nan 524288", "2097152 inf", "2097\x01 524288", "524288"}) {
    const NcclImport import = read_nccl_tests(good + head + rest, "log");
    EXPECT_EQ(points_in(import), 1U) << head;
    ASSERT_EQ(import.dropped.size(), 1U) << head;
    EXPECT_EQ(import.dropped.front().line, 2U);
    EXPECT_EQ(import.dropped.front().reason, "the row's size or count is no number");
  }
  // A type's name among other words is no row.
  for (const char* line : {"time float 1 2 3 4 5 6 7 s\n", "float 1 2 3\n"})
    EXPECT_TRUE(read_nccl_tests(good + line, "log").dropped.empty()) << line;
}

TEST(NcclTestsHostile, odd_files_are_refused_in_one_line) {
  for (const std::string& text :
       {std::string(), std::string("\n\n\n"), std::string(1000, '\0'), std::string("#"),
        std::string("["), std::string("\x1b["), std::string("[0"), std::string("{"),
        std::string("{\""), std::string("{\"results\""),
        std::string("#!/bin/sh\nall_reduce_perf -g 8\n")}) {
    EXPECT_THROW((void)read_nccl_tests(text, "log"), InputError);
  }
}

TEST(NcclTestsHostile, dropped_text_has_no_control_characters) {
  const NcclImport import = read_nccl_tests(
      "  1048576 262144 float sum -1 \x1b]0;evil\x07 8.61 16.14 0 1 1 1 0\n", "log");
  ASSERT_EQ(import.dropped.size(), 1U);
  for (const char c : import.dropped[0].text + import.dropped[0].reason)
    EXPECT_GE(static_cast<unsigned char>(c), 0x20);
}

TEST(NcclTestsHostile, ten_megabytes_of_garbage_take_no_more_than_linear_time) {
#ifdef DDPX_SANITIZED  // memory is watched as well in one
  const std::size_t size = 1U << 20U;
#else
  const std::size_t size = 10U << 20U;
#endif
  std::vector<std::string> texts(5);
  while (texts[0].size() < size)
    texts[0] += "node-1:77:229 [2] NCCL INFO Channel 00/24 : 0 1 2 [send] via NET/IB/0\n";
  while (texts[1].size() < size) texts[1] += "{\"results\": [1, 2\n";
  while (texts[2].size() < size) texts[2] += "  1048576 262144 float sum -1 121.8 8.61\n";
  while (texts[3].size() < size)
    texts[3] += "  1048576 262144 float sum -1 121.8 8.61 16.14 0 126.6 8.28 15.53 0\n";
  texts[4].assign(size, 'x');
  for (const std::string& text : texts) {
    SCOPED_TRACE(text.substr(0, 40));
    // Processor time, and a bound far above the tenth of a second it takes: quadratic work would
    // take hours.
    const std::clock_t start = std::clock();
    read_all(text);
    (void)looks_like_nccl_tests(text);
    EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 60.0);
  }
}

}  // namespace
}  // namespace ddpx::io
