#include "model/network.hpp"

#include <gtest/gtest.h>

#include "tests/support/expect_input_error.hpp"

namespace ddpx {
namespace {

TEST(MlpNetworks, have_the_two_t4_studys_parameter_counts) {
  // depth 8: 8 (w^2 + w) + 64 w + 64; width 4096 and 2048 of the study's tables.
  EXPECT_EQ(mlp({.width = 4096}).parameters(), 134'512'704);
  EXPECT_EQ(mlp({.width = 2048}).parameters(), 33'701'952);
  EXPECT_EQ(mlp({.width = 1024}).parameters(), 8'462'400);
}

TEST(MlpNetworks, have_two_tensors_per_layer_bias_first) {
  const Network network = mlp({.width = 256, .depth = 3, .classes = 10});
  EXPECT_EQ(network.layers.size(), 4U);
  EXPECT_EQ(network.tensor_count(), 8U);
  EXPECT_EQ(network.layers[0].tensors, (std::vector<double>{256, 256.0 * 256}));
  EXPECT_EQ(network.layers[3].tensors, (std::vector<double>{10, 2560}));
  EXPECT_EQ(network.width, 256);
}

TEST(MlpNetworks, take_6_flops_per_weight_but_4_in_the_first_layer) {
  const Network network = mlp({.width = 100, .depth = 2, .classes = 10});
  EXPECT_EQ(network.training_flops_per_sample(), Flops(4 * 1e4 + 6 * 1e4 + 6 * 1e3));
  EXPECT_FALSE(network.layers[0].needs_data_gradient);
  EXPECT_TRUE(network.layers[1].needs_data_gradient);
}

TEST(MlpNetworks, may_be_one_layer_and_one_feature) {
  EXPECT_EQ(mlp({.width = 1, .depth = 1, .classes = 1}).parameters(), 4);
}

TEST(GptNetworks, gpt2_small_has_its_published_parameter_count) {
  // 124,439,808 with the head tied to the token embedding (Radford et al. 2019; OpenAI's release).
  EXPECT_EQ(gpt({}).parameters(), 124'439'808);
  // GPT-2 medium, large and XL.
  EXPECT_EQ(gpt({.layers = 24, .hidden = 1024, .heads = 16}).parameters(), 354'823'168);
  EXPECT_EQ(gpt({.layers = 36, .hidden = 1280, .heads = 20}).parameters(), 774'030'080);
  EXPECT_EQ(gpt({.layers = 48, .hidden = 1600, .heads = 25}).parameters(), 1'557'611'200);
}

TEST(GptNetworks, have_148_tensors_as_gpt2_small_does) {
  EXPECT_EQ(gpt({}).tensor_count(), 148U);  // 2 embeddings + 12 x 12 + ln_f's 2
}

TEST(GptNetworks, take_6_flops_per_weight_and_token_and_12_lth_for_attention) {
  // Chowdhery et al. 2022 (PaLM), appendix B: 6 N + 12 L H Q T per token, N without embeddings but
  // with the head's product.
  const double t = 1024;
  const double h = 768;
  const double weights = 12 * (12 * h * h) + 50257 * h;
  const double expected = 6 * weights * t + 12.0 * 12 * h * t * t;
  EXPECT_NEAR(gpt({}).training_flops_per_sample().value(), expected, 1e-9 * expected);
}

TEST(GptNetworks, reduce_the_shared_embedding_last) {
  const Network network = gpt({});
  EXPECT_TRUE(network.layers.back().tensors.empty());
  EXPECT_EQ(network.layers.front().parameters(), 50257.0 * 768 + 1024.0 * 768);
}

TEST(OpaqueNetworks, spread_parameters_and_a_third_of_the_time_forward) {
  const Network network = opaque({.parameters = 350e6, .compute_per_sample = Seconds(3e-4)});
  double forward = 0;
  double backward = 0;
  for (const Layer& layer : network.layers) {
    forward += layer.forward_seconds_per_sample;
    backward += layer.backward_seconds_per_sample;
  }
  EXPECT_NEAR(network.parameters(), 350e6, 1);
  EXPECT_NEAR(forward, 1e-4, 1e-15);
  EXPECT_NEAR(backward, 2e-4, 1e-15);
  EXPECT_EQ(network.tensor_count(), 100U);
  EXPECT_EQ(opaque({.parameters = 3, .compute_per_sample = Seconds(1)}).tensor_count(), 3U);
}

TEST(Networks, of_nothing_are_refused) {
  using test::expect_input_error;
  expect_input_error([] { static_cast<void>(mlp({.width = 0})); }, {"mlp", "width"});
  expect_input_error([] { static_cast<void>(mlp({.depth = 0})); }, {"depth"});
  expect_input_error([] { static_cast<void>(mlp({.classes = -1})); }, {"classes"});
  expect_input_error([] { static_cast<void>(gpt({.layers = 0})); }, {"gpt", "layers"});
  expect_input_error([] { static_cast<void>(gpt({.heads = 0})); }, {"heads"});
  expect_input_error(
      [] { static_cast<void>(opaque({.parameters = 0, .compute_per_sample = Seconds(1)})); },
      {"--params"});
  expect_input_error(
      [] { static_cast<void>(opaque({.parameters = 1e6, .compute_per_sample = Seconds(-1)})); },
      {"--step-time"});
}

}  // namespace
}  // namespace ddpx
