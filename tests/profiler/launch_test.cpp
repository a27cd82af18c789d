// Jobs of real processes that die, stop, fail and hang. The ranks are this test program again; they
// use no MPI.
#include "profiler/launch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "model/error.hpp"
#include "profiler/backend.hpp"
#include "profiler/child_process.hpp"
#include "profiler/job_names.hpp"
#include "profiler/rank.hpp"

namespace ddpx {
namespace {

using testing::AllOf;
using testing::HasSubstr;

void pause_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

// A rank that gets on for a while; rank 1 then misbehaves.
int be_a_rank(const RankPlace& place, const std::string& how) {
  Rank rank(place, "launch_test");
  for (std::size_t i = 0; i < 10; ++i) {
    rank.begin({i, 100, Seconds(9), "step " + std::to_string(i)});
    if (rank.is_first()) rank.publish("finished " + std::to_string(i));
    pause_for(0.02);
  }
  rank.begin({10, 100, Seconds(9), "the bad step"});
  if (place.rank == 1) {
    if (how == "kill") std::raise(SIGKILL);
    if (how == "stop") std::raise(SIGSTOP);
    if (how == "exit") std::exit(7);
    if (how == "terminate") std::raise(SIGTERM);
    if (how == "fail" || how == "refuse") {
      rank.fail(how == "fail" ? "no memory" : "--flag: is wrong",
                how == "fail" ? RankState::failed : RankState::refused);
      std::_Exit(3);
    }
    if (how == "link") {
      rank.fail("GPUs 0 and 1: nothing arrived", RankState::link_hung);
      std::_Exit(3);
    }
    if (how == "hang") pause_for(60);
  }
  if (how != "finish" && how != "slow") {
    rank.waiting(true);
    pause_for(60);
  }
  for (std::size_t i = 0; how == "slow" && i < 600; ++i) {
    rank.begin({10, 100, Seconds(9), "a slow step"});
    pause_for(0.1);
  }
  rank.finish();
  return 0;
}

struct Outcome {
  std::string message = "finished";
  std::optional<std::string> results;
  double seconds = 0;   // since the bad step began
  double busyness = 1;  // the most there was meanwhile
};

JobOptions options_for(const std::string& how, Library library) {
  JobOptions options;
  options.library = library;
  options.command = {own_command().front(), "--as-rank", how};
  options.limits.hang = Seconds(4);
  options.limits.silence = Seconds(3);
  return options;
}

// Of the jobs of one process.
std::vector<std::string> job_directories(int program = ::getpid()) {
  const std::string prefix = kJobPrefix + std::to_string(program) + "-";
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(job_root())) {
    if (entry.path().filename().string().starts_with(prefix)) found.push_back(entry.path());
  }
  return found;
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Ranks `how` that this process, or another `program`, started: other tests may run beside it.
int ranks_left(const std::string& how, int program = ::getpid()) {
  const std::string launcher =
      std::string(kLauncherVariable) + "=" + std::to_string(program) + std::string(1, '\0');
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    if (contents(entry.path() / "cmdline").find(std::string("--as-rank\0", 10) + how) !=
            std::string::npos &&
        contents(entry.path() / "environ").find(launcher) != std::string::npos)
      ++count;
  }
  return count;
}

Outcome outcome_of(const JobOptions& options) {
  Outcome outcome;
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> start;
  {
    RankJob job(options);
    try {
      job.run([&](const JobProgress& progress) {
        if (!start && progress.done == 10) start = Clock::now();
        outcome.busyness = std::max(outcome.busyness, busyness());
      });
    } catch (const std::exception& error) {
      outcome.message = error.what();
    }
    outcome.results = job.results();
  }
  if (start) outcome.seconds = std::chrono::duration<double>(Clock::now() - *start).count();
  return outcome;
}

class Launch : public testing::TestWithParam<Library> {
 protected:
  void SetUp() override {
    if (GetParam() == Library::mpi && !in_path("mpirun")) GTEST_SKIP() << "mpirun is not installed";
  }

  static JobOptions options_for(const std::string& how) {
    return ddpx::options_for(how, GetParam());
  }

  // On a host that has nothing else to do; on others the limits are longer.
  static void expect_within_ten_seconds(const Outcome& outcome) {
    EXPECT_LT(outcome.seconds, 10 * outcome.busyness);
  }

