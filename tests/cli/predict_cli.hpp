// What tests of ddpx-predict as a user runs it begin with.
#pragma once

#include <string>
#include <vector>

#include "tests/support/program_test.hpp"

namespace ddpx::test {

inline ProgramResult predict(const std::vector<std::string>& arguments,
                             const std::string& redirection = "", const std::string& input = "") {
  return run_program("ddpx-predict", arguments, redirection, input);
}

inline void expect_predict_refusal(const ProgramResult& result,
                                   const std::vector<std::string>& words) {
  expect_refusal("ddpx-predict", result, words);
}

}  // namespace ddpx::test
