// How series are told apart, and the legend that says which is which: marker, dash and colour
// together, below the plot, never over it.
#pragma once

#include <string>
#include <string_view>

#include "report/chart.hpp"

namespace ddpx::report {

// stroke-dasharray of series `index`.
[[nodiscard]] std::string_view dash(std::size_t index);
// The marker of series `index` at (x, y).
[[nodiscard]] std::string marker(std::size_t index, double x, double y);

// `text` cut to about `width` pixels at the charts' text size, with an ellipsis when it was cut.
[[nodiscard]] std::string fitted(std::string_view text, double width);

struct Legend {
  std::string svg;
  double height = 0;
};

// Entries in rows that wrap at `width`.
[[nodiscard]] Legend legend_of(const Chart& chart, double width);

}  // namespace ddpx::report
