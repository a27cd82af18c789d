// Calibration by measuring: this program starts its ranks, shows how far they are, and keeps what
// they bring home.
#pragma once

#include <optional>
#include <string>

#include "calibration/gather.hpp"
#include "calibration/options.hpp"
#include "profiler/rank.hpp"

namespace ddpx {

// What a rank does: measure what the options ask for and publish it. The measurements come back
// where nobody outside waits for them: on the first rank of the user's own mpirun.
[[nodiscard]] std::optional<Gathered> measure_as_rank(const RankPlace& place,
                                                      const CalibrateOptions& options);

// Starts the ranks and waits for their measurements. When a rank fails or the user interrupts, what
// is finished is written to a file and the message names it.
[[nodiscard]] Gathered measure_with_ranks(const CalibrateOptions& options);

// The plan alone, for --dry-run.
[[nodiscard]] std::string dry_run_text(const CalibrateOptions& options);

// Where results go that no option names: the user's data directory, where programs find the last
// machine of this host. Makes it. Throws InputError.
[[nodiscard]] std::string usual_machine_path(const std::string& name);
[[nodiscard]] std::string usual_measurements_path(const std::string& name);

}  // namespace ddpx
