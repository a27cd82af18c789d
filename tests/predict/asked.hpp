// What the command line's words become, on the small machine, and what is refused of them.
#pragma once

#include <initializer_list>
#include <string_view>

#include "predict/request.hpp"
#include "tests/predict/small_machine.hpp"
#include "tests/support/expect_input_error.hpp"

namespace ddpx::test {

inline Query query(const Options& options) { return query_from(options, small_resolvers()); }

inline void query_refused(const Options& options, std::initializer_list<std::string_view> words) {
  expect_input_error([&] { static_cast<void>(query(options)); }, words);
}

}  // namespace ddpx::test
