// Measured runs that --diagnose is told of, over links by their figures.
#pragma once

#include "predict/diagnose.hpp"
#include "predict/link_text.hpp"
#include "tests/predict/small_machine.hpp"
#include "tests/support/expect_input_error.hpp"

namespace ddpx::test {

inline Options run_of(const char* steps) {
  Options o;
  o.diagnose = steps;
  return o;
}

inline Resolvers diagnose_resolvers() {
  Resolvers names = small_resolvers();
  names.link = [](std::string_view, const std::optional<std::string>& name, const Machine&) {
    return link_from_figures("--link", name.value());
  };
  return names;
}

inline DiagnosedRun diagnosed(const Options& options) {
  return *diagnose(options, diagnose_resolvers()).diagnosed;
}

inline void not_diagnosed(const Options& options, std::initializer_list<std::string_view> words) {
  expect_input_error([&] { static_cast<void>(diagnosed(options)); }, words);
}

}  // namespace ddpx::test
