// Reads what --from names and puts it together as one set of measurements.
#pragma once

#include <string>
#include <vector>

#include "calibration/options.hpp"
#include "profiler/measurement.hpp"

namespace ddpx {

struct Gathered {
  Measurements measurements;
  bool only_links = false;             // nothing but logs of collectives was given
  std::vector<std::string> notes{};    // rows left out of logs, and what the importer noticed
  std::string place = "measurements";  // the file, for errors of the fit
  std::string file_hash{};  // of the one measurements file, as it is; empty when there is more
};

// Adds the links of `other`, which measured nothing else; `place` is where they come from, for
// errors. A link that was measured before is one link with the measurements of both. Throws
// InputError where they are not of one kind.
void add_links(Measurements other, const std::string& place, Gathered& gathered);

// At most one measurements file of a machine; links of others, measured alone, are added to it, and
// logs of nccl-tests as samples of --link. Throws
// InputError.
[[nodiscard]] Gathered gather(const CalibrateOptions& options);

}  // namespace ddpx
