#include "model/network_spec.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/support/expect_input_error.hpp"

namespace ddpx {
namespace {

using test::expect_input_error;

void expect_same(const Network& a, const Network& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.width, b.width);
  EXPECT_EQ(a.layers.size(), b.layers.size());
  EXPECT_EQ(a.parameters(), b.parameters());
  EXPECT_EQ(a.tensor_count(), b.tensor_count());
  EXPECT_EQ(a.training_flops_per_sample(), b.training_flops_per_sample());
}

TEST(NetworkSpecs, build_what_the_generators_build) {
  expect_same(network_from("mlp:width=4096,depth=8"), mlp({.width = 4096}));
  expect_same(network_from("mlp:classes=10,depth=2,width=32"),
              mlp({.width = 32, .depth = 2, .classes = 10}));
  expect_same(
      network_from("gpt:layers=24,hidden=1024,heads=16,sequence=512,vocabulary=1000"),
      gpt({.layers = 24, .hidden = 1024, .heads = 16, .sequence = 512, .vocabulary = 1000}));
}

TEST(NetworkSpecs, keys_not_given_keep_their_defaults) {
  expect_same(network_from("mlp"), mlp({}));
  expect_same(network_from("gpt"), gpt({}));
  expect_same(network_from("gpt:sequence=128"), gpt({.sequence = 128}));
  expect_same(network_from("mlp:depth=2"), mlp({.depth = 2}));
}

TEST(NetworkSpecs, names_read_back_to_the_same_network) {
  for (const char* spec :
       {"mlp:width=1", "mlp:width=4096,depth=3,classes=10", "mlp:width=9999999,depth=1", "gpt",
        "gpt:layers=1,hidden=64,heads=4,sequence=8,vocabulary=100"}) {
    const Network network = network_from(spec);
    expect_same(network_from(network.name), network);
  }
}

TEST(NetworkSpecs, are_told_from_files_by_their_generator) {
  for (const char* spec : {"mlp", "mlp:", "mlp:width=4", "gpt:x"})
    EXPECT_TRUE(is_network_spec(spec)) << spec;
  for (const char* spec : {"", "MLP:width=4", "mlp.json", "./mlp", "gpt2", "mlpx:width=4", ":"}) {
    EXPECT_FALSE(is_network_spec(spec)) << spec;
  }
}

TEST(NetworkSpecs, an_unknown_network_lists_the_accepted_ones) {
  for (const char* spec : {"", "cnn:width=4", "model.json", ":width=4", "mlp\n:width=4"}) {
    expect_input_error([&] { static_cast<void>(network_from(spec)); },
                       {"--network", "mlp:width=W", "gpt:layers=L"});
  }
}

TEST(NetworkSpecs, an_unknown_key_lists_the_accepted_ones) {
  for (const char* spec : {"mlp:widht=4", "mlp:", "mlp:width=4,", "mlp:,width=4", "mlp:layers=2",
                           "mlp:Width=4", "mlp: width=4", "mlp:=4", "mlp:4096"}) {
    expect_input_error([&] { static_cast<void>(network_from(spec)); },
                       {"--network", "accepted: width, depth, classes"});
  }
  expect_input_error([] { static_cast<void>(network_from("gpt:width=4")); },
                     {"'width=4'", "layers, hidden, heads, sequence, vocabulary"});
}

TEST(NetworkSpecs, a_bad_value_is_named_with_its_range) {
  for (const char* value :
       {"", "0", "-1", "1.5", "nan", "inf", "-inf", "1e30", "10000001", "4k", " 4", "4 ", "0x10",
        "+4", "1e400", "4=4", "99999999999999999999999999"}) {
    const std::string word = "width=" + std::string(value);
    expect_input_error([&] { static_cast<void>(network_from("mlp:" + word)); },
                       {"--network", word, "whole number from 1 to 10000000"});
  }
  expect_input_error([] { static_cast<void>(network_from("mlp:depth=100001")); }, {"1 to 100000"});
  expect_input_error([] { static_cast<void>(network_from("gpt:layers=1000000000")); },
                     {"1 to 100000"});
  expect_input_error([] { static_cast<void>(network_from("mlp:width")); },
                     {"'width'", "whole number"});
}

TEST(NetworkSpecs, a_key_given_twice_is_refused) {
  expect_input_error([] { static_cast<void>(network_from("mlp:width=4,depth=2,width=4")); },
                     {"'width=4'", "twice"});
}

TEST(NetworkSpecs, heads_must_divide_the_hidden_size) {
  expect_input_error([] { static_cast<void>(network_from("gpt:hidden=100,heads=12")); },
                     {"hidden=100", "heads=12", "hidden=96 or 108"});
  expect_input_error([] { static_cast<void>(network_from("gpt:hidden=4,heads=8")); },
                     {"multiple", "accepted: hidden=8, or"});
}

TEST(NetworkSpecs, a_megabyte_of_words_is_refused_in_one_readable_line) {
  std::string spec = "mlp:";
  for (int i = 0; i < 100000; ++i) spec += "width=4,";
  expect_input_error([&] { static_cast<void>(network_from(spec)); }, {"twice"});
  expect_input_error([] { static_cast<void>(network_from(std::string(1 << 20, 'x'))); },
                     {"--network", "or a network file"});
}

TEST(NetworkSpecs, random_bytes_are_read_or_refused_and_nothing_else) {
  std::mt19937_64 random(5);
  const std::string alphabet("mlp:gtwidh=,depclas0123456789.-e\n\0\xff", 35);
  for (int round = 0; round < 20000; ++round) {
    std::string spec = round % 2 == 0 ? "mlp:width=" : "";
    for (auto n = random() % 16; n > 0; --n) spec += alphabet[random() % alphabet.size()];
    if (spec.find("depth") != std::string::npos) continue;  // a deep one takes long
    try {
      static_cast<void>(network_from(spec));
    } catch (const InputError&) {
    }
  }
}

TEST(Sweeps, set_a_key_where_it_stands_or_add_it) {
  EXPECT_EQ(with_key("mlp:width=4096,depth=8", "width", 256), "mlp:width=256,depth=8");
  EXPECT_EQ(with_key("mlp:depth=8", "width", 256), "mlp:depth=8,width=256");
  EXPECT_EQ(with_key("mlp", "width", 10000000), "mlp:width=10000000");
  EXPECT_EQ(with_key("gpt:heads=4", "hidden", 64), "gpt:heads=4,hidden=64");
  EXPECT_EQ(network_from(with_key("mlp:width=4096,depth=8", "width", 256)).width, 256);
}

TEST(Sweeps, over_a_key_that_is_not_there_list_the_keys) {
  expect_input_error([] { static_cast<void>(with_key("gpt", "width", 256)); },
                     {"'width'", "hidden"});
  expect_input_error([] { static_cast<void>(with_key("model.json", "width", 256)); },
                     {"model.json"});
  expect_input_error([] { static_cast<void>(network_from(with_key("mlp", "width", 0.5))); },
                     {"width=0.5"});
}

}  // namespace
}  // namespace ddpx
