// The words of --check-link about links: bands, limits and likely faults.
#pragma once

#include <string>
#include <vector>

#include "predict/check_link.hpp"

namespace ddpx {

[[nodiscard]] std::string band_text(const Band& band);

// What holds the figure where it is, and what to look at when it should be higher.
[[nodiscard]] std::string limit_of(const Link& link);

[[nodiscard]] LinkBand link_band(const Link& link, const Band& band);

// Whether it is nodes with links inside; nodes of one GPU each are what joins them (two_level.hpp).
[[nodiscard]] bool has_inside(const Link& link);

// A line of a list of links.
[[nodiscard]] std::string candidate_line(const LinkBand& candidate, bool with_limit);

// What is likely wrong with a link below its band, most likely first. Of two levels: of what joins
// the nodes, then of what is inside, or the other way round where `like`, what gives as much,
// differs from it inside.
[[nodiscard]] std::vector<std::string> faults_of(const Link& link, const MeasuredLink& measured,
                                                 const Link* like);

}  // namespace ddpx
