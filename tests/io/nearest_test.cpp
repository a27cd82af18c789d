#include "io/nearest.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace ddpx::io {
namespace {

const std::vector<std::string> kLinks{"nvlink4", "pcie3", "pcie4"};

TEST(Nearest, a_slip_of_the_pen_is_recognised_and_everything_accepted_is_listed) {
  EXPECT_EQ(did_you_mean("pcie33", kLinks), "did you mean pcie3? accepted: nvlink4, pcie3, pcie4");
  EXPECT_EQ(did_you_mean("nvlnk4", kLinks),
            "did you mean nvlink4? accepted: nvlink4, pcie3, pcie4");
}

TEST(Nearest, a_word_that_is_near_to_nothing_gets_the_list_alone) {
  EXPECT_EQ(did_you_mean("infiniband", kLinks), "accepted: nvlink4, pcie3, pcie4");
  EXPECT_EQ(did_you_mean(std::string(100000, 'x'), kLinks), "accepted: nvlink4, pcie3, pcie4");
  EXPECT_EQ(did_you_mean("", kLinks), "accepted: nvlink4, pcie3, pcie4");
}

TEST(Nearest, of_nothing_says_so) { EXPECT_EQ(did_you_mean("x", {}), "none is known"); }

}  // namespace
}  // namespace ddpx::io
