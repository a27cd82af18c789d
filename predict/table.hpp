// The answer as text: the verdict in words, what all rows share, then a table that fits 80 columns
// whatever it holds.
#pragma once

#include <string>

#include "predict/result.hpp"

namespace ddpx {

[[nodiscard]] std::string text_of(const ForecastDocument& document);

// Rows with the names of the JSON forecast, numbers in full precision, one header line (RFC 4180).
[[nodiscard]] std::string csv_of(const ForecastDocument& document);

}  // namespace ddpx
