// The parts of docs/results/links.md. Each judges rows that nothing it uses was fitted on.
#pragma once

#include <string>
#include <vector>

#include "tests/studies/sweeps.hpp"

namespace ddpx::study {

[[nodiscard]] std::string sizes_study(const std::vector<Sweep>& sweeps);
[[nodiscard]] std::string counts_study(const std::vector<Sweep>& sweeps);
[[nodiscard]] std::string nodes_study(const std::vector<Sweep>& sweeps);
[[nodiscard]] std::string scaling_study(const std::string& path);
[[nodiscard]] std::string cases_study();

}  // namespace ddpx::study
