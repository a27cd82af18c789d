// The samples that a calibration on this host adds: launches, gaps, products and collectives side
// by side, and what was dropped and why.
#pragma once

#include "io/json_reader.hpp"
#include "profiler/measurement.hpp"

namespace ddpx::io {

[[nodiscard]] LaunchSample launch_sample_of(const Reader& from);
[[nodiscard]] GapSample gap_sample_of(const Reader& from);
[[nodiscard]] BesideSample beside_sample_of(const Reader& from);
[[nodiscard]] CopyBesideSample copy_beside_sample_of(const Reader& from);
// Of a sample with "dropped": [{"time_s": 0.1, "reason": "..."}]; none where it is missing.
[[nodiscard]] std::vector<DroppedSample> dropped_of(const Reader& sample);

[[nodiscard]] JsonObject sample_json(const LaunchSample& sample);
[[nodiscard]] JsonObject sample_json(const GapSample& sample);
[[nodiscard]] JsonObject sample_json(const BesideSample& sample);
[[nodiscard]] JsonObject sample_json(const CopyBesideSample& sample);
// Adds "dropped" unless nothing was.
void append_dropped(JsonObject& members, const std::vector<DroppedSample>& dropped);

}  // namespace ddpx::io
