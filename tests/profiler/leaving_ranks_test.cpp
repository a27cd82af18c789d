// What a run of ranks says when one of them leaves a test that the others wait in, or ends
// otherwise than they do. Fails on purpose: run by itself, for what it prints.
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/profiler/ranks.hpp"

namespace ddpx::test {
namespace {

bool leaves() { return shared_device().rank() == 1; }

// Any barrier of the rank that left, after the test, would pair with this one.
TEST(Leaving, DISABLED_by_failing) {
  if (leaves()) FAIL() << "on purpose";
  shared_device().barrier();
}

TEST(Leaving, DISABLED_by_skipping) {
  if (leaves()) GTEST_SKIP() << "on purpose";
  shared_device().barrier();
}

TEST(Leaving, DISABLED_by_throwing) {
  if (leaves()) throw std::runtime_error("on purpose");
  shared_device().barrier();
}

TEST(Leaving, DISABLED_by_returning) {
  if (leaves()) return;
  shared_device().barrier();
}

TEST(Leaving, DISABLED_at_its_end) {
  shared_device().barrier();
  if (leaves()) FAIL() << "on purpose";
}

// Failing without leaving keeps step: the next test is run.
TEST(Staying, DISABLED_though_it_fails) {
  EXPECT_FALSE(leaves()) << "on purpose";
  shared_device().barrier();
}

TEST(Staying, DISABLED_goes_on) { EXPECT_EQ(from_all_ranks({1}).size(), shared_device().ranks()); }

}  // namespace
}  // namespace ddpx::test
