// What ddpx-validate does between its command line and its exit code: the one place where
// validation meets files and reports.
#pragma once

#include <string>
#include <vector>

#include "report/markdown.hpp"
#include "validation/options.hpp"

namespace ddpx {

struct ValidationAnswer {
  std::vector<report::ReportFile> files;  // to be written, all of them or none
  std::string text;                       // for standard output; empty when a file goes there
  std::vector<std::string> talk;          // for standard error, a line each
  bool within_tolerance = true;
};

// Reads every file named, forecasts, compares and renders; writes nothing.
[[nodiscard]] ValidationAnswer validate(const ValidateOptions& options);

}  // namespace ddpx
