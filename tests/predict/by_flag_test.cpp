#include "predict/by_flag.hpp"

#include <gtest/gtest.h>

namespace ddpx {
namespace {

std::string said(const char* place, const char* problem) {
  return by_flag(InputError(place, problem)).what();
}

TEST(ByFlag, what_has_a_name_is_said_of_the_flag_that_gave_it) {
  EXPECT_EQ(said("link pcie3", "has no curve"), "--link: 'pcie3' has no curve");
  EXPECT_EQ(said("network mlp:width=8", "has no layers"), "--network: 'mlp:width=8' has no layers");
  EXPECT_EQ(said("machine t4x2", "has no bf16: fp32"), "--machine: 't4x2' has no bf16: fp32");
}

TEST(ByFlag, what_is_said_of_a_flag_or_a_file_stays) {
  EXPECT_EQ(said("--link", "is missing"), "--link: is missing");
  EXPECT_EQ(said("links.json", "is empty"), "links.json: is empty");
  EXPECT_EQ(said("link ", "x"), "link : x");
}

}  // namespace
}  // namespace ddpx
