#include "io/nvbandwidth.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "model/error.hpp"
#include "tests/support/expect_input_error.hpp"

namespace ddpx::io {
namespace {

using test::expect_input_error;

const std::string kText =
    "nvbandwidth Version: v0.8\nBuilt from Git version: v0.8\n\nCUDA Runtime Version: 13000\n"
    "Device 0: NVIDIA H200 (00000000:06:00)\nDevice 1: NVIDIA H200 (00000000:07:00)\n\n"
    "Running host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n"
    "           0         1\n 0     55.39     55.12\n\nSUM host_to_device_memcpy_ce 110.51\n\n"
    "Running device_to_device_memcpy_read_ce.\nmemcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"
    "           0         1\n 0       N/A    396.07\n 1    395.36       N/A\n\n"
    "SUM device_to_device_memcpy_read_ce 791.43\n";

TEST(NvBandwidth, matrices_are_read_with_their_test_and_without_na) {
  ASSERT_TRUE(looks_like_nvbandwidth(kText));
  const NvBandwidth measured = read_nvbandwidth(kText, "nvb.txt");
  ASSERT_EQ(measured.matrices.size(), 2U);
  EXPECT_EQ(measured.matrices[0].test, "host_to_device_memcpy_ce");
  EXPECT_EQ(measured.matrices[0].rates.at(0).at(1), BytesPerSecond(55.12e9));
  EXPECT_EQ(measured.matrices[1].rates.at(0).at(0), std::nullopt);
  EXPECT_EQ(slowest_pair(measured), BytesPerSecond(395.36e9));
  EXPECT_EQ(measured.dropped, 0U);
}

TEST(NvBandwidth, json_gives_the_same) {
  const std::string json =
      R"({"nvbandwidth": {"CUDA Runtime Version": 13000, "testcases": [
        {"name": "device_to_device_memcpy_read_ce", "status": "Passed",
         "bandwidth_matrix": [["N/A", "396.07"], ["395.36", "N/A"]], "sum": 791.43},
        {"name": "multinode_device_to_device", "status": "Waived"}]}})";
  ASSERT_TRUE(looks_like_nvbandwidth(json));
  EXPECT_EQ(slowest_pair(read_nvbandwidth(json, "nvb.json")), BytesPerSecond(395.36e9));
  std::string bad = json;
  bad.replace(bad.find("396.07"), 6, "-1e999");
  expect_input_error([&] { static_cast<void>(read_nvbandwidth(bad, "nvb.json")); },
                     {"nvb.json", "bandwidth_matrix[0][1]", "-1e999"});
}

TEST(NvBandwidth, cut_and_spoilt_rows_are_counted) {
  std::string text = kText;
  text.replace(text.find("395.36"), 6, "395.3x");
  const NvBandwidth measured = read_nvbandwidth(text, "nvb.txt");
  EXPECT_EQ(measured.dropped, 1U);
  EXPECT_EQ(slowest_pair(measured), BytesPerSecond(396.07e9));
}

// Three GPUs, of which the third copies to the second at 120.5 GB/s.
const std::string kThree =
    "Running device_to_device_memcpy_read_ce.\nmemcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"
    "           0         1         2\n 0       N/A    392.1    395.0\n 1     391.0      N/A    "
    "394.0\n"
    " 2     393.0     120.5      N/A\n";

TEST(NvBandwidth, pairs_that_are_not_there_are_counted_with_line_and_reason) {
  const NvBandwidth whole = read_nvbandwidth(kThree, "nvb.txt");
  EXPECT_EQ(slowest_pair(whole), BytesPerSecond(120.5e9));
  EXPECT_EQ(whole.pairs_missing, 0U);
  const NvBandwidth cut = read_nvbandwidth(kThree.substr(0, kThree.find("120.5")), "nvb.txt");
  EXPECT_EQ(cut.pairs_missing, 2U);
  ASSERT_EQ(cut.notes.size(), 2U);
  EXPECT_EQ(cut.notes[0], "line 6 left out: the row is cut: 1 of 3 cells");
  EXPECT_NE(cut.notes[1].find("2 of 6 pairs are missing"), std::string::npos);
  const NvBandwidth none = read_nvbandwidth(kThree.substr(0, kThree.find(" 2     393")), "nvb.txt");
  EXPECT_EQ(none.pairs_missing, 2U);
}

TEST(NvBandwidth, a_pair_at_0_is_no_bandwidth_but_a_pair_that_does_not_work) {
  std::string text = kThree;
  text.replace(text.find("392.1"), 5, "0.00 ");
  const NvBandwidth measured = read_nvbandwidth(text, "nvb.txt");
  ASSERT_EQ(measured.dead.size(), 1U);
  EXPECT_EQ(measured.dead[0].row, 0U);
  EXPECT_EQ(measured.dead[0].column, 1U);
  EXPECT_EQ(measured.pairs_missing, 0U);
  EXPECT_EQ(slowest_pair(measured), BytesPerSecond(120.5e9));
}

TEST(NvBandwidth, is_read_behind_what_a_logger_writes_before_every_line) {
  std::string text;
  std::istringstream lines(kText);
  for (std::string line; std::getline(lines, line);) text += "2024-05-01T12:00:00Z " + line + "\n";
  EXPECT_EQ(slowest_pair(read_nvbandwidth(text, "nvb.txt")), BytesPerSecond(395.36e9));
  EXPECT_EQ(read_nvbandwidth(text, "nvb.txt").pairs_missing, 0U);
}

TEST(NvBandwidth, every_prefix_is_read_or_refused_and_other_text_is_refused) {
  for (std::size_t n = 0; n < kText.size(); ++n) {
    try {
      static_cast<void>(read_nvbandwidth(kText.substr(0, n), "p"));
    } catch (const InputError&) {
    }
  }
  expect_input_error([] { static_cast<void>(read_nvbandwidth("hello\n", "nvb.txt")); },
                     {"nvb.txt", "no matrix of nvbandwidth"});
}

}  // namespace
}  // namespace ddpx::io
