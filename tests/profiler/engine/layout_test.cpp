#include "profiler/engine/layout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/error.hpp"

namespace ddpx::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Layout,
     tensors_lie_in_the_order_their_gradients_arrive_bias_before_weight_from_the_last_layer) {
  const Layout layout(mlp({.width = 4, .depth = 1, .classes = 3}));
  ASSERT_EQ(layout.arrival().size(), 4U);
  EXPECT_EQ(layout.arrival()[0].elements, 3U);   // head bias
  EXPECT_EQ(layout.arrival()[1].elements, 12U);  // head weight
  EXPECT_EQ(layout.arrival()[2].elements, 4U);
  EXPECT_EQ(layout.arrival()[3].elements, 16U);
  EXPECT_EQ(layout.arrival()[3].begin, 3U + 12U + 4U);
  EXPECT_EQ(layout.parameters(), 35U);
  EXPECT_EQ(layout.widest(), 4U);
}

TEST(Layout, has_as_many_parameters_as_the_network) {
  const Network network = mlp({.width = 128, .depth = 8});
  EXPECT_EQ(static_cast<double>(Layout(network).parameters()), network.parameters());
}

TEST(Layout, every_layer_but_the_last_has_a_relu_and_every_layer_but_the_first_a_data_gradient) {
  const Layout layout(mlp({.width = 4, .depth = 2, .classes = 3}));
  ASSERT_EQ(layout.layers().size(), 3U);
  EXPECT_TRUE(layout.layers()[0].relu && layout.layers()[1].relu);
  EXPECT_FALSE(layout.layers()[2].relu);
  EXPECT_FALSE(layout.layers()[0].needs_data_gradient);
  EXPECT_TRUE(layout.layers()[1].needs_data_gradient && layout.layers()[2].needs_data_gradient);
}

TEST(Layout, forward_order_is_weight_before_bias_from_the_first_layer_and_comes_back_unchanged) {
  const Layout layout(mlp({.width = 2, .depth = 1, .classes = 1}));
  // fc0: weight 1 2 3 4, bias 5 6; head: weight 7 8, bias 9.
  const std::vector<float> forward{1, 2, 3, 4, 5, 6, 7, 8, 9};
  const std::vector<float> flat = layout.to_flat(forward);
  EXPECT_THAT(flat, ElementsAre(9, 7, 8, 5, 6, 1, 2, 3, 4));
  EXPECT_EQ(layout.to_forward_order(flat), forward);
}

TEST(Layout, a_wrong_number_of_parameters_is_refused_with_both_numbers) {
  const Layout layout(mlp({.width = 2, .depth = 1, .classes = 1}));
  const std::vector<float> eight(8);
  try {
    static_cast<void>(layout.to_flat(eight));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("8 values"), HasSubstr("has 9")));
  }
}

TEST(Layout, the_buckets_are_those_of_the_model) {
  // Width 512: a layer is 512*512*4 B = 1 MiB and its bias 2 KiB; the head 512*64*4 = 128 KiB and
  // 256 B. First limit 1 MiB: head (131,328 B) + bias and weight of fc7 (1,050,624 B) reach it.
  const std::vector<Bucket> buckets =
      Layout(mlp({.width = 512, .depth = 8})).buckets(BucketLimits{});
  ASSERT_EQ(buckets.size(), 2U);
  EXPECT_EQ(buckets[0].end, 4U);
  EXPECT_EQ(buckets[0].bytes, Bytes(131328 + 1050624));
  EXPECT_EQ(buckets[1].end, 18U);
  EXPECT_EQ(buckets[1].bytes, Bytes(7 * 1050624));
}

TEST(Layout, a_network_that_is_no_perceptron_is_refused_by_name) {
  for (const Network& network :
       {gpt({.layers = 1, .hidden = 8, .heads = 2, .sequence = 4, .vocabulary = 10}),
        opaque({.parameters = 100, .compute_per_sample = Seconds(1e-3)})}) {
    EXPECT_THROW(static_cast<void>(Layout(network)), InputError) << network.name;
  }
  EXPECT_THROW(static_cast<void>(Layout(Network{})), InputError);
}

TEST(Layout, layers_that_do_not_fit_together_are_refused) {
  Network network = mlp({.width = 4, .depth = 2, .classes = 3});
  network.layers[1].products[0].in = 5;
  network.layers[1].tensors[1] = 20;
  EXPECT_THROW(static_cast<void>(Layout(network)), InputError);
}

}  // namespace
}  // namespace ddpx::engine
