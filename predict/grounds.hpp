// What a forecast stands on: constants borrowed from elsewhere, and shapes, sizes or rank counts
// that were never measured.
#pragma once

#include "predict/result.hpp"

namespace ddpx {

// Constants of the machine and the link that this job's step uses and that no measurement of theirs
// gave, as "name: origin".
[[nodiscard]] std::vector<std::string> borrowed(const Machine& machine, const Link& link,
                                                const Job& job);

// What of the job lies outside the calibration, one sentence part per kind; empty when nothing
// does.
[[nodiscard]] std::vector<std::string> outside_calibration(const ProductTable& products,
                                                           const Link& link, const Network& network,
                                                           const Job& job);

// That a GPU needs more memory than it has, where it does. `what` is said to need it.
[[nodiscard]] std::optional<std::string> does_not_fit(const GpuMemory& memory,
                                                      const std::string& what, Bytes needed);

// The step's collectives with their bandwidth, in the order they run.
[[nodiscard]] Explanation explain(const Machine& machine, const Link& link, const Network& network,
                                  const Job& job);

}  // namespace ddpx
