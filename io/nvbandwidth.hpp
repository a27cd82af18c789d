// What nvbandwidth prints: one matrix of GB/s per test, between the host and GPUs or between GPUs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/units.hpp"

namespace ddpx::io {

struct BandwidthMatrix {
  std::string test;  // "device_to_device_memcpy_read_ce"
  // Row to column; nullopt where there is no path (N/A).
  std::vector<std::vector<std::optional<BytesPerSecond>>> rates;
};

struct NvBandwidth {
  std::vector<BandwidthMatrix> matrices;
  std::size_t dropped = 0;  // rows that are cut or hold what is no rate
};

[[nodiscard]] bool looks_like_nvbandwidth(std::string_view text);

// Text or JSON (-j). Throws InputError where no matrix can be read.
[[nodiscard]] NvBandwidth read_nvbandwidth(std::string_view text, std::string_view place);

// The slowest pair of GPUs in the test of copies between devices; nullopt without such a test.
[[nodiscard]] std::optional<BytesPerSecond> slowest_pair(const NvBandwidth& measured);

}  // namespace ddpx::io
