// The answer as text: the verdict in words, what all rows share, then a table that fits 80 columns
// whatever it holds.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "predict/query.hpp"

namespace ddpx {

[[nodiscard]] std::string text_of(const ForecastDocument& document);

// Rows with the names of the JSON forecast, numbers in full precision, one header line (RFC 4180).
[[nodiscard]] std::string csv_of(const ForecastDocument& document);

using TextSink = std::function<void(std::string_view)>;

// The same of a query without plans, handed to `write` a piece at a time while it is forecast: the
// memory it takes does not grow with the rows. What it returns has no rows.
[[nodiscard]] ForecastDocument write_csv(const Query& query, const TextSink& write);

}  // namespace ddpx
