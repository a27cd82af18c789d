#include "io/log_text.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "io/file.hpp"
#include "io/nccl_tests.hpp"
#include "tests/support/expect_input_error.hpp"

namespace ddpx::io {
namespace {

std::string filtered(std::string_view text, std::size_t piece) {
  LogFilter filter;
  for (std::size_t at = 0; at < text.size(); at += piece) filter.add(text.substr(at, piece));
  return filter.take();
}

// What the importer makes of a log, as text.
std::string summary(const std::string& text) {
  std::ostringstream out;
  try {
    const NcclImport import = read_nccl_tests(text, "log");
    for (const ImportedTable& table : import.tables) {
      out << table.collective << ' ' << table.ranks << ' ' << table.hosts << ' ' << table.version
          << '\n';
      for (const ImportedPoint& p : table.points)
        out << p.line << ' ' << p.bytes.value() << ' ' << p.time.value() << '\n';
    }
    for (const DroppedRow& row : import.dropped) out << row.line << ' ' << row.reason << '\n';
    for (const std::string& note : import.notes) out << note << '\n';
  } catch (const std::exception& error) {
    out << error.what() << '\n';
  }
  return out.str();
}

TEST(LogText, filtered_logs_give_the_same_rows_lines_and_notes) {
  std::size_t logs = 0;
  for (const auto& entry : std::filesystem::directory_iterator("tests/io/inputs")) {
    if (entry.path().extension() != ".txt") continue;
    const std::string text = read_text(entry.path().string());
    for (std::size_t piece : {std::size_t{7}, std::size_t{4096}})
      EXPECT_EQ(summary(filtered(text, piece)), summary(text)) << entry.path();
    ++logs;
  }
  EXPECT_GT(logs, 20U);
}

TEST(LogText, utf16_is_told_with_its_mark_and_without) {
  const std::string text = "#  size  count  type  redop  time  algbw  busbw\n";
  std::string little;
  std::string big;
  for (const char c : text) {
    little += {c, '\0'};
    big += {'\0', c};
  }
  const auto refused = [](const std::string& wide, const std::string& from) {
    test::expect_input_error([&] { refuse_wide_text(wide, "log.txt"); },
                             {"log.txt", "iconv -f " + from + " -t UTF-8"});
  };
  refused(little, "UTF-16LE");
  refused(big, "UTF-16BE");
  refused("\xff\xfe" + little, "UTF-16");
  refused("\xfe\xff" + big, "UTF-16");
  for (const std::string& plain :
       {text, std::string(), std::string("a\0", 2), std::string(64, '\0'), "\xef\xbb\xbf" + text})
    refuse_wide_text(plain, "log.txt");
}

TEST(LogText, nccls_own_lines_and_training_output_are_emptied) {
  EXPECT_FALSE(may_matter("node-3:77:229 [2] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC"));
  EXPECT_FALSE(may_matter("step 120 loss 2.31 tokens/s 18234"));
  EXPECT_TRUE(may_matter("   64   16   float   sum   -1node-3:77:229 [0] NCCL INFO comm 0x55"));
  EXPECT_TRUE(may_matter("node-3:77:229 [0] NCCL INFO comm 0x55 rank 0 nranks 8 cudaDev 0"));
  EXPECT_TRUE(may_matter("  10.55    0.00    0.00      0    10.65    0.00    0.00    N/A"));
}

TEST(LogText, a_log_larger_than_is_held_is_read_from_a_file) {
  const std::string path = testing::TempDir() + "large-" + std::to_string(::getpid()) + ".txt";
  {
    std::ofstream file(path);
    const std::string noise(200, 'x');
    for (std::size_t i = 0; i < kLargestLog / 150; ++i)
      file << "host:1:2 [0] NCCL INFO " << noise.substr(0, 130) << '\n';
    file << read_text("tests/io/inputs/U069b.txt");
  }
  const std::string text = read_log(path);
  EXPECT_LT(text.size(), kLargestLog / 50);
  EXPECT_TRUE(looks_like_nccl_tests(text));  // the table is behind 100,000 other lines
  EXPECT_EQ(read_nccl_tests(text, "log").tables.front().points.size(), 11U);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace ddpx::io
