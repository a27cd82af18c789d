#include "predict/nvlink_ring.hpp"

#include <gmock/gmock.h>

namespace ddpx {
namespace {

// A DGX-1 of eight V100, as nvidia-smi topo -m prints it: a cube mesh of one and two links.
const NvlinkCounts kCubeMesh{{0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0},
                             {1, 2, 0, 2, 0, 0, 1, 0}, {2, 1, 2, 0, 0, 0, 0, 1},
                             {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1},
                             {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};

TEST(NvlinkRing, goes_round_pairs_without_a_link) {
  const auto ring = nvlink_ring(kCubeMesh);
  ASSERT_TRUE(ring);
  EXPECT_THAT(*ring, testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  for (std::size_t i = 0; i < 8; ++i) {
    const auto from = static_cast<std::size_t>((*ring)[i]);
    const auto to = static_cast<std::size_t>((*ring)[(i + 1) % 8]);
    EXPECT_GT(kCubeMesh[from][to], 0) << from << " to " << to;
  }
  EXPECT_EQ(most_ring_links(kCubeMesh), 6);
}

TEST(NvlinkRing, is_none_over_pairs_and_chains) {
  EXPECT_FALSE(nvlink_ring({{0, 4, 0, 0}, {4, 0, 0, 0}, {0, 0, 0, 4}, {0, 0, 4, 0}}));
  EXPECT_FALSE(nvlink_ring({{0, 2, 0}, {2, 0, 2}, {0, 2, 0}}));
  EXPECT_EQ(nvlink_ring({{0, 4}, {4, 0}}), (std::vector<int>{0, 1}));
  EXPECT_FALSE(nvlink_ring({{0, 0}, {0, 0}}));
}

// Two meshes of four with six links on each GPU, joined by two.
TEST(NvlinkRing, has_no_more_links_than_join_its_parts) {
  NvlinkCounts links(8, std::vector<int>(8));
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t k = 0; k < 8; ++k) links[i][k] = i != k && i / 4 == k / 4 ? 2 : 0;
  }
  EXPECT_FALSE(has_nvlink_ring(links));
  links[0][4] = links[4][0] = links[1][5] = links[5][1] = 1;
  EXPECT_TRUE(has_nvlink_ring(links));
  EXPECT_EQ(most_ring_links(links), 2);
}

TEST(NvlinkRing, of_more_gpus_than_are_searched_is_told_by_their_neighbours) {
  NvlinkCounts links(20, std::vector<int>(20, 1));
  for (std::size_t i = 0; i < 20; ++i) links[i][i] = 0;
  EXPECT_TRUE(has_nvlink_ring(links));
  EXPECT_EQ(most_ring_links(links), 19);
  NvlinkCounts alone = links;
  for (std::size_t i = 0; i < 20; ++i) alone[0][i] = alone[i][0] = i == 1 ? 1 : 0;
  EXPECT_FALSE(has_nvlink_ring(alone));
}

}  // namespace
}  // namespace ddpx
