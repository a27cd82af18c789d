// One collective's time against size: protocol lines with their errors, and the measured points.
#pragma once

#include "io/json_reader.hpp"
#include "model/curve.hpp"

namespace ddpx::io {

[[nodiscard]] Curve curve_of(const Reader& from);
[[nodiscard]] JsonObject curve_json(const Curve& curve);

}  // namespace ddpx::io
