// Everything a validation report shows, computed before: report/ only arranges it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "validation/compare.hpp"

namespace ddpx::report {

struct ValidationFacts {
  const Machine& machine;
  std::span<const Runs> files;
  std::span<const Link> links;  // those the rows ran on, by the rows' names
  const Comparison& comparison;
  std::optional<double> tolerance;  // on the median error
  std::vector<std::string> notes;   // which machine was taken, what a link's name resolved to
  std::string program;              // name and version
};

}  // namespace ddpx::report
