// What a measurements file holds of the box as a whole, every device under load and every pair's
// link, and of the kernels between products.
#pragma once

#include "io/json_reader.hpp"
#include "profiler/measurement.hpp"

namespace ddpx::io {

[[nodiscard]] LoadSample load_sample_of(const Reader& from);
[[nodiscard]] PairSample pair_sample_of(const Reader& from);
[[nodiscard]] ElementwiseSample elementwise_sample_of(const Reader& from);

[[nodiscard]] JsonObject sample_json(const LoadSample& sample);
[[nodiscard]] JsonObject sample_json(const PairSample& sample);
[[nodiscard]] JsonObject sample_json(const ElementwiseSample& sample);

}  // namespace ddpx::io
