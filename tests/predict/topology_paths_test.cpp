#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "io/catalog.hpp"
#include "predict/check_link.hpp"

namespace ddpx {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::vector<std::string> candidates_of(const LinkCheck& check) {
  std::vector<std::string> names;
  for (const LinkBand& candidate : check.candidates) names.push_back(candidate.name);
  return names;
}

// All pairs of `gpus` alike.
LinkCheck of_pairs(const std::string& word, std::size_t gpus) {
  std::vector<std::vector<std::string>> paths(gpus, std::vector<std::string>(gpus, word));
  for (std::size_t i = 0; i < gpus; ++i) paths[i][i] = "X";
  return expected_of_paths(paths, 0, io::interconnects());
}

TEST(TopologyPaths, the_count_of_nvlinks_says_the_generation) {
  using testing::ElementsAre;
  EXPECT_THAT(candidates_of(of_pairs("NV18", 8)), ElementsAre("nvlink4", "nvlink5"));
  EXPECT_THAT(candidates_of(of_pairs("NV12", 8)), ElementsAre("nvlink3"));
  EXPECT_THAT(candidates_of(of_pairs("NV12", 2)), ElementsAre("nvlink3", "nvlink4-bridge"));
  EXPECT_THAT(candidates_of(of_pairs("NV6", 16)), ElementsAre("nvlink2"));
  // Four A100 that join each other directly, and four V100.
  EXPECT_THAT(candidates_of(of_pairs("NV4", 4)), ElementsAre("nvlink3"));
  EXPECT_THAT(candidates_of(of_pairs("NV2", 4)), ElementsAre("nvlink2"));
}

TEST(TopologyPaths, a_pair_of_few_nvlinks_has_their_share_and_no_more_than_they_carry) {
  for (const int links : {1, 2, 4}) {
    const LinkCheck check = of_pairs("NV" + std::to_string(links), 2);
    ASSERT_FALSE(check.candidates.empty());
    for (const LinkBand& candidate : check.candidates) {
      EXPECT_LE(candidate.band.high.value(), links * 25e9) << candidate.name;
      EXPECT_GE(candidate.band.low.value(), links * 25e9 * 0.3) << candidate.name;
    }
  }
}

TEST(TopologyPaths, a_ring_of_nvlinks_goes_round_pairs_without_one) {
  const LinkCheck check =
      expected_of_paths({{"X", "NV1", "NV1", "NV2", "NV2", "SYS", "SYS", "SYS"},
                         {"NV1", "X", "NV2", "NV1", "SYS", "NV2", "SYS", "SYS"},
                         {"NV1", "NV2", "X", "NV2", "SYS", "SYS", "NV1", "SYS"},
                         {"NV2", "NV1", "NV2", "X", "SYS", "SYS", "SYS", "NV1"},
                         {"NV2", "SYS", "SYS", "SYS", "X", "NV1", "NV1", "NV2"},
                         {"SYS", "NV2", "SYS", "SYS", "NV1", "X", "NV2", "NV1"},
                         {"SYS", "SYS", "NV1", "SYS", "NV1", "NV2", "X", "NV2"},
                         {"SYS", "SYS", "SYS", "NV1", "NV2", "NV1", "NV2", "X"}},
                        4, io::interconnects());
  EXPECT_THAT(candidates_of(check), testing::ElementsAre("nvlink2"));
  EXPECT_EQ(check.paths->slowest, "SYS");
  EXPECT_THAT(check.text, AllOf(HasSubstr("NCCL takes such rings"), HasSubstr("6 NVLinks")));
  // Bridged pairs are islands.
  const LinkCheck pairs = expected_of_paths({{"X", "NV4", "SYS", "SYS"},
                                             {"NV4", "X", "SYS", "SYS"},
                                             {"SYS", "SYS", "X", "NV4"},
                                             {"SYS", "SYS", "NV4", "X"}},
                                            0, io::interconnects());
  for (const LinkBand& candidate : pairs.candidates)
    EXPECT_THAT(candidate.name, testing::StartsWith("pcie"));
}

}  // namespace
}  // namespace ddpx
