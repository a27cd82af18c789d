#include "model/sensitivity.hpp"

#include <gtest/gtest.h>

#include "tests/support/paper_step.hpp"

namespace ddpx {
namespace {

double of(const std::vector<Elasticity>& list, std::string_view constant) {
  for (const Elasticity& e : list) {
    if (e.constant == constant) return e.per_cent;
  }
  throw std::runtime_error(std::string(constant));
}

TEST(Elasticities, add_up_to_one_and_are_shares_of_a_step_that_overlaps_nothing) {
  // 8 s of products, 1 s of optimizer, 6 s of communication without overlap.
  Machine m = test::three_layer_machine();
  m.optimizer_bandwidth.value = BytesPerSecond(18e6);
  Job job = test::one_bucket_per_tensor();
  job.strategy = parse_strategy("overlap=no,bucket=1KB");
  const auto list = elasticities(m, test::line_link(0, 1e6), test::three_layers(), job);
  EXPECT_NEAR(of(list, "products"), 8.0 / 15, 0.005);
  EXPECT_NEAR(of(list, "optimizer"), 1.0 / 15, 0.005);
  EXPECT_NEAR(of(list, "link bandwidth"), 6.0 / 15, 0.005);
  double sum = 0;
  for (const Elasticity& e : list) sum += e.per_cent;
  EXPECT_NEAR(sum, 1, 0.01);
}

TEST(Elasticities, of_gaps_are_what_a_step_has_of_them) {
  // Beside 8 s: eight products 0.2 s longer each, seven kernels of 0.3 s.
  Machine m = test::three_layer_machine();
  m.kernel_gap.value = Seconds(0.1);
  m.longer_gap[1] = Estimate<Seconds>{Seconds(0.2), 0.0, ""};
  const auto list = elasticities(m, test::line_link(0, 1e15), test::three_layers(),
                                 test::one_bucket_per_tensor());
  EXPECT_NEAR(of(list, "kernel gaps"), 3.7 / 11.7, 3e-3);
}

TEST(Elasticities, of_the_host_have_what_sharing_takes_the_framework) {
  Machine m = test::three_layer_machine();
  m.framework = FrameworkCost{{Seconds(2), 0.5, ""}, 1};
  const auto list =
      elasticities(m, test::line_link(0, 1e6), test::three_layers(), test::one_bucket_per_tensor());
  EXPECT_NEAR(of(list, "host"), 2.0 / 13, 1e-3);
}

TEST(Elasticities, of_what_is_hidden_are_nothing) {
  // The last all-reduce alone is exposed on a fast link; on one GPU there is none.
  const Machine m = test::three_layer_machine();
  const auto one = elasticities(m, test::line_link(1e-3, 1e6), test::three_layers(),
                                test::one_bucket_per_tensor(1));
  EXPECT_EQ(of(one, "link bandwidth"), 0);
  EXPECT_EQ(of(one, "link latency"), 0);
  EXPECT_NEAR(of(one, "products"), 1, 1e-9);
  const auto latent = elasticities(m, test::line_link(1, 1e12), test::three_layers(),
                                   test::one_bucket_per_tensor());
  EXPECT_GT(of(latent, "link latency"), 0.05);
  EXPECT_NEAR(of(latent, "host"), 0, 1e-12);
}

}  // namespace
}  // namespace ddpx
