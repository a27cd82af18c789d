#include "predict/rank_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/expect_input_error.hpp"

namespace ddpx {
namespace {

using testing::ElementsAre;

void report_refused(std::string_view text, std::initializer_list<std::string_view> words) {
  test::expect_input_error([&] { static_cast<void>(rank_times("--rank-compute log", text)); },
                           words);
}

TEST(RankReport, is_read_whatever_the_launcher_puts_before_its_lines) {
  EXPECT_THAT(rank_times("x",
                         "[default0]:=== Straggler Report at Step 10 ===\n"
                         "[default0]:    Min: 9.17ms, Max: 10.12ms, Slowdown: 1.10x\r\n"
                         "[default0]:    Rank 1: 10.12ms\r\n"
                         "[1,0]<stdout>:Rank 0: 9.98ms (slow)\n"
                         "Rank 2:  2s"),
              ElementsAre(Seconds(9.98 * 1e-3), Seconds(10.12 * 1e-3), Seconds(2)));
}

TEST(RankReport, that_is_incomplete_or_hostile_is_refused_by_line) {
  report_refused("", {"--rank-compute log", "no rank's time", "Rank 3: 9.40ms"});
  report_refused("Rank 0 9ms\nRank : 9ms\nRank 1:\nrank 0: 9ms\n", {"no rank's time"});
  report_refused("Rank 0: 9ms\nRank 0: 9ms\n", {"line 2", "rank 0 again"});
  report_refused("Rank 0: 9ms\nRank 2: 9ms\n", {"no time of rank 1", "rank 2"});
  report_refused("Rank 0: 9ms\n\nRank 1: -9ms\n", {"line 3", "'-9ms' is negative"});
  report_refused("Rank 0: 9\n", {"line 1", "needs a unit"});
  report_refused("Rank -1: 9ms\n", {"line 1", "rank -1"});
  report_refused("Rank 99999999: 9ms\n", {"line 1", "0 to 65535"});
  report_refused("Rank 99999999999999999999: 9ms\n", {"no rank's time"});
  report_refused("Rank 0: nan\n", {"line 1", "no finite number"});
}

}  // namespace
}  // namespace ddpx
