// One network on one GPU and on two: what is asked of plans and of conditions begins with.
#pragma once

#include "predict/table.hpp"
#include "tests/predict/small_machine.hpp"
#include "tests/support/expect_fits.hpp"
#include "tests/support/expect_input_error.hpp"
#include "tests/support/lines.hpp"

namespace ddpx::test {

inline Options question() {
  Options o;
  o.networks = {"mlp:width=1024"};
  o.gpus = "1,2";
  return o;
}

inline void not_answered(const Options& options, std::initializer_list<std::string_view> words) {
  expect_input_error([&] { static_cast<void>(answer(options)); }, words);
}

// In one line, after its lines were seen to fit.
inline std::string text_for(const Options& options) {
  const std::string text = text_of(answer(options));
  expect_fits(text);
  return unwrapped(text);
}

}  // namespace ddpx::test
