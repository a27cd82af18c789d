// Runs the same tests on every rank. The first rank prints them all, the others what fails; any
// failure fails the run. A rank that leaves a test early leaves the others waiting for it: each
// says where it waits, and ends, when one test has taken too long.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "tests/profiler/ranks.hpp"

namespace ddpx::test {
namespace {

std::unique_ptr<engine::Device> device;
Pulse quiet;

class FailuresOnly : public testing::EmptyTestEventListener {
 public:
  explicit FailuresOnly(int rank) : rank_(rank) {}
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    std::printf("rank %d, %s: %s:%d: %s\n", rank_, test == nullptr ? "?" : test->name(),
                result.file_name() == nullptr ? "?" : result.file_name(), result.line_number(),
                result.message());
    std::fflush(stdout);  // what a rank that is killed had to say
  }

 private:
  int rank_;
};

// DDPX_TEST_SECONDS, for tests that repeat thousands of times.
unsigned patience() {
  constexpr unsigned kUsual = 120;
  const char* const text = std::getenv("DDPX_TEST_SECONDS");
  const int seconds = text == nullptr ? 0 : std::atoi(text);
  return seconds > 0 ? static_cast<unsigned>(seconds) : kUsual;
}

char waiting[256];
std::size_t waiting_length = 0;

// Nothing but what a signal handler may call.
void give_up(int /*signal*/) {
  [[maybe_unused]] const auto written = ::write(STDOUT_FILENO, waiting, waiting_length);
  ::_exit(1);
}

class Watch : public testing::EmptyTestEventListener {
 public:
  explicit Watch(int rank) : rank_(rank) { std::signal(SIGALRM, give_up); }
  void OnTestStart(const testing::TestInfo& test) override {
    const int length =
        std::snprintf(waiting, sizeof waiting, "rank %d: over %u s in %s.%s; it ends here\n", rank_,
                      patience(), test.test_suite_name(), test.name());
    waiting_length = std::min(static_cast<std::size_t>(length), sizeof waiting - 1);
    ::alarm(patience());
  }
  void OnTestEnd(const testing::TestInfo& /*test*/) override { ::alarm(0); }

 private:
  int rank_;
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
  listeners.Append(new ddpx::test::Watch(rank));
  const int result = RUN_ALL_TESTS();
  ddpx::test::device.reset();
  return result;
}
