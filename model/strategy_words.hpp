// Units of bucket sizes in the words of --strategy, for reading and for printing them.
#pragma once

#include <array>
#include <string_view>

#include "model/units.hpp"

namespace ddpx {

struct BucketSizeUnit {
  std::string_view name;
  Bytes size;
};
// MiB first: of texts equally short it is taken, because PyTorch's caps are in MiB.
inline constexpr std::array kBucketSizeUnits{
    BucketSizeUnit{"MiB", kMiB}, BucketSizeUnit{"KiB", kKiB}, BucketSizeUnit{"GiB", kGiB},
    BucketSizeUnit{"MB", kMB},   BucketSizeUnit{"KB", kKB},   BucketSizeUnit{"GB", kGB}};

}  // namespace ddpx
