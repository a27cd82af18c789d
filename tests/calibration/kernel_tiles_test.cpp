#include "calibration/kernel_tiles.hpp"

#include <gtest/gtest.h>

namespace ddpx {
namespace {

constexpr Product kWeights{Pass::weight_gradient, DType::bf16, 1024, 4096, 4096};

// Names as kernel records of two H200 have them.
TEST(KernelTiles, are_counted_by_the_size_in_the_librarys_names) {
  EXPECT_EQ(tiles_of("nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_NTN", kWeights), 512);
  EXPECT_EQ(tiles_of("sm90_xmma_gemm_f32f32_tf32f32_f32_nt_n_tilesize128x128x32_warpgroupsize1x1x1"
                     "_execute_segment_k_off_kernel__5x_cublas",
                     kWeights),
            1024);
  EXPECT_EQ(tiles_of("_ZN7cutlass7Kernel2I52cutlass_80_tensorop_s1688gemm_128x256_16x3_nt_align4EE",
                     kWeights),
            512);
}

TEST(KernelTiles, lie_along_the_output_of_the_pass_and_count_whole) {
  constexpr std::string_view kName = "nvjet_sm90_tst_256x64_64x4_1x2_h_bz";
  const Product forward{Pass::forward, DType::bf16, 100, 4096, 1000};
  EXPECT_EQ(tiles_of(kName, forward), 4 * 2);  // 1000 x 100 outputs
  const Product data{Pass::data_gradient, DType::bf16, 100, 4096, 1000};
  EXPECT_EQ(tiles_of(kName, data), 16 * 2);  // 4096 x 100
  const Product weight{Pass::weight_gradient, DType::bf16, 100, 4096, 1000};
  EXPECT_EQ(tiles_of(kName, weight), 16 * 16);  // 4096 x 1000
}

TEST(KernelTiles, of_names_without_a_size_or_with_one_that_cannot_be_are_not_known) {
  for (const char* name : {"", "_", "gemm", "x", "_x_", "gemm_128x", "gemm_x128", "gemm_0x128_k",
                           "gemm_128x0_k", "gemm_99999x128_k", "gemm_99999999999999999999x128",
                           "tilesize", "tilesizeAxB", "gemm_-128x64_k", "volta_sgemm"})
    EXPECT_FALSE(tiles_of(name, kWeights)) << name;
}

}  // namespace
}  // namespace ddpx
