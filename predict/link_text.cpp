#include "predict/link_text.hpp"

#include "model/error.hpp"
#include "model/quantity.hpp"

namespace ddpx {
namespace {

// Nobody's figures are exact: a bandwidth read off a table differs by some 5 % from what a bucket
// sees, a latency by more.
constexpr double kBandwidthError = 0.05;
constexpr double kLatencyError = 0.20;

}  // namespace

bool looks_like_figures(std::string_view text) {
  return !text.empty() &&
         (text[0] == '.' || text[0] == '-' || text[0] == '+' || (text[0] >= '0' && text[0] <= '9'));
}

Link link_from_figures(std::string_view place, std::string_view text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos) {
    throw InputError(place, "'" + shown(text) +
                                "' needs two figures: the bus bandwidth of a large all-reduce and "
                                "the time of the smallest one "
                                "on two ranks, as 25GB/s,10us");
  }
  const BytesPerSecond bandwidth = parse_rate(place, text.substr(0, comma));
  const Seconds latency = parse_time(place, text.substr(comma + 1));
  // As in files (io/plausible.hpp).
  if (bandwidth.value() < 1e3 || bandwidth.value() > 1e15)
    throw InputError(place, "'" + shown(text.substr(0, comma)) +
                                "' is out of range; accepted: 1KB/s to 1000TB/s");
  if (latency.value() < 1e-10 || latency.value() > 1e3)
    throw InputError(
        place, "'" + shown(text.substr(comma + 1)) + "' is out of range; accepted: 0.1ns to 1000s");
  Link link;
  link.name = std::string(text);
  link.title = std::string(text);
  // A figure is taken to hold on the count it is asked for: nothing says of what kind the link is.
  link.topology = Topology::network;
  link.latency = {latency, kLatencyError, kGivenFigures};
  link.large_latency = link.latency;
  link.bandwidth = {bandwidth, kBandwidthError, kGivenFigures};
  link.bandwidth_low = bandwidth;
  link.bandwidth_high = bandwidth;
  link.channels = kAssumedChannels;
  link.source = kGivenFigures;
  return link;
}

}  // namespace ddpx
