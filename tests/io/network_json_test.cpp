#include "io/network_json.hpp"

#include <gtest/gtest.h>

#include "tests/io/damaged.hpp"

namespace ddpx::io {
namespace {

Network with_times() {
  Network network;
  network.name = "captured";
  Layer layer;
  layer.name = "all";
  layer.tensors = {10, 1000};
  layer.forward_seconds_per_sample = 1e-5;
  layer.backward_seconds_per_sample = 2e-5;
  network.layers = {layer};
  return network;
}

Network captured() {
  Network network = with_times();
  network.layers[0].forward_launches = {{1e-5, 132, 384, 168, 2048, true}};
  network.layers[0].backward_launches = {{1.5e-5, 300, 128, 200, 1024, false}};
  network.captured = Captured{
      16, DType::bf16, Optimizer::adamw, Seconds(3e-3), Seconds(5e-3), Seconds(1e-3), {4096, 8},
      2,  605};
  return network;
}

void expect_round_trip(const Network& network) {
  const std::string text = to_json(network, {});
  const Network read = network_from_json(text, "given.json");
  EXPECT_EQ(read.name, network.name);
  EXPECT_EQ(read.width, network.width);
  EXPECT_EQ(read.activation_bytes, network.activation_bytes);
  ASSERT_EQ(read.layers.size(), network.layers.size());
  for (std::size_t i = 0; i < read.layers.size(); ++i) {
    const Layer& a = read.layers[i];
    const Layer& b = network.layers[i];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.tensors, b.tensors);
    EXPECT_EQ(a.forward_bytes, b.forward_bytes);
    EXPECT_EQ(a.backward_bytes, b.backward_bytes);
    EXPECT_EQ(a.forward_kernels, b.forward_kernels);
    EXPECT_EQ(a.backward_kernels, b.backward_kernels);
    EXPECT_EQ(a.needs_data_gradient, b.needs_data_gradient);
    EXPECT_EQ(a.forward_seconds_per_sample, b.forward_seconds_per_sample);
    EXPECT_EQ(a.backward_seconds_per_sample, b.backward_seconds_per_sample);
    ASSERT_EQ(a.products.size(), b.products.size());
    for (std::size_t p = 0; p < a.products.size(); ++p) {
      EXPECT_EQ(a.products[p].rows_per_sample, b.products[p].rows_per_sample);
      EXPECT_EQ(a.products[p].in, b.products[p].in);
      EXPECT_EQ(a.products[p].out, b.products[p].out);
      EXPECT_EQ(a.products[p].count, b.products[p].count);
    }
  }
  EXPECT_EQ(to_json(read, {}), text);
}

TEST(NetworkJson, generated_networks_are_read_back_field_by_field) {
  expect_round_trip(mlp({1024, 8, 64}));
  expect_round_trip(gpt({2, 64, 4, 32, 100}));
  expect_round_trip(with_times());
  expect_round_trip(captured());
}

TEST(NetworkJson, a_capture_is_read_back_field_by_field) {
  const Network given = captured();
  const Network read = network_from_json(to_json(given, {}), "given.json");
  ASSERT_TRUE(read.captured);
  EXPECT_EQ(read.captured->batch, 16);
  EXPECT_EQ(read.captured->dtype, DType::bf16);
  EXPECT_EQ(read.captured->optimizer, Optimizer::adamw);
  EXPECT_EQ(read.captured->optimizer_time, Seconds(3e-3));
  EXPECT_EQ(read.captured->host_time, Seconds(5e-3));
  EXPECT_EQ(read.captured->host_optimizer_time, Seconds(1e-3));
  EXPECT_EQ(read.captured->broadcast_bytes, (std::vector<double>{4096, 8}));
  EXPECT_EQ(read.captured->gradient_element_bytes, 2);
  EXPECT_EQ(read.captured->kernels, 605);
  EXPECT_TRUE(read.captured->device.empty());
  const Network of_a_gpu =
      network_from_json(to_json(given, {{"device", "Tesla T4"}}), "given.json");
  EXPECT_EQ(of_a_gpu.captured->device, "Tesla T4");
  EXPECT_EQ(read.layers[0].forward_launches, given.layers[0].forward_launches);
  EXPECT_EQ(read.layers[0].backward_launches, given.layers[0].backward_launches);
}

TEST(NetworkJson, damaged_captures_are_refused_by_their_place) {
  test::expect_refused(
      to_json(captured(), {}), network_from_json,
      {{"\"batch_per_rank\": 16", "\"batch_per_rank\": 0", {"captured.batch_per_rank"}},
       {"\"dtype\": \"bf16\"", "\"dtype\": \"int8\"", {"captured.dtype"}},
       {"\"optimizer_s\": 0.003", "\"optimizer_s\": -1", {"captured.optimizer_s"}},
       {"\"host_s\"", "\"hots_s\"", {"host_s"}},
       {"\"threads\": 128", "\"threads\": 0", {"backward_launches[0].threads"}},
       {"\"threads\": 384", "\"threads\": 0", {"forward_launches[0].threads"}},
       {"\"forward_s_per_sample\": 1e-05",
        "\"forward_s_per_sample\": 9e-06",
        {"forward_launches", "longer together"}},
       {"\"backward_s_per_sample\": 2e-05",
        "\"backward_s_per_sample\": 1e-05",
        {"backward_launches", "longer together"}}});
}

TEST(NetworkJson, a_network_written_by_hand_needs_little) {
  const Network network = network_from_json(
      R"({"schema": "ddpx.network", "schema_version": 1, "context": {}, "name": "two",
          "layers": [{"name": "a", "parameters": [8, 64],
                      "products": [{"rows_per_sample": 1, "in": 8, "out": 8}]},
                     {"name": "b", "parameters": []}]})",
      "given.json");
  EXPECT_EQ(network.parameters(), 72);
  EXPECT_EQ(network.layers[0].products[0].count, 1);
  EXPECT_TRUE(network.layers[1].needs_data_gradient);
}

