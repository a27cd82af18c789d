#include "model/tiles.hpp"

#include <gtest/gtest.h>

#include "tests/model/h200.hpp"

namespace ddpx {
namespace {

using test::kSms;
constexpr Seconds kGap{2e-6};

TEST(Tiles, lie_along_the_output_of_the_pass_and_count_whole) {
  constexpr OutputTile kTile{256, 64};
  EXPECT_EQ(tiles_of(kTile, {Pass::forward, DType::bf16, 100, 4096, 1000}), 4 * 2);  // 1000 x 100
  EXPECT_EQ(tiles_of(kTile, {Pass::data_gradient, DType::bf16, 100, 4096, 1000}), 16 * 2);
  EXPECT_EQ(tiles_of(kTile, {Pass::weight_gradient, DType::bf16, 100, 4096, 1000}), 16 * 16);
  EXPECT_EQ(tiles_of({}, {Pass::forward, DType::bf16, 100, 4096, 1000}), 0);
}

ProductPoint point(const Product& product, const KernelGrid& grid, double seconds) {
  return {product, {Seconds(seconds), 0.01, ""}, grid};
}

// 128 tiles of 128 x 128, one wave of 132; 1.25 times as wide they are 160, two waves, and the
// inner dimension is 1.25 times as long.
TEST(CarriedKernel, takes_another_wave_where_the_tiles_no_longer_fit) {
  const Product measured{Pass::forward, DType::fp32, 512, 4096, 4096};
  const auto carried = carried_kernel(point(measured, {128, 1, false, {128, 128}, 128}, 102e-6),
                                      {Pass::forward, DType::fp32, 512, 5120, 5120}, kSms, kGap);
  ASSERT_TRUE(carried);
  EXPECT_EQ(carried->grid.blocks, 160);
  EXPECT_EQ(carried->grid.tiles, 160);
  EXPECT_NEAR(carried->time.value(), 2e-6 + 100e-6 * 2 * 1.25, 1e-12);
}

// Four blocks share each of 32 tiles; with 40 tiles 160 blocks would be two waves, and 320 of twice
// the split are three of half the work each.
TEST(CarriedKernel, splits_as_takes_least) {
  const Product measured{Pass::forward, DType::fp32, 128, 4096, 4096};
  const ProductPoint split = point(measured, {128, 1, false, {128, 128}, 32}, 102e-6);
  const auto wider =
      carried_kernel(split, {Pass::forward, DType::fp32, 128, 4096, 5120}, kSms, kGap);
  ASSERT_TRUE(wider);
  EXPECT_EQ(wider->grid.blocks, 320);
  EXPECT_NEAR(wider->time.value(), 2e-6 + 50e-6 * 3, 1e-12);
  // A quarter of the output: split in eight, one wave of half the work.
  const auto narrow =
      carried_kernel(split, {Pass::forward, DType::fp32, 128, 4096, 1024}, kSms, kGap);
  ASSERT_TRUE(narrow);
  EXPECT_EQ(narrow->grid.blocks, 8 * 8);
  EXPECT_NEAR(narrow->time.value(), 2e-6 + 50e-6, 1e-12);
}

TEST(CarriedKernel, of_a_persistent_kernel_takes_rounds) {
  const Product measured{Pass::weight_gradient, DType::bf16, 1024, 4096, 4096};
  const auto carried =
      carried_kernel(point(measured, {132, 1, true, {128, 256}, 512}, 42e-6),
                     {Pass::weight_gradient, DType::bf16, 2048, 6144, 4096}, kSms, kGap);
  ASSERT_TRUE(carried);
  EXPECT_EQ(carried->grid.blocks, 132);
  EXPECT_EQ(carried->grid.tiles, 768);  // six rounds instead of four, of twice the inner dimension
  EXPECT_NEAR(carried->time.value(), 2e-6 + 40e-6 * 6 / 4 * 2, 1e-12);
}

TEST(CarriedKernel, needs_a_tile_and_a_time_beyond_the_gap) {
  const Product product{Pass::forward, DType::fp32, 512, 4096, 4096};
  EXPECT_FALSE(carried_kernel(point(product, {128, 1, false}, 1e-4), product, kSms, kGap));
  EXPECT_FALSE(
      carried_kernel(point(product, {128, 1, false, {128, 128}, 128}, 1e-6), product, kSms, kGap));
  EXPECT_FALSE(
      carried_kernel(point(product, {128, 1, false, {128, 128}, 128}, 1e-4), product, 0, kGap));
}

}  // namespace
}  // namespace ddpx
