#include "model/error.hpp"

#include <gtest/gtest.h>

#include <string>

namespace ddpx {
namespace {

TEST(InputErrors, name_place_and_problem) {
  EXPECT_STREQ(InputError("--gpus", "0 must be at least 1").what(), "--gpus: 0 must be at least 1");
}

TEST(InputErrors, stay_one_line_whatever_the_user_typed) {
  const InputError error("--strategy", std::string("'a\nb\r\x1b[31m\0c'", 13));
  EXPECT_EQ(std::string(error.what()).find_first_of("\n\r\x1b"), std::string::npos);
}

TEST(InputErrors, stay_readable_when_the_input_is_a_megabyte) {
  const std::string message =
      InputError("--network", std::string(1 << 20, 'x') + " accepted: y").what();
  EXPECT_LT(message.size(), 700U);
  EXPECT_EQ(message.substr(0, 11), "--network: ");
  EXPECT_NE(message.find("accepted: y"), std::string::npos);
}

}  // namespace
}  // namespace ddpx
