// What tests of a program as a user runs it begin with: a directory of their own, and what a
// refusal looks like.
#pragma once

#include <gmock/gmock.h>

#include <filesystem>

#include "tests/support/program.hpp"

namespace ddpx::test {

// A directory of its own, empty at the beginning of every test.
class ProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    directory_ = std::filesystem::path(testing::TempDir()) /
                 (std::string(test->test_suite_name()) + "-" + std::to_string(::getpid()));
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (directory_ / name).string();
  }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::filesystem::path directory_;
};

// Exit code 2, one line on standard error with these words, nothing on standard output.
inline void expect_refusal(const std::string& program, const ProgramResult& result,
                           const std::vector<std::string>& words) {
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_EQ(result.lines(), 1) << result.err;
  EXPECT_THAT(result.err, testing::StartsWith(program + ": "));
  EXPECT_THAT(result.out, testing::IsEmpty());
  for (const std::string& word : words) EXPECT_THAT(result.err, testing::HasSubstr(word));
}

}  // namespace ddpx::test
