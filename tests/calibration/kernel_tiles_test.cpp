#include "calibration/kernel_tiles.hpp"

#include <gtest/gtest.h>

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
            64, 128},
           {"_ZN7cutlass7Kernel2I52cutlass_80_tensorop_s1688gemm_128x64_32x6_nt_align4EE", 128,
            64}}) {
    EXPECT_EQ(tile_of(c.name).contiguous, c.contiguous) << c.name;
    EXPECT_EQ(tile_of(c.name).across, c.across) << c.name;
  }
}

TEST(KernelTiles, of_names_without_a_size_or_with_one_that_cannot_be_are_not_known) {
  for (const char* name : {"", "_", "gemm", "x", "_x_", "gemm_128x", "gemm_x128", "gemm_0x128_k",
                           "gemm_128x0_k", "gemm_99999x128_k", "gemm_99999999999999999999x128",
                           "tilesize", "tilesizeAxB", "gemm_-128x64_k", "volta_sgemm"})
    EXPECT_EQ(tile_of(name).contiguous, 0) << name;
}

}  // namespace
}  // namespace ddpx
