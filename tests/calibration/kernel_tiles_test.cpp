#include "calibration/kernel_tiles.hpp"

#include <gtest/gtest.h>

#include "model/tiles.hpp"

namespace ddpx {
namespace {

struct Named {
  const char* name;
  int contiguous;
  int across;
};

// Names as kernel records of two H200 have them.
TEST(KernelTiles, are_of_the_size_in_the_librarys_names) {
  for (const Named& c : std::initializer_list<Named>{
           {"nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_NTN", 128, 256},
           {"sm90_xmma_gemm_f32f32_tf32f32_f32_nt_n_tilesize64x128x32_warpgroupsize1x1x1"
            "_execute_segment_k_off_kernel__5x_cublas",
            128, 64},
           {"_ZN7cutlass7Kernel2I52cutlass_80_tensorop_s1688gemm_128x64_32x6_nt_align4EE", 128,
            64}}) {
    EXPECT_EQ(tile_of(c.name).contiguous, c.contiguous) << c.name;
    EXPECT_EQ(tile_of(c.name).across, c.across) << c.name;
  }
}

TEST(KernelTiles, are_of_the_generation_in_the_librarys_names) {
  EXPECT_EQ(generation_of("nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_NTN"), 90);
  EXPECT_EQ(generation_of("nvjet_sm100_tst_128x256_64x4"), 100);
  EXPECT_EQ(generation_of("sm80_xmma_gemm_f32f32_f32f32_f32_nt_n_tilesize64x128x8"), 80);
  EXPECT_EQ(generation_of("_ZN7cutlass7Kernel2I52cutlass_80_tensorop_s1688gemm_128x64_32x6"), 80);
  for (const char* name : {"", "sm", "gemm", "small_1", "sm9", "volta_sgemm_128x64_tn", "sm99999"})
    EXPECT_EQ(generation_of(name), 0) << name;
}

TEST(KernelTiles, of_names_without_a_size_or_with_one_that_cannot_be_are_not_known) {
  for (const char* name : {"", "_", "gemm", "x", "_x_", "gemm_128x", "gemm_x128", "gemm_0x128_k",
                           "gemm_128x0_k", "gemm_99999x128_k", "gemm_99999999999999999999x128",
                           "tilesize", "tilesizeAxB", "gemm_-128x64_k", "volta_sgemm"})
    EXPECT_EQ(tile_of(name).contiguous, 0) << name;
}

// Records of two H200, fp32 and tf32, whose tiles are whole numbers only as counted here.
TEST(KernelTiles, of_working_blocks_share_the_inner_dimension_evenly) {
  const auto blocks = [](const char* name, double launched, const Product& product) {
    KernelRecord kernel;
    kernel.name = name;
    kernel.blocks = launched;
    return working_blocks(kernel, product).value_or(0) / tiles_of(tile_of(name), product);
  };
  // 12 tiles along, launched as 16: eight parts.
  EXPECT_EQ(blocks("_ZN7cutlass7Kernel2I41cutlass_80_simt_sgemm_64x64_8x5_nt_align1EE", 128,
                   {Pass::weight_gradient, DType::fp32, 512, 768, 64}),
            8);
  // 12 tiles along, launched as 16: eleven parts.
  EXPECT_EQ(blocks("_ZN7cutlass7Kernel2I43cutlass_80_simt_sgemm_256x128_8x4_nn_align1EE", 176,
                   {Pass::data_gradient, DType::fp32, 128, 3072, 3072}),
            11);
  // 36 tiles along, launched as 40: seven parts.
  EXPECT_EQ(blocks("void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_tn_align1>", 280,
                   {Pass::forward, DType::fp32, 64, 4608, 4608}),
            7);
  // Other kernels launch what they need: 48 tiles of 128 x 64 in five parts.
  EXPECT_EQ(blocks("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x128x8_stage3_warpsize1x4x1"
                   "_ffma_aligna4_alignc4_execute_kernel__5x_cublas",
                   240, {Pass::data_gradient, DType::fp32, 64, 6144, 6144}),
            5);
  EXPECT_EQ(blocks("nvjet_sm90_tst_64x8_64x16_2x1_v_bz_TNT", 32,
                   {Pass::forward, DType::bf16, 64, 256, 256}),
            1);
  // 114 tiles along in clusters of four: 116. 22 across in clusters of four: 24, four times.
  EXPECT_EQ(blocks("nvjet_sm90_tst_144x64_64x8_4x1_v_bz_TNN", 116,
                   {Pass::forward, DType::bf16, 64, 16384, 16384}),
            1);
  EXPECT_EQ(blocks("nvjet_sm90_tst_64x24_64x16_2x4_h_bz_TNT", 96,
                   {Pass::forward, DType::bf16, 512, 256, 256}),
            1);
}

TEST(KernelTiles, of_a_grid_that_is_no_whole_number_of_them_are_told) {
  const Product product{Pass::forward, DType::tf32, 128, 2048, 2048};
  KernelRecord kernel;
  kernel.name =
      "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x32_warpgroupsize1x1x1"
      "_execute_segment_k_off_kernel__5x_cublas";
  kernel.blocks = 70;  // for 32 x 2 tiles
  EXPECT_FALSE(working_blocks(kernel, product));
  kernel.blocks = 32;  // fewer than there are tiles
  EXPECT_FALSE(working_blocks(kernel, product));
  kernel.blocks = 128;
  EXPECT_EQ(working_blocks(kernel, product), 128);
  // A persistent kernel's grid is the GPU's, and of a name without a size nothing is known.
  kernel.blocks = 70;
  kernel.persistent = true;
  EXPECT_EQ(working_blocks(kernel, product), 70);
  kernel.persistent = false;
  kernel.name = "gemm";
  EXPECT_EQ(working_blocks(kernel, product), 70);
}

}  // namespace
}  // namespace ddpx
