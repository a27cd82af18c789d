// The contract of backends, on real ranks.
#include "profiler/cpu/backend.hpp"

#include <algorithm>

#include "tests/profiler/backend_contract.hpp"
#include "tests/profiler/ranks.hpp"

namespace ddpx::test {
namespace {

Backend& backend_on_ranks() {
  static Pulse quiet;
  static cpu::CpuBackend backend(quiet);
  return backend;
}

INSTANTIATE_TEST_SUITE_P(Cpu, BackendContract,
                         testing::Values(BackendUnderTest{"ranks", &backend_on_ranks,
                                                          &same_on_all_ranks}),
                         name_of);

TEST(CpuBackend, says_which_link_joins_the_ranks_and_which_libraries_it_stands_on) {
  const Hardware hardware = backend_on_ranks().hardware();
  EXPECT_EQ(hardware.device.multiprocessors, 0);
  EXPECT_GT(hardware.device.memory.value(), 1e8);
  if (hardware.ranks > 1) {
    ASSERT_TRUE(hardware.link);
    EXPECT_TRUE(hardware.link->name == "shm" || hardware.link->name == "tcp")
        << hardware.link->name;
  }
  std::vector<std::string> keys;
  for (const auto& [key, value] : hardware.context) keys.push_back(key);
  EXPECT_NE(std::find(keys.begin(), keys.end(), "mpi"), keys.end());
  EXPECT_NE(std::find(keys.begin(), keys.end(), "blas"), keys.end());
}

TEST(CpuBackend, products_in_formats_that_blas_does_not_have_are_not_supported) {
  for (DType dtype : {DType::tf32, DType::bf16, DType::fp16})
    EXPECT_FALSE(backend_on_ranks().supports(Product{Pass::forward, dtype, 16, 64, 64}));
}

TEST(CpuBackend, a_message_that_does_not_divide_among_the_ranks_is_not_supported) {
  const int ranks = backend_on_ranks().hardware().ranks;
  if (ranks < 2) GTEST_SKIP() << "needs two ranks";
  EXPECT_FALSE(backend_on_ranks().supports(
      CollectiveCall{Collective::all_gather, DType::fp32, Bytes(4.0 * (ranks + 1)), ranks}));
}

}  // namespace
}  // namespace ddpx::test
