// What every test of bad input asks: the type, one line, and the words that let a user fix it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "model/error.hpp"

namespace ddpx::test {

template <class Action>
void expect_input_error(Action action, std::initializer_list<std::string_view> words) {
  try {
    action();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const InputError& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    for (std::string_view word : words) {
      EXPECT_THAT(message, testing::HasSubstr(std::string(word)));
    }
  }
}

}  // namespace ddpx::test
