// The samples of a measurements file, each an object on one line.
#pragma once

#include "io/json_reader.hpp"
#include "profiler/measurement.hpp"

namespace ddpx::io {

[[nodiscard]] LinkDescription link_description_of(const Reader& from);
[[nodiscard]] ProductSample product_sample_of(const Reader& from);
[[nodiscard]] CollectiveSample collective_sample_of(const Reader& from);
[[nodiscard]] CopySample copy_sample_of(const Reader& from);
[[nodiscard]] OptimizerSample optimizer_sample_of(const Reader& from);
[[nodiscard]] StepSample step_sample_of(const Reader& from);
[[nodiscard]] Prior prior_of(const Reader& from);

[[nodiscard]] JsonObject sample_json(const LinkDescription& link);
[[nodiscard]] JsonObject sample_json(const ProductSample& sample);
[[nodiscard]] JsonObject sample_json(const CollectiveSample& sample);
[[nodiscard]] JsonObject sample_json(const CopySample& sample);
[[nodiscard]] JsonObject sample_json(const OptimizerSample& sample);
[[nodiscard]] JsonObject sample_json(const StepSample& sample);
[[nodiscard]] JsonObject sample_json(const Prior& prior);

}  // namespace ddpx::io
