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
  std::vector<std::size_t> names{};  // of the rows
  std::size_t columns = 0;
};

// Two GPUs that copied nothing: a rate of 0 is no bandwidth, and the pair does not work.
struct DeadPair {
  std::size_t row = 0;
  std::size_t column = 0;
};

struct NvBandwidth {
  std::vector<BandwidthMatrix> matrices;
  std::size_t dropped = 0;  // rows that are cut or hold what is no rate
  // Of the tests that slowest_pair() is of: pairs that are not there, of which it may be one, and
  // why.
  std::size_t pairs_missing = 0;
  std::vector<std::string> notes;
  std::vector<DeadPair> dead;  // likewise, each once
};

[[nodiscard]] bool looks_like_nvbandwidth(std::string_view text);

// Text or JSON (-j). Throws InputError where no matrix can be read.
[[nodiscard]] NvBandwidth read_nvbandwidth(std::string_view text, std::string_view place);

// The slowest pair of GPUs in the test of copies between devices; nullopt without such a test.
[[nodiscard]] std::optional<BytesPerSecond> slowest_pair(const NvBandwidth& measured);

}  // namespace ddpx::io
