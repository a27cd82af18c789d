// Strategies side by side as a table of 80 columns.
#pragma once

#include <string>

#include "predict/result.hpp"

namespace ddpx {

[[nodiscard]] std::string ranking_text(const ForecastDocument& document, const RankingRow& row);

}  // namespace ddpx
