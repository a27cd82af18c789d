#include "predict/check_link.hpp"

#include <algorithm>
#include <cmath>

#include "predict/link_words.hpp"
#include "predict/text.hpp"

namespace ddpx {
namespace {

// A copy between two GPUs reaches this share of the link's rate in one direction: 0.88 (H200 pair),
// 0.85 to 0.89 (PCIe 5, RTX PRO 6000).
constexpr double kCopyLow = 0.75;
constexpr double kCopyUsual = 0.88;
// What machines whose switch adds up differ by (480 GB/s on H100 and H200).
constexpr double kInSwitchSpread = 1.08;
// No ring counts more bus bandwidth than its slowest hop carries; a tree over two nodes counts
// twice the wire, because it sends each byte over it once (two_level.cpp).
constexpr double kTreeOverWire = 2.0;

BytesPerSecond on(const Link& link, int ranks, Bytes bytes) {
  const CollectiveCall call{Collective::all_reduce, DType::fp32, bytes, ranks};
  return call.bytes / price(link, call, InSwitch::no).time * bus_factor(call.kind, ranks);
}

bool reachable(const Link& link, int ranks) { return link.reach() >= ranks; }

Band copy_band(const Link& link) {
  return {link.peak * kCopyLow, link.peak * kCopyUsual, link.peak};
}

// From here on a figure speaks of latency.
constexpr double kMostLatency = 0.25;

std::string remarks(const MeasuredLink& measured) {
  std::string text;
  if (measured.latency_share > kMostLatency) {
    text += wrapped("But a small message takes " + percent_text(measured.latency_share) +
                    " of that time: this is latency more than bandwidth. Measure larger messages "
                    "(-e 1G) for a verdict on the link.");
  }
  for (const std::string& assumption : measured.assumptions)
    text += wrapped("Assumed: " + assumption + ".");
  for (const std::string& note : measured.notes) text += wrapped("Note: " + note);
  return text;
}

// A link of the table, other than the expected one, whose usual figure is nearest and whose band
// holds the figure.
const Link* looks_like(const MeasuredLink& measured, const Link& expected,
                       std::span<const Link> table) {
  const Link* nearest = nullptr;
  double distance = 0.25;  // in logarithms: further away it looks like nothing
  for (const Link& link : table) {
    if (link.name == expected.name || !reachable(link, measured.ranks)) continue;
    const double off =
        std::abs(std::log(on(link, measured.ranks, measured.bytes) / measured.bus_bandwidth));
    const bool gives =
        band_of(link, measured.ranks, measured.bytes).standing(measured.bus_bandwidth) ==
        Standing::within;
    if (gives && off < distance) {
      distance = off;
      nearest = &link;
    }
  }
  return nearest;
}

// Nodes in whose band it lies: a line for each link between them, with those inside.
std::string grouped(const std::vector<const Link*>& clusters) {
  std::string text;
  for (std::size_t i = 0; i < clusters.size();) {
    const std::string& between = clusters[i]->levels.back().name;
    std::string line = "- " + printable(between) + " between nodes, inside: ";
    const std::size_t first = i;
    for (; i < clusters.size() && clusters[i]->levels.back().name == between; ++i)
      line += (i == first ? "" : ", ") + printable(clusters[i]->levels.front().name);
    text += wrapped(line, {.first = 2, .rest = 4});
  }
  return text;
}

std::string naming(const MeasuredLink& measured) {
  if (measured.copies || measured.hosts == 1) return "--link for a verdict and likely faults";
  if (measured.hosts > 1)
    return std::string(measured.ranks == measured.hosts ? "" : "--link, inside a node, and ") +
           "--inter-link for a verdict and likely faults";
  return "--link for a verdict and likely faults, of several nodes as --gpus 2x8 --link nvlink4 "
         "--inter-link infiniband-ndr";
}

std::string measured_text(const MeasuredLink& measured) {
  return "Measured: " + measured.what + ", " + rate_text(measured.bus_bandwidth) +
         (measured.copies ? " (slowest pair)."
                          : " bus bandwidth at " + size_text(measured.bytes) + ".");
}

}  // namespace

Standing Band::standing(BytesPerSecond measured) const {
  if (measured < low) return Standing::below;
  return measured > high ? Standing::above : Standing::within;
}

Band band_of(const Link& link, int ranks, Bytes bytes) {
  const BytesPerSecond usual = on(link, ranks, bytes);
  const CollectiveCall call{Collective::all_reduce, DType::fp32, bytes, ranks};
  const double spread = 1.0 + kNormalQuantile90 * price(link, call, InSwitch::no).relative_error;
  Band band{usual / spread, usual, usual * spread};
  if (link.bandwidth_low.value() > 0 && link.bandwidth.value.value() > 0) {
    band.low = std::min(band.low, usual * (link.bandwidth_low / link.bandwidth.value));
    band.high = std::max(band.high, usual * (link.bandwidth_high / link.bandwidth.value));
  }
  if (link.peak.value() > 0) {
    const double counted = link.topology == Topology::network ? kTreeOverWire : 1.0;
    band.high = std::max(usual, std::min(band.high, counted * link.peak));
  }
  return band;
}

std::optional<Band> in_switch_band(const Link& link, int ranks, Bytes bytes) {
  const CollectiveCall call{Collective::all_reduce, DType::fp32, bytes, ranks};
  const auto time = in_switch_time(link, call);
  if (!time) return std::nullopt;
  const BytesPerSecond usual = bytes / *time * bus_factor(call.kind, ranks);
  return Band{usual / kInSwitchSpread, usual, usual * kInSwitchSpread};
}

LinkCheck check_link(const MeasuredLink& measured, const Link& expected,
                     std::span<const Link> table) {
  const Band band =
      measured.copies ? copy_band(expected) : band_of(expected, measured.ranks, measured.bytes);
  const auto by_switch =
      measured.copies ? std::nullopt : in_switch_band(expected, measured.ranks, measured.bytes);
  LinkCheck check;
  check.measured = measured;
  check.expected = link_band(expected, band);
  check.standing = band.standing(measured.bus_bandwidth);
  check.in_switch = by_switch && check.standing == Standing::above &&
                    by_switch->standing(measured.bus_bandwidth) == Standing::within;
  if (check.in_switch) check.standing = Standing::within;
  check.text = wrapped(measured_text(measured));
  check.text +=
      wrapped("Expected of " + printable(expected.name) + " on " + std::to_string(measured.ranks) +
              " ranks: " + band_text(band) + "; the limit is " + check.expected->limit + ".");
  if (by_switch)
    check.text += wrapped("With all-reduce inside the switch (NVLS): " + band_text(*by_switch) +
                          ", more than the links carry, because bus bandwidth counts a ring's "
                          "traffic and the switch sends less.");
  if (check.standing == Standing::within) {
    check.text += wrapped(check.in_switch ? "That is right for such a box with NVLS."
                                          : "That is right for such a box.");
    if (by_switch && !check.in_switch)
      check.text += wrapped(
          "NVLS does not run: NCCL_NVLS_ENABLE=0, no fabric manager, or a "
          "container without it.");
    if (measured.falls) {
      check.faults = {faults_of(expected, measured, nullptr).front()};
      check.text += wrapped("But " + check.faults.front() + ".");
    }
    check.text += remarks(measured);
    return check;
  }
  if (check.standing == Standing::above) {
    check.text += wrapped(
        std::string("That is above what such a link gives: a faster link than named") +
        (measured.hosts == 1 ? ", or a switch that reduces (NVLS), which bus bandwidth overstates"
                             : ", a switch that reduces (NVLS) or a tree over two nodes, both of "
                               "which bus bandwidth overstates") +
        std::string(expected.topology == Topology::network && expected.levels.empty()
                        ? "; or nodes of several GPUs (--gpus 2x8 with --inter-link)."
                        : "."));
    check.text += remarks(measured);
    return check;
  }
  check.text += wrapped("That is " + percent_text(measured.bus_bandwidth / band.usual) +
                        " of the usual figure, below the band.");
  const Link* like = measured.copies ? nullptr : looks_like(measured, expected, table);
  if (like != nullptr) {
    check.looks_like = link_band(*like, band_of(*like, measured.ranks, measured.bytes));
    check.text += wrapped("It is what " + printable(like->name) + " gives (" +
                          rate_text(check.looks_like->band.usual) + ").");
  }
  check.faults = faults_of(expected, measured, like);
  check.text += "Likely, in this order:\n";
  for (const std::string& fault : check.faults)
    check.text += wrapped("- " + fault, {.first = 2, .rest = 4});
  check.text += remarks(measured);
  return check;
}

LinkCheck check_link(const MeasuredLink& measured, std::span<const Link> table) {
  LinkCheck check;
  std::vector<const Link*> clusters;
  check.measured = measured;
  check.text = wrapped(measured_text(measured));
  for (const Link& link : table) {
    if (!measured.copies && !reachable(link, measured.ranks)) continue;
    const Band band =
        measured.copies ? copy_band(link) : band_of(link, measured.ranks, measured.bytes);
    const auto by_switch =
        measured.copies ? std::nullopt : in_switch_band(link, measured.ranks, measured.bytes);
    if (band.standing(measured.bus_bandwidth) == Standing::within) {
      check.candidates.push_back(link_band(link, band));
      if (has_inside(link)) clusters.push_back(&link);
    } else if (by_switch && by_switch->standing(measured.bus_bandwidth) == Standing::within) {
      check.candidates.push_back({link.name, *by_switch, "the switch, which reduces (NVLS)"});
    }
  }
  check.text += wrapped(check.candidates.empty()
                            ? "No link of the table (--list-links) gives that on so many ranks."
                            : "Links that give that:");
  check.text += clusters.empty() ? "" : grouped(clusters);
  for (const LinkBand& c : check.candidates) {
    if (clusters.empty()) check.text += candidate_line(c, true);
  }
  if (measured.falls)
    check.text += wrapped(
        "Its bandwidth falls with the size: congestion, or a message that no longer "
        "fits a buffer or cache on the way; prefer smaller buckets.");
  check.text += remarks(measured);
  check.text += wrapped("Name yours by " + naming(measured) + ".");
  return check;
}

}  // namespace ddpx
