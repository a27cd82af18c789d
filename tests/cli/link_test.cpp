// The whole loop on a link that is really slow: loopback shaped to 0.25 Gb/s in a network namespace
// of its own.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "nlohmann/json.hpp"
#include "tests/support/program.hpp"

namespace ddpx {
namespace {

namespace fs = std::filesystem;

bool works(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

TEST(
    Link,
    a_forecast_from_the_slow_links_curve_alone_meets_fresh_runs_there_and_says_rightly_that_it_does_not_pay) {
  const std::string enter = ::geteuid() == 0 ? "unshare -n" : "unshare -rn";
  const std::string shaping =
      " sh -c 'ip link set lo up && tc qdisc add dev lo root tbf rate 250mbit burst 128kb latency "
      "100ms'";
  if (!works(enter + shaping))
    GTEST_SKIP() << "no shaped loopback here: '" << enter << shaping << "' fails";
  const fs::path folder =
      fs::path(testing::TempDir()) / ("ddpx-link-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const std::string log = (folder / "log").string();
  const int status =
      std::system((enter + " bash tests/cli/link_loop.sh " + test::shell_quoted(folder.string()) +
                   " 2>" + test::shell_quoted(log))
                      .c_str());
  ASSERT_EQ(status, 0) << test::slurp(log);
  const auto validation = nlohmann::json::parse(test::slurp((folder / "validation.json").string()));
  const auto& row = validation.at("rows").at(0);
  EXPECT_EQ(row.at("verdict"), "does_not_pay");
  EXPECT_EQ(row.at("verdict_right"), true);
  // 1.12 MB there and back over a link that both directions share.
  EXPECT_NEAR(row.at("measured_step_time_s").at("value").get<double>(), 2 * 279616 * 4.0 / 31.25e6,
              0.02);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace ddpx
