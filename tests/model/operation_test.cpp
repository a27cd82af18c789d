#include "model/operation.hpp"

#include <gtest/gtest.h>

namespace ddpx {
namespace {

TEST(Operations, names_read_back_to_their_values) {
  for (DType d : {DType::fp32, DType::tf32, DType::bf16, DType::fp16}) {
    EXPECT_EQ(dtype_from(name(d)), d);
  }
  for (Pass p : {Pass::forward, Pass::data_gradient, Pass::weight_gradient}) {
    EXPECT_EQ(pass_from(name(p)), p);
  }
  for (Collective c :
       {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
    EXPECT_EQ(collective_from(name(c)), c);
  }
  for (Optimizer o : {Optimizer::sgd, Optimizer::adamw}) EXPECT_EQ(optimizer_from(name(o)), o);
}

TEST(Operations, unknown_words_have_no_value) {
  for (std::string_view word : {"", "FP32", "fp8", "fp32 ", "?", "all-reduce"}) {
    EXPECT_FALSE(dtype_from(word)) << word;
    EXPECT_FALSE(pass_from(word)) << word;
    EXPECT_FALSE(collective_from(word)) << word;
    EXPECT_FALSE(optimizer_from(word)) << word;
  }
}

TEST(Operations, a_product_moves_its_operands_and_its_result_once) {
  const double elements = 256 * 4096 + 4096 * 1024 + 256 * 1024;
  EXPECT_EQ((Product{Pass::forward, DType::tf32, 256, 4096, 1024}.bytes()), Bytes(4 * elements));
  EXPECT_EQ((Product{Pass::data_gradient, DType::bf16, 256, 4096, 1024}.bytes()),
            Bytes(2 * elements));
}

TEST(Operations, a_product_takes_two_flops_per_multiply_and_add_in_every_direction) {
  // 256 x 4096 by 4096 x 4096: 2 * 256 * 4096^2.
  for (Pass pass : {Pass::forward, Pass::data_gradient, Pass::weight_gradient}) {
    EXPECT_EQ((Product{pass, DType::fp32, 256, 4096, 4096}.flops()), Flops(8'589'934'592.0));
  }
}

TEST(Operations, tf32_is_a_product_format_with_four_byte_tensors) {
  EXPECT_EQ(element_bytes(DType::fp32), 4);
  EXPECT_EQ(element_bytes(DType::tf32), 4);
  EXPECT_EQ(element_bytes(DType::bf16), 2);
  EXPECT_EQ(element_bytes(DType::fp16), 2);
}

TEST(Operations, bus_factors_are_those_of_nccl_tests) {
  // nccl-tests doc/PERFORMANCE.md: all-reduce 2(n-1)/n, all-gather and reduce-scatter (n-1)/n.
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_reduce, 2), 1.0);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_reduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_gather, 2), 0.5);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::reduce_scatter, 8), 0.875);
  EXPECT_EQ(bus_factor(Collective::all_reduce, 1), 0.0);
  EXPECT_EQ(bus_factor(Collective::all_reduce, 0), 0.0);
}

TEST(Operations, sgd_moves_12_bytes_per_parameter_and_adamw_28) {
  EXPECT_EQ(optimizer_traffic(Optimizer::sgd, 1e6), Bytes(12e6));
  EXPECT_EQ(optimizer_traffic(Optimizer::adamw, 1e6), Bytes(28e6));
}

}  // namespace
}  // namespace ddpx
