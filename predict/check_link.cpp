#include "predict/check_link.hpp"

#include <utility>

#include "predict/fall_backs.hpp"
#include "predict/link_text.hpp"
#include "predict/link_words.hpp"
#include "predict/text.hpp"

namespace ddpx {
namespace {

// A copy between two GPUs reaches this share of the link's rate in one direction: 0.88 (H200 pair),
// 0.85 to 0.89 (PCIe 5, RTX PRO 6000).
constexpr double kCopyLow = 0.75;
constexpr double kCopyUsual = 0.88;
bool reachable(const Link& link, int ranks) { return link.reach() >= ranks; }

Band copy_band(const Link& link) {
  return {link.peak * kCopyLow, link.peak * kCopyUsual, link.peak};
}

// From here on a figure speaks of latency.
constexpr double kMostLatency = 0.25;

bool latency_decides(const MeasuredLink& measured) { return measured.latency_share > kMostLatency; }

std::string remarks(const MeasuredLink& measured) {
  std::string text;
  if (latency_decides(measured)) {
    text += wrapped("But a small message takes " + percent_text(measured.latency_share) +
                    " of that time: this is latency more than bandwidth. " +
                    (measured.largest > measured.bytes
                         ? "The log's larger messages are no faster."
                         : "Measure larger messages (-e 1G) for a verdict on the link."));
  }
  for (const std::string& assumption : measured.assumptions)
    text += wrapped("Assumed: " + assumption + ".");
  for (const std::string& note : measured.notes) text += wrapped("Note: " + note);
  return text;
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

// The band of an all-reduce in the switch, where NCCL would take that: never for a message of which
// latency decides.
std::optional<Band> switch_band(const MeasuredLink& measured, const Link& link) {
  if (measured.copies || latency_decides(measured)) return std::nullopt;
  const auto by_switch = in_switch_band(link, measured.ranks, measured.bytes);
  if (!by_switch) return std::nullopt;
  const bool faster = by_switch->usual > band_of(link, measured.ranks, measured.bytes).usual;
  return faster ? by_switch : std::nullopt;
}

// What may count more than a ring, or a tree, over the link that was named.
std::string above_text(const MeasuredLink& measured, const Link& expected) {
  const bool inside = has_inside(expected);
  const Link& gpus = inside ? expected.levels.front() : expected;
  const bool network = expected.topology == Topology::network && !given_by_figures(expected);
  const bool by_switch = gpus.topology == Topology::nvlink && measured.ranks > 2;
  std::vector<std::string> causes{"a faster link than named"};
  if (inside) causes.emplace_back("more NICs in a node");
  if (by_switch) causes.emplace_back("a switch that reduces (NVLS)");
  if (network && measured.hosts != 1)
    causes.emplace_back("a network whose switches reduce (SHARP)");
  if (network && !inside && measured.ranks_per_host != 1 && expected.curves.empty())
    causes.emplace_back("nodes of several GPUs (--gpus 2x8 with --inter-link)");
  std::string text = "That is above what such a link gives: ";
  for (std::size_t i = 0; i < causes.size(); ++i)
    text += (i == 0 ? "" : (i + 1 == causes.size() ? " or " : ", ")) + causes[i];
  if (by_switch || network)
    text += "; bus bandwidth counts what a ring would have sent, whatever was";
  return text + ".";
}

// "It is what pcie4 gives (10 GB/s), or pcie3-p2p (10.8 GB/s), and 2 more of the table."
std::string looks_text(const LinkCheck& check) {
  constexpr std::size_t kMostNamed = 3;
  std::string text = "It is what " + printable(check.looks_like->name) + " gives (" +
                     rate_text(check.looks_like->band.usual) + ")";
  for (std::size_t i = 0; i < check.also_like.size() && i + 1 < kMostNamed; ++i)
    text += ", or " + printable(check.also_like[i].name) + " (" +
            rate_text(check.also_like[i].band.usual) + ")";
  const std::size_t likes = 1 + check.also_like.size();
  if (likes > kMostNamed) text += ", and " + std::to_string(likes - kMostNamed) + " more";
  return text + ".";
}

std::string measured_text(const MeasuredLink& measured) {
  std::string text = "Measured: " + measured.what + ", " + rate_text(measured.bus_bandwidth);
  if (measured.copies) return text + " (slowest pair).";
  text += " bus bandwidth at " + size_text(measured.bytes);
  if (measured.falls)
    text += ", and " + rate_text(measured.at_largest) + " at " + size_text(measured.largest) +
            ", its largest message";
  return text + ".";
}

// Nothing else that is said of a link that corrupts data, or moves none, is worth as much.
std::string corrupts_text(const MeasuredLink& measured) {
  if (!measured.dead.empty())
    return wrapped("No copies at all (0 GB/s): " + measured.dead +
                   ". Such a pair does not work, and nothing trains over it: find the faulty GPU "
                   "or link (dmesg for Xid errors, nvidia-smi nvlink -s, IOMMU or ACS) before "
                   "anything else.");
  if (measured.corrupts.empty()) return {};
  return wrapped("Wrong results: " + measured.corrupts +
                 ". Nothing trains right on it, whatever its speed: find the faulty GPU, link or "
                 "NIC (all_reduce_perf -c 1 on pairs of GPUs, dmesg for Xid errors) before "
                 "anything else.");
}

// Of a figure within the band.
std::string right_text(const MeasuredLink& measured, bool in_switch) {
  if (!measured.dead.empty()) return "That is the speed of the pairs that work.";
  if (!measured.corrupts.empty()) return "That is the speed of such a box.";
  if (measured.incomplete)
    return "The pairs that are there have the speed of such a box; of those that are missing "
           "nothing is known: run nvbandwidth again and give its whole output.";
  return in_switch ? "That is right for such a box with NVLS." : "That is right for such a box.";
}

// The figure that the verdict is on: the best, or the largest message's where the bandwidth falls
// below the band towards it.
MeasuredLink judged_of(const MeasuredLink& measured, const Link& expected) {
  MeasuredLink judged = measured;
  if (!measured.falls || measured.at_largest.value() <= 0) return judged;
  const Band band = band_of(expected, measured.ranks, measured.largest);
  if (band.standing(measured.at_largest) != Standing::below) return judged;
  judged.bus_bandwidth = measured.at_largest;
  judged.bytes = measured.largest;
  judged.latency_share = 0;
  return judged;
}

}  // namespace

LinkCheck check_link(const MeasuredLink& given, const Link& expected, std::span<const Link> table) {
  const MeasuredLink measured = judged_of(given, expected);
  const Band band =
      measured.copies ? copy_band(expected) : band_of(expected, measured.ranks, measured.bytes);
  const auto by_switch = switch_band(measured, expected);
  LinkCheck check;
  check.measured = measured;
  check.expected = link_band(expected, band);
  check.standing = band.standing(measured.bus_bandwidth);
  check.in_switch = by_switch && check.standing == Standing::above &&
                    by_switch->standing(measured.bus_bandwidth) == Standing::within;
  if (check.in_switch) check.standing = Standing::within;
  check.text = corrupts_text(measured) + wrapped(measured_text(given));
  check.text +=
      wrapped("Expected of " + printable(expected.name) + " on " + std::to_string(measured.ranks) +
              " ranks: " + band_text(band) + "; the limit is " + check.expected->limit + ".");
  if (by_switch)
    check.text += wrapped("With all-reduce inside the switch (NVLS): " + band_text(*by_switch) +
                          ", more than the links carry, because bus bandwidth counts a ring's "
                          "traffic and the switch sends less.");
  if (check.standing == Standing::within) {
    check.text += wrapped(right_text(measured, check.in_switch));
    if (by_switch && !check.in_switch)
      check.text += wrapped(
          "NVLS does not run: NCCL_NVLS_ENABLE=0, no fabric manager, or a "
          "container without it.");
    if (measured.falls) {
      check.faults = {faults_of(expected, measured, nullptr).front()};
      check.text += wrapped("But " + check.faults.front() + ".");
    }
    check.text += remarks(measured);
    if (!measured.dead.empty()) check.standing = Standing::below;
    return check;
  }
  if (check.standing == Standing::above) {
    check.text += wrapped(above_text(measured, expected));
    check.text += remarks(measured);
    return check;
  }
  check.text += wrapped((measured.bytes == given.bytes ? "That is " : "Its largest message has ") +
                        percent_text(measured.bus_bandwidth / band.usual) +
                        " of the usual figure, below the band.");
  const std::vector<const Link*> likes =
      measured.copies ? std::vector<const Link*>{} : fall_backs(measured, expected, table);
  for (const Link* like : likes) {
    LinkBand as = link_band(*like, band_of(*like, measured.ranks, measured.bytes));
    if (check.looks_like) {
      check.also_like.push_back(std::move(as));
    } else {
      check.looks_like = std::move(as);
    }
  }
  if (check.looks_like) check.text += wrapped(looks_text(check));
  check.faults = faults_of(expected, measured, likes.empty() ? nullptr : likes.front());
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
  check.text = corrupts_text(measured) + wrapped(measured_text(measured));
  for (const Link& link : table) {
    if (!measured.copies && !reachable(link, measured.ranks)) continue;
    const Band band =
        measured.copies ? copy_band(link) : band_of(link, measured.ranks, measured.bytes);
    const auto by_switch = switch_band(measured, link);
    if (band.standing(measured.bus_bandwidth) == Standing::within) {
      check.candidates.push_back(link_band(link, band));
      if (has_inside(link)) clusters.push_back(&link);
    } else if (by_switch && by_switch->standing(measured.bus_bandwidth) == Standing::within) {
      check.candidates.push_back({link.name, *by_switch, "the switch, which reduces (NVLS)"});
    }
  }
  check.text += wrapped(check.candidates.empty()
                            ? std::string("No link of the table (--list-links) gives that") +
                                  (measured.copies ? "." : " on so many ranks.")
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
