#include "predict/listing.hpp"

#include <algorithm>
#include <vector>

#include "predict/text.hpp"

namespace ddpx {
namespace {

// Below a link's line: its title and source.
std::string note(const std::string& text) {
  if (text.empty()) return "";
  return wrapped(printable(text), {.first = 4, .rest = 4});
}

std::string range_text(const Link& link) {
  if (link.bandwidth_low.value() <= 0 || link.bandwidth_high == link.bandwidth_low)
    return rate_text(link.bandwidth.value);
  return rate_text(link.bandwidth_low) + " - " + rate_text(link.bandwidth_high);
}

}  // namespace

std::string links_text(std::span<const Link> links) {
  std::string text = wrapped(
                         "Latency of the smallest all-reduce on two ranks; bus bandwidth of a "
                         "large one (usual, and range seen); peak of one "
                         "direction by the standard.") +
                     "\n";
  for (const Link& link : links) {
    text += wrapped(printable(link.name) + ": " + time_text(link.latency.value) + ", " +
                        rate_text(link.bandwidth.value) + " (" + range_text(link) + ")" +
                        (link.peak.value() > 0 ? ", peak " + rate_text(link.peak) : ""),
                    {.rest = 4});
    text += note(link.title) + note(link.source);
  }
  return text;
}

std::string machines_text(std::span<const Machine> machines) {
  TextTable table({{"machine", true}, {"device", true}, {"products"}, {"links", true}});
  for (const Machine& machine : machines) {
    std::string links;
    for (const Link& link : machine.links) links += (links.empty() ? "" : ", ") + link.name;
    table.add({printable(machine.name), printable(machine.device.name),
               std::to_string(machine.products.size()), printable(links)});
  }
  return table.text();
}

}  // namespace ddpx
