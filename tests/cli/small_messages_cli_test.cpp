// Logs whose messages are too small to show a bandwidth, and that what is written can be read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tests/support/program.hpp"

namespace ddpx::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kForecast = "ddpx-predict";
constexpr const char* kSmall = "tests/io/inputs/U112.txt";  // to 2 KiB

std::vector<std::string> asked(const std::vector<std::string>& more) {
  std::vector<std::string> words{"--link", kSmall, "--network", "mlp:width=4096,depth=8"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(SmallMessages, larger_ones_than_a_log_of_latency_has_are_refused_whatever_is_asked) {
  const std::vector<std::vector<std::string>> questions{{},
                                                        {"--require", "speedup=1.5"},
                                                        {"--rank-strategies"},
                                                        {"--explain"},
                                                        {"--crossover"},
                                                        {"--strategy", "fsdp=block"}};
  for (const auto& question : questions) {
    const ProgramResult result = run_program(kForecast, asked(question));
    EXPECT_EQ(result.exit_code, 2) << result.out;
    EXPECT_EQ(result.lines(), 1) << result.err;
    EXPECT_THAT(result.err, AllOf(HasSubstr("--link: "), HasSubstr("2.05 KB"), HasSubstr("-e 1G")));
  }
  const ProgramResult between =
      run_program(kForecast, {"--link", "nvlink3", "--inter-link", kSmall, "--gpus", "2x8",
                              "--network", "mlp:width=4096,depth=8"});
  EXPECT_EQ(between.exit_code, 2);
  EXPECT_THAT(between.err, AllOf(HasSubstr("--inter-link: "), HasSubstr("2.05 KB")));
  const ProgramResult diagnosed = run_program(
      kForecast, {"--diagnose", "t1=100ms,t2=130ms", "--params", "100M", "--link", kSmall});
  EXPECT_EQ(diagnosed.exit_code, 2);
  EXPECT_THAT(diagnosed.err, HasSubstr("2.05 KB"));
}

TEST(SmallMessages, those_that_were_measured_are_forecast) {
  const std::string log = "tests/io/inputs/U039.txt";  // to 32 KiB
  const std::vector<std::string> small{"--link", log, "--network", "mlp:width=8,depth=1"};
  const ProgramResult result = run_program(kForecast, small);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("batch 256 per rank pays"));
  std::vector<std::string> required = small;
  required.insert(required.end(), {"--require", "speedup=1.5"});
  EXPECT_THAT(run_program(kForecast, required).out, HasSubstr("than was measured"));
}

TEST(SmallMessages, what_is_calibrated_from_a_log_can_be_read_again) {
  const std::string links =
      testing::TempDir() + "ddpx-written-" + std::to_string(::getpid()) + ".json";
  int written = 0;
  for (const auto& entry : fs::directory_iterator("tests/io/inputs")) {
    if (!entry.is_regular_file()) continue;
    fs::remove(links);
    const std::string log = entry.path().string();
    const ProgramResult fitted = run_program("ddpx-calibrate", {"--from", log, "-o", links});
    if (fitted.exit_code != 0) {
      EXPECT_FALSE(fs::exists(links)) << log;
      continue;
    }
    ++written;
    // What is refused of it is never of the file itself.
    const ProgramResult read =
        run_program(kForecast, {"--link", links, "--network", "mlp:width=8,depth=1"});
    EXPECT_THAT(read.err, Not(HasSubstr("links["))) << log;
  }
  EXPECT_GT(written, 10);
  fs::remove(links);
}

}  // namespace
}  // namespace ddpx::test
