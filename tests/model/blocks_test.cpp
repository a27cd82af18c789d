#include "model/blocks.hpp"

#include <gtest/gtest.h>

#include "tests/support/expect_input_error.hpp"

namespace ddpx {
namespace {

Network named(std::initializer_list<const char*> names) {
  Network network;
  network.name = "named";
  for (const char* name : names) {
    Layer layer;
    layer.name = name;
    layer.tensors = {10};
    network.layers.push_back(layer);
  }
  return network;
}

TEST(Blocks, of_an_mlp_are_its_layers_and_of_a_gpt_its_decoder_blocks) {
  const Blocks of_mlp = blocks_of(mlp({.width = 8, .depth = 3, .classes = 2}));
  EXPECT_EQ(of_mlp.list.size(), 4U);
  EXPECT_EQ(of_mlp.root_parameters, 0);
  const Network network = gpt({.layers = 5, .hidden = 64, .heads = 4});
  const Blocks of_gpt = blocks_of(network);
  EXPECT_EQ(of_gpt.list.size(), 5U);
  EXPECT_EQ(of_gpt.list[0].parameters, 12.0 * 64 * 64 + 13 * 64);
  EXPECT_EQ(of_gpt.root_parameters + 5 * of_gpt.largest(), network.parameters());
}

TEST(Blocks, of_a_file_are_the_elements_of_its_longest_list) {
  const Blocks blocks = blocks_of(named({"wte", "h.0.attn.0", "h.0.mlp", "h.1.attn.0", "h.1.mlp",
                                         "h.2.attn.0", "ln_f", "head.0", "head.1"}));
  ASSERT_EQ(blocks.list.size(), 3U);
  EXPECT_EQ(blocks.list[0].begin, 1U);
  EXPECT_EQ(blocks.list[0].end, 3U);
  EXPECT_EQ(blocks.root_parameters, 40);
  EXPECT_EQ(blocks_of(named({"0", "2", "4"})).list.size(), 3U);
}

TEST(Blocks, a_network_without_lists_has_none) {
  for (const Network& network :
       {named({"conv", "fc"}), named({""}), named({"a..b", ".", "1x", "-1", "99999999999"})}) {
    EXPECT_FALSE(has_blocks(network));
    test::expect_input_error([&] { static_cast<void>(blocks_of(network)); }, {"no blocks"});
  }
}

}  // namespace
}  // namespace ddpx