  static void expect_failure(const std::string& how, const testing::Matcher<std::string>& says) {
    const Outcome outcome = outcome_of(options_for(how));
    EXPECT_THAT(outcome.message, says);
    EXPECT_EQ(outcome.results, "finished 9");
    expect_within_ten_seconds(outcome);
    EXPECT_EQ(ranks_left(how), 0);
  }
};

TEST_P(Launch, a_job_that_finishes_brings_its_results_and_leaves_nothing) {
  const auto before = job_directories();
  JobOptions options = options_for("finish");
  options.ranks = 3;
  const Outcome outcome = outcome_of(options);
  EXPECT_EQ(outcome.message, "finished");
  EXPECT_EQ(outcome.results, "finished 9");
  EXPECT_EQ(job_directories(), before);
}

TEST_P(Launch, progress_reaches_whoever_waits) {
  RankJob job(options_for("finish"));
  std::size_t furthest = 0;
  job.run([&](const JobProgress& progress) {
    furthest = std::max(furthest, progress.done);
    if (progress.total > 0) {
      EXPECT_EQ(progress.total, 100U);
    }
  });
  EXPECT_GT(furthest, 0U);
}

TEST_P(Launch, a_killed_rank_is_named_with_its_operation_and_signal) {
  expect_failure("kill", AllOf(HasSubstr("rank 1 was killed"), HasSubstr("signal 9"),
                               HasSubstr("the bad step")));
}

TEST_P(Launch, a_stopped_rank_is_named_with_its_operation) {
  expect_failure("stop", AllOf(HasSubstr("rank 1 is stopped"), HasSubstr("the bad step")));
}

TEST_P(Launch, a_rank_that_exits_in_the_middle_is_named_with_its_operation) {
  expect_failure("exit", AllOf(HasSubstr("rank 1 ended in the middle"), HasSubstr("the bad step")));
}

TEST_P(Launch, a_terminated_rank_is_named_with_its_operation) {
  expect_failure("terminate", AllOf(HasSubstr("rank 1 was terminated"), HasSubstr("the bad step")));
}

TEST_P(Launch, a_failing_rank_is_named_with_its_problem) {
  expect_failure("fail", AllOf(HasSubstr("rank 1 failed: no memory"), HasSubstr("the bad step")));
}

TEST_P(Launch, what_a_rank_refuses_arrives_as_bad_input) {
  RankJob job(options_for("refuse"));
  try {
    job.run([](const JobProgress&) {});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "--flag: is wrong");
  }
}

TEST_P(Launch, a_link_over_which_nothing_arrives_is_told_from_other_failures) {
  RankJob job(options_for("link"));
  EXPECT_THAT([&] { job.run([](const JobProgress&) {}); },
              testing::ThrowsMessage<LinkHung>(HasSubstr("GPUs 0 and 1: nothing arrived")));
}

TEST_P(Launch, a_hanging_rank_is_named_and_not_those_that_wait_for_it) {
  expect_failure("hang", AllOf(HasSubstr("rank 1 has not got on"), HasSubstr("the bad step")));
}

TEST_P(Launch, ranks_that_all_wait_for_one_another_are_ended_within_ten_seconds) {
  JobOptions options = options_for("wait for ever");
  options.limits = {};
  const Outcome outcome = outcome_of(options);
  EXPECT_THAT(outcome.message,
              AllOf(HasSubstr("has waited for the others for "), HasSubstr("the bad step")));
  expect_within_ten_seconds(outcome);
  EXPECT_GT(outcome.seconds, 7);  // of the 8 that a piece of work may take
  EXPECT_EQ(ranks_left("wait for ever"), 0);
}

TEST_P(Launch, a_signal_ends_the_job_and_leaves_nothing) {
  for (int signal : {SIGINT, SIGTERM}) {
    const auto before = job_directories();
    std::thread sender([signal] {
      pause_for(1.5);
      ::kill(::getpid(), signal);
    });
    const Outcome outcome = outcome_of(options_for("slow"));
    sender.join();
    EXPECT_EQ(outcome.message, "interrupted");
    expect_within_ten_seconds(outcome);
    EXPECT_EQ(ranks_left("slow"), 0);
    EXPECT_EQ(job_directories(), before);
  }
}

TEST_P(Launch, ranks_end_when_whoever_started_them_is_killed) {
  const int child = ::fork();
  if (child == 0) {
    static_cast<void>(outcome_of(options_for("slow")));
    ::_exit(0);
  }
  for (int i = 0; i < 200 && ranks_left("slow", child) < 2; ++i) pause_for(0.1);
  EXPECT_GE(ranks_left("slow", child), 2);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  for (int i = 0; i < 100 && ranks_left("slow", child) > 0; ++i) pause_for(0.1);
  EXPECT_EQ(ranks_left("slow", child), 0);
  // Its files are gone by the next job: those of the last ten seconds could still be somebody's.
  for (const std::string& directory : job_directories(child)) {
    std::filesystem::last_write_time(
        directory, std::filesystem::file_time_type::clock::now() - std::chrono::minutes(1));
  }
  const RankJob next(options_for("finish"));
  EXPECT_TRUE(job_directories(child).empty());
}

TEST_P(Launch, a_program_that_is_not_there_is_said) {
  JobOptions options;
  options.command = {"/no/such/program"};
  options.library = GetParam();
  EXPECT_THAT(outcome_of(options).message, HasSubstr("ended with status"));
}

INSTANTIATE_TEST_SUITE_P(Starters, Launch, testing::Values(Library::mpi, Library::nccl),
                         [](const testing::TestParamInfo<Library>& starter) {
                           return starter.param == Library::mpi ? "ByMpirun" : "ByTheProgram";
                         });

TEST(LaunchWithoutMpirun, says_which_package_has_it) {
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", "/nowhere", 1);
  EXPECT_THAT([] { RankJob job(JobOptions{}); },
              testing::ThrowsMessage<DeviceError>(HasSubstr("install openmpi-bin")));
  ::setenv("PATH", path.c_str(), 1);
}

}  // namespace
}  // namespace ddpx

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--as-rank") {
    const auto place = ddpx::rank_place();
    return place ? ddpx::be_a_rank(*place, argv[2]) : 1;
  }
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
