#include "profiler/fake_backend.hpp"

#include <gmock/gmock.h>

#include "profiler/screen.hpp"
#include "tests/profiler/backend_contract.hpp"
#include "tests/support/expect_input_error.hpp"
#include "tests/support/known_machine.hpp"

namespace ddpx {
namespace {

Backend& fake_on(int ranks) {
  static FakeBackend two(test::known_machine(), "wire", 2);
  static FakeBackend one(test::known_machine(), "wire", 1);
  return ranks == 2 ? two : one;
}

const Product kProduct{Pass::forward, DType::fp32, 64, 512, 512};

TEST(FakeBackend, without_troubles_a_sample_is_what_the_machine_says) {
  FakeBackend fake(test::known_machine(), "wire", 2, {.noise = 0});
  EXPECT_DOUBLE_EQ(fake.sample(kProduct, 1)[0], 2.0 * 64 * 512 * 512 / 40e9);
  const CollectiveCall call{Collective::all_reduce, DType::fp32, Bytes(2e6), 2};
  EXPECT_DOUBLE_EQ(fake.sample(call, 1)[0], 20e-6 + 1e-3);
  EXPECT_DOUBLE_EQ(fake.sample(Copy{Bytes(8e6)}, 1)[0], 2e-3);
  EXPECT_DOUBLE_EQ(fake.sample(OptimizerStep{Optimizer::sgd, 1e6}, 1)[0], 2e-3);
  EXPECT_DOUBLE_EQ(fake.sample(Launch{}, 1)[0], 2e-7);
}

TEST(FakeBackend, side_by_side_both_slow_as_the_link_says) {
  FakeBackend fake(test::known_machine(), "wire", 2, {.noise = 0});
  const CollectiveCall call{Collective::all_reduce, DType::fp32, Bytes(2e6), 2};
  const BesideTimes times = fake.sample_beside(kProduct, call, 1)[0];
  const double beside = 1.02e-3 * 1.1 + 100e-6;
  EXPECT_DOUBLE_EQ(times.collective_alone, 1.02e-3);
  EXPECT_DOUBLE_EQ(times.collective_beside, beside);
  EXPECT_DOUBLE_EQ(times.product_beside, times.product_alone / (1 - 2e-10 * 2e6 / beside));
}

TEST(FakeBackend, equal_seeds_give_equal_samples) {
  FakeBackend a(test::known_machine(), "wire", 2, {.noise = 0.1, .seed = 7});
  FakeBackend b(test::known_machine(), "wire", 2, {.noise = 0.1, .seed = 7});
  EXPECT_EQ(a.sample(kProduct, 20), b.sample(kProduct, 20));
}

TEST(FakeBackend, throttling_begins_where_it_is_told_to) {
  FakeBackend fake(test::known_machine(), "wire", 2,
                   {.noise = 0, .throttle_after = 3, .throttle_factor = 1.5});
  const auto samples = fake.sample(kProduct, 5);
  EXPECT_DOUBLE_EQ(samples[3], 1.5 * samples[2]);
  EXPECT_DOUBLE_EQ(samples[2], samples[0]);
}

TEST(FakeBackend, it_fails_in_the_operation_it_is_told_to_and_names_it) {
  FakeBackend fake(test::known_machine(), "wire", 2, {.fails_at_operation = 1});
  EXPECT_NO_THROW(static_cast<void>(fake.sample(kProduct, 5)));
  EXPECT_THROW(static_cast<void>(fake.sample(Copy{kMiB}, 1)), DeviceError);
}

TEST(FakeBackend, a_link_that_the_machine_does_not_have_is_refused) {
  test::expect_input_error([] { FakeBackend(test::known_machine(), "rope", 2); },
                           {"rope", "known"});
}

}  // namespace

namespace test {
INSTANTIATE_TEST_SUITE_P(
    Fake, BackendContract,
    testing::Values(BackendUnderTest{"two_ranks", []() -> Backend& { return fake_on(2); }},
                    BackendUnderTest{"one_rank", []() -> Backend& { return fake_on(1); }}),
    name_of);
}  // namespace test
}  // namespace ddpx
