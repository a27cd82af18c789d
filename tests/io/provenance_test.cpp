#include "io/provenance.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace ddpx::io {
namespace {

using testing::Contains;
using testing::Key;
using testing::Pair;

TEST(Provenance, says_what_built_it_and_what_it_ran_on) {
  const Context context = provenance();
  for (const char* key : {"ddpx", "compiler", "os", "cpu"})
    EXPECT_THAT(context, Contains(Key(key)));
  EXPECT_THAT(context, Contains(Pair("ddpx", version())));
  for (const auto& [key, value] : context) EXPECT_FALSE(value.empty()) << key;
}

TEST(Provenance, keeps_the_switches_that_matter_and_no_others) {
  ::setenv("NCCL_P2P_DISABLE", "1", 1);
  ::setenv("OMP_NUM_THREADS", "2", 1);
  ::setenv("NCCL_COMM_ID", "10.0.0.1:1234", 1);
  ::setenv("DDPX_TEST_SECRET", "x", 1);
  const Context context = provenance();
  EXPECT_THAT(context, Contains(Pair("NCCL_P2P_DISABLE", "1")));
  EXPECT_THAT(context, Contains(Pair("OMP_NUM_THREADS", "2")));
  EXPECT_THAT(context, testing::Not(Contains(Key("NCCL_COMM_ID"))));
  EXPECT_THAT(context, testing::Not(Contains(Key("DDPX_TEST_SECRET"))));
  for (const char* name :
       {"NCCL_P2P_DISABLE", "OMP_NUM_THREADS", "NCCL_COMM_ID", "DDPX_TEST_SECRET"}) {
    ::unsetenv(name);
  }
}

TEST(Provenance, does_not_name_the_host) {
  std::array<char, 256> host{};
  ASSERT_EQ(::gethostname(host.data(), host.size() - 1), 0);
  const std::string_view name = host.data();
  if (name.size() < 4) GTEST_SKIP() << "a host name this short stands in other words";
  for (const auto& [key, value] : provenance())
    EXPECT_EQ(value.find(name), std::string::npos) << key;
}

TEST(Provenance, is_the_same_twice) { EXPECT_EQ(provenance(), provenance()); }

}  // namespace
}  // namespace ddpx::io
