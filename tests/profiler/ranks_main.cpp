// Runs the same tests on every rank. The first rank prints them all, the others what fails; any
// failure fails the run. After each test the ranks exchange how they came out of it, beside their
// device: ranks that disagree end there, with one line (rank_outcomes.hpp). A test that takes too
// long says where, and ends.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/profiler/rank_outcomes.hpp"
#include "tests/profiler/ranks.hpp"

namespace ddpx::test {
namespace {

std::unique_ptr<engine::Device> device;
Pulse quiet;

class FailuresOnly : public testing::EmptyTestEventListener {
 public:
  explicit FailuresOnly(int rank) : rank_(rank) {}
  void OnTestStart(const testing::TestInfo& test) override { test_ = test.name(); }
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    // Not by asking UnitTest for its current test: it holds the lock that this would take.
    std::printf("rank %d, %s: %s:%d: %s\n", rank_, test_.c_str(),
                result.file_name() == nullptr ? "?" : result.file_name(), result.line_number(),
                result.message());
    std::fflush(stdout);  // what a rank that is killed had to say
  }

 private:
  int rank_;
  std::string test_ = "?";
};

unsigned seconds_in(const char* variable, unsigned usual) {
  const char* const text = std::getenv(variable);
  const int seconds = text == nullptr ? 0 : std::atoi(text);
  return seconds > 0 ? static_cast<unsigned>(seconds) : usual;
}

// For one test; tests that repeat thousands of times want more.
unsigned patience() { return seconds_in("DDPX_TEST_SECONDS", 120); }
// For the others to come out of a test that this rank has left.
std::chrono::seconds to_come() {
  return std::chrono::seconds(seconds_in("DDPX_TEST_SECONDS_TO_COME", 10));
}

char last_words[256];
std::size_t last_words_length = 0;

// Nothing but what a signal handler may call.
void give_up(int /*signal*/) {
  [[maybe_unused]] const auto written = ::write(STDOUT_FILENO, last_words, last_words_length);
  ::_exit(1);
}

class Watch : public testing::EmptyTestEventListener {
 public:
  explicit Watch(engine::Device& d) : rank_(d.rank()), outcomes_(d) {
    std::signal(SIGALRM, give_up);
  }
  void OnTestStart(const testing::TestInfo& test) override {
    alarm_in(patience(), "over " + std::to_string(patience()) + " s in " + name_of(test));
  }
  void OnTestEnd(const testing::TestInfo& test) override {
    ::alarm(0);
    outcomes_.exchange(name_of(test), early(*test.result()), to_come());
  }

 private:
  // Whether the test may not have reached its end: an exception counts as a fatal failure, too, and
  // of one in a function that the test calls nothing says that it went on.
  static std::string early(const testing::TestResult& result) {
    if (result.HasFatalFailure()) return "failed";
    return result.Skipped() ? "skipped" : "";
  }
  static std::string name_of(const testing::TestInfo& test) {
    return std::string(test.test_suite_name()) + "." + test.name();
  }

  void alarm_in(unsigned seconds, const std::string& words) {
    ::alarm(0);
    const int length = std::snprintf(last_words, sizeof last_words, "rank %d: %s; it ends here\n",
                                     rank_, words.c_str());
    last_words_length = std::min(static_cast<std::size_t>(length), sizeof last_words - 1);
    ::alarm(seconds);
  }

  int rank_;
  RankOutcomes outcomes_;
};

}  // namespace

engine::Device& shared_device() { return *device; }

// proc(5): the second number, in pages.
double host_bytes() {
  std::ifstream file("/proc/self/statm");
  double size = 0;
  double resident = 0;
  file >> size >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGE_SIZE));
}

std::vector<std::vector<float>> from_all_ranks(const std::vector<float>& mine) {
  engine::Device& d = shared_device();
  const auto ranks = static_cast<std::size_t>(d.ranks());
  const engine::Buffer shard = d.allocate(mine.size(), DType::fp32);
  const engine::Buffer whole = d.allocate(ranks * mine.size(), DType::fp32);
  d.upload(mine, shard.all());
  d.collective(Collective::all_gather, shard.all(), whole.all());
  std::vector<float> flat(ranks * mine.size());
  d.download(whole.all(), flat);
  std::vector<std::vector<float>> all;
  for (std::size_t r = 0; r < ranks; ++r) {
    const auto begin = flat.begin() + static_cast<std::ptrdiff_t>(r * mine.size());
    all.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(mine.size()));
  }
  return all;
}

// The largest value and the negated smallest over all ranks say whether they differ anywhere.
bool same_on_all_ranks(const std::vector<double>& values) {
  std::vector<double> most = values;
  std::vector<double> least(values.size());
  std::transform(values.begin(), values.end(), least.begin(), [](double v) { return -v; });
  shared_device().maximum(most);
  shared_device().maximum(least);
  return std::equal(most.begin(), most.end(), least.begin(),
                    [](double a, double b) { return a == -b; });
}

}  // namespace ddpx::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  ddpx::test::device = ddpx::test::make_shared_device(ddpx::test::quiet);
  const int rank = ddpx::test::device->rank();
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new ddpx::test::FailuresOnly(rank));
  }
  listeners.Append(new ddpx::test::Watch(*ddpx::test::device));
  const int result = RUN_ALL_TESTS();
  ddpx::test::device.reset();
  return result;
}
