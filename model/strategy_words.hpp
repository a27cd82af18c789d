// Units of sizes and times in the words of --strategy, for reading and for printing them.
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

struct TimeUnit {
  std::string_view name;
  Seconds time;
};
// What HOROVOD_CYCLE_TIME counts first.
inline constexpr std::array kTimeUnits{TimeUnit{"ms", Seconds(1e-3)}, TimeUnit{"us", Seconds(1e-6)},
                                       TimeUnit{"s", Seconds(1)}};

}  // namespace ddpx
