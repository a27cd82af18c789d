#include "predict/check_link.hpp"

#include <algorithm>
#include <array>
#include <cmath>

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

std::string band_text(const Band& band) {
  return rate_text(band.low) + " to " + rate_text(band.high) + " (usual " + rate_text(band.usual) +
         ")";
}

Band copy_band(const Link& link) {
  return {link.peak * kCopyLow, link.peak * kCopyUsual, link.peak};
}

// What holds the figure where it is, and what to look at when it should be higher.
std::string limit_of(const Link& link) {
  // Nodes of one GPU each have the name of what joins them (two_level.hpp).
  if (!link.levels.empty() && link.name == link.levels.back().name) return "the nodes' NICs";
  if (!link.levels.empty())
    return "the nodes' NICs, or the links inside a node where they are slower";
  if (link.topology == Topology::nvlink) return "the NVLinks of one GPU";
  if (link.topology == Topology::network)
    return link.per_gpu ? "the NICs, one per GPU" : "the node's NIC";
  if (link.topology == Topology::host_memory) return "the host's memory";
  return link.topology == Topology::pcie
             ? "the slowest PCIe hop on the ring (an x16 slot, a switch's uplink or the socket "
               "link)"
             : "host memory: without peer-to-peer access every byte crosses PCIe twice";
}

std::vector<std::string> faults_of(const Link& link, const MeasuredLink& measured) {
  std::vector<std::string> faults;
  if (link.topology == Topology::nvlink) {
    faults = {"NVLink inactive or a bridge missing (nvidia-smi nvlink -s)",
              "peer-to-peer switched off (NCCL_P2P_DISABLE, NCCL_P2P_LEVEL), so that NCCL goes "
              "through host memory",
              "ranks on GPUs that share no NVLink (nvidia-smi topo -m)"};
  } else if (link.topology == Topology::network) {
    faults = {"NCCL fell back to TCP (NCCL_DEBUG=INFO must say NET/IB or NET/OFI, not NET/Socket)",
              "several GPUs on one NIC, or GPUDirect RDMA off",
              "too few sockets or queue pairs (NCCL_NSOCKS_PERTHREAD, NCCL_IB_QPS_PER_CONNECTION)"};
  } else {
    faults = {"a slot of fewer lanes or an older generation (nvidia-smi -q: Link Width, Link Gen)",
              "peer-to-peer blocked by IOMMU or ACS, or not offered by the driver (GeForce); NCCL "
              "then goes through host memory",
              "GPUs on two sockets: the socket link is the slowest hop"};
  }
  if (measured.falls)
    faults.insert(faults.begin(),
                  "bandwidth falls with the size: congestion, or a message that no longer fits a "
                  "buffer or cache on the way; prefer smaller buckets");
  return faults;
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
  for (const std::string& note : measured.notes) text += wrapped("Note: " + note);
  return text;
}

// A link of the table, other than the expected one, whose usual figure is nearest.
const Link* looks_like(const MeasuredLink& measured, const Link& expected,
                       std::span<const Link> table) {
  const Link* nearest = nullptr;
  double distance = 0.25;  // in logarithms: further away it looks like nothing
  for (const Link& link : table) {
    if (link.name == expected.name || !reachable(link, measured.ranks)) continue;
    const double off =
        std::abs(std::log(on(link, measured.ranks, measured.bytes) / measured.bus_bandwidth));
    if (off < distance) {
      distance = off;
      nearest = &link;
    }
  }
  return nearest;
}

std::string measured_text(const MeasuredLink& measured) {
  return "Measured: " + measured.what + ", " + rate_text(measured.bus_bandwidth) +
         (measured.copies ? " (slowest pair)."
                          : " bus bandwidth at " + size_text(measured.bytes) + ".");
}

LinkBand link_band(const Link& link, const Band& band) { return {link.name, band, limit_of(link)}; }

std::string candidate_line(const LinkBand& c, bool with_limit) {
  return wrapped("- " + printable(c.name) + ": " + band_text(c.band) +
                     (with_limit ? ", limited by " + c.limit : ""),
                 {.first = 2, .rest = 4});
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
      check.faults = {faults_of(expected, measured).front()};
      check.text += wrapped("But " + check.faults.front() + ".");
    }
    check.text += remarks(measured);
    return check;
  }
  if (check.standing == Standing::above) {
    check.text += wrapped(
        "That is above what such a link gives: a faster link than named, a switch that reduces "
        "(NVLS) or a tree over two nodes, both of which bus bandwidth overstates" +
        std::string(expected.topology == Topology::network && expected.levels.empty()
                        ? "; or nodes of several GPUs (--gpus 2x8 with --inter-link)."
                        : "."));
    check.text += remarks(measured);
    return check;
  }
  check.text += wrapped("That is " + percent_text(measured.bus_bandwidth / band.usual) +
                        " of the usual figure, below the band.");
  if (const Link* like = measured.copies ? nullptr : looks_like(measured, expected, table)) {
    check.looks_like = link_band(*like, band_of(*like, measured.ranks, measured.bytes));
    check.text += wrapped("It is what " + printable(like->name) + " gives (" +
                          rate_text(check.looks_like->band.usual) + ").");
  }
  check.faults = faults_of(expected, measured);
  check.text += "Likely, in this order:\n";
  for (const std::string& fault : check.faults)
    check.text += wrapped("- " + fault, {.first = 2, .rest = 4});
  check.text += remarks(measured);
  return check;
}

LinkCheck check_link(const MeasuredLink& measured, std::span<const Link> table) {
  LinkCheck check;
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
    } else if (by_switch && by_switch->standing(measured.bus_bandwidth) == Standing::within) {
      check.candidates.push_back({link.name, *by_switch, "the switch, which reduces (NVLS)"});
    }
  }
  check.text += wrapped(check.candidates.empty()
                            ? "No link of the table (--list-links) gives that on so many ranks."
                            : "Links that give that:");
  for (const LinkBand& c : check.candidates) check.text += candidate_line(c, true);
  if (measured.falls)
    check.text += wrapped(
        "Its bandwidth falls with the size: congestion, or a message that no longer "
        "fits a buffer or cache on the way; prefer smaller buckets.");
  check.text += remarks(measured);
  check.text +=
      wrapped("Name yours by --link for a verdict and likely faults" +
              std::string(measured.copies ? "."
                                          : ", of several nodes as --gpus 2x8 --link nvlink4 "
                                            "--inter-link infiniband-ndr."));
  return check;
}

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
  if (nics > 0) text += wrapped(std::to_string(nics) + " NICs.");
  text += wrapped("Expected bus bandwidth of a large all-reduce on " + std::to_string(gpus) +
                  " GPUs, by what the link is:");
  for (const Link& link : table) {
    if (!link.name.starts_with(prefix) || !reachable(link, static_cast<int>(gpus))) continue;
    check.candidates.push_back(link_band(link, band_of(link, static_cast<int>(gpus))));
    text += candidate_line(check.candidates.back(), false);
  }
  return check;
}

}  // namespace ddpx
