// The verdict in words: what a person reads before any number of the table.
#pragma once

#include <string>

#include "predict/result.hpp"

namespace ddpx {

// Before the speedup of a row outside the calibration.
inline constexpr const char* kOutsideMark = "~";

// One sentence per sweep, or per row where nothing is swept, each wrapped to lines of kColumns; a
// long answer ends in how many were left to the table.
[[nodiscard]] std::string verdicts_in_words(const ForecastDocument& document);

// One line: how many constants are borrowed and how many rows lie outside the calibration; empty
// when none.
[[nodiscard]] std::string grounds_in_words(const ForecastDocument& document);

// "pays", "does not pay", "too close": for a table's cell.
[[nodiscard]] std::string verdict_text(const ForecastRow& row);

// "2 x Tesla T4 over NVLink 2".
[[nodiscard]] std::string setting_text(int gpus, const std::string& device,
                                       const std::string& link);

}  // namespace ddpx
