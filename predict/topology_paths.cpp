// What a topology matrix says of a box: see check_link.hpp.
#include <algorithm>
#include <array>

#include "predict/check_link.hpp"
#include "predict/link_words.hpp"
#include "predict/text.hpp"

namespace ddpx {

LinkCheck expected_of_paths(const std::vector<std::vector<std::string>>& paths, std::size_t nics,
                            std::span<const Link> table) {
  struct Path {
    std::string_view word;
    std::string_view meaning;
  };
  // From the slowest to the fastest.
  constexpr std::array kPaths{
      Path{"SYS", "across the sockets' link"}, Path{"NODE", "across PCIe hosts of one socket"},
      Path{"PHB", "through a PCIe host bridge (the processor)"},
      Path{"PXB", "through several PCIe switches"}, Path{"PIX", "through one PCIe switch"}};
  std::string slowest;
  for (const Path& path : kPaths) {
    const bool found = std::any_of(paths.begin(), paths.end(), [&](const auto& row) {
      return std::find(row.begin(), row.end(), path.word) != row.end();
    });
    if (!found) continue;
    slowest = path.word;
    break;
  }
  const std::size_t gpus = paths.size();
  LinkCheck check;
  check.paths = Paths{gpus, nics, slowest};
  std::string& text = check.text;
  std::string prefix = "nvlink";
  if (slowest.empty() && gpus > 1) {
    check.paths->slowest = paths[0][1];
    text =
        wrapped(std::to_string(gpus) + " GPUs, every pair joined by NVLink (" + paths[0][1] + ").");
  } else if (gpus > 1) {
    prefix = "pcie";
    const auto* path = std::find_if(kPaths.begin(), kPaths.end(),
                                    [&](const Path& p) { return p.word == slowest; });
    text = wrapped(std::to_string(gpus) + " GPUs; the slowest pair is " + slowest + ", " +
                   std::string(path->meaning) +
                   ", and a ring over all of them has its pace. Whether peer-to-peer access works "
                   "the matrix does not say; without it every pair goes through host memory, and "
                   "two GPUs under one switch (PIX) share its uplink.");
  } else {
    text = wrapped("One GPU: no link to check.");
    return check;
  }
  if (nics > 0) text += wrapped(std::to_string(nics) + (nics == 1 ? " NIC." : " NICs."));
  text += wrapped("Expected bus bandwidth of a large all-reduce on " + std::to_string(gpus) +
                  " GPUs, by what the link is:");
  for (const Link& link : table) {
    if (!link.name.starts_with(prefix) || link.reach() < static_cast<int>(gpus)) continue;
    check.candidates.push_back(link_band(link, band_of(link, static_cast<int>(gpus))));
    text += candidate_line(check.candidates.back(), false);
  }
  return check;
}

}  // namespace ddpx