TEST(NetworkJson, damaged_files_are_refused_by_path_and_value) {
  test::expect_refused(
      to_json(mlp({512, 2, 64}), {}), network_from_json,
      {{"ddpx.network", "ddpx.links", {"--link"}},
       {"\"parameters\": [512, 262144]",
        "\"parameters\": [512, 0]",
        {"layers[0].parameters[1]: is 0; accepted: a number from 1 to 1e+15"}},
       {"\"parameters\": [512, 262144]",
        "\"parameters\": [512, 1e16]",
        {"parameters[1]: is 1e+16"}},
       {"\"parameters\": [512, 262144]", "\"parameters\": 262656", {"accepted: an array"}},
       {"\"parameters\": [512, 262144]",
        "\"parameters\": [1e15, 1]",
        {"more than 1e15 parameters"}},
       {"\"parameters\": [512, 262144]", "\"parameters\": [NaN]", {"NaN"}},
       {"\"rows_per_sample\": 1", "\"rows_per_sample\": 0", {"products[0].rows_per_sample: is 0"}},
       {"\"in\": 512", "\"in\": -512", {"layers[0].products[0].in: is -512"}},
       {"\"forward_kernels\": 1", "\"forward_kernels\": 1.5", {"forward_kernels: is 1.5"}},
       {"\"forward_kernels\": 1", "\"forward_kernels\": -1", {"forward_kernels: is -1"}},
       {"\"forward_bytes\"", "\"forward_byte\"", {"did you mean forward_bytes?"}},
       {"\"forward_kernels\": 1", "\"forward_s_per_sample\": 1", {"layers[0]: gives both times"}},
       {"\"width\": 512", "\"width\": 0", {"width: is 0"}},
       {"\"needs_data_gradient\": false",
        "\"needs_data_gradient\": \"no\"",
        {"accepted: true, false"}}});
}

TEST(NetworkJson, a_network_without_parameters_or_work_is_refused) {
  const auto read = [](std::string_view layers) {
    (void)network_from_json(R"({"schema": "ddpx.network", "schema_version": 1, "context": {},
                                "name": "x", "layers": )" +
                                std::string(layers) + "}",
                            "given.json");
  };
  test::expect_input_error([&] { read("[]"); }, {"layers: is empty"});
  test::expect_input_error([&] { read(R"([{"name": "a", "parameters": []}])"); },
                           {"layers: have no parameters"});
  test::expect_input_error([&] { read(R"([{"name": "a", "parameters": [5]}])"); },
                           {"layers: compute nothing"});
}

TEST(NetworkJson, truncated_files_are_refused) {
  test::expect_truncation_refused(to_json(mlp({512, 2, 64}), {}), network_from_json);
}

}  // namespace
}  // namespace ddpx::io
