// What a fit came to, for people: constants with their errors, links, what was dropped and why.
#pragma once

#include <string>

#include "calibration/fit.hpp"

namespace ddpx {

struct SummaryOptions {
  bool every_residual =
      false;  // each measured value beside the fitted one, not only what was dropped
};

// Plain ASCII, as wide as the page (text/page.hpp).
[[nodiscard]] std::string summary_text(const Machine& machine, const FitReport& report,
                                       const SummaryOptions& options);
// The links alone, as of logs that measured nothing else.
[[nodiscard]] std::string summary_text(const std::vector<Link>& links, const FitReport& report,
                                       const SummaryOptions& options);

}  // namespace ddpx
