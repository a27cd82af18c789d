// What a run of ranks says when one of them leaves a test that the others wait in. Fails on
// purpose: run by itself, for what it prints.
#include <gtest/gtest.h>

#include "tests/profiler/ranks.hpp"

namespace ddpx::test {
namespace {

TEST(Leaving, DISABLED_a_test_before_the_others) {
  if (shared_device().rank() == 1) FAIL() << "on purpose";
  static_cast<void>(from_all_ranks({1}));
}

}  // namespace
}  // namespace ddpx::test
