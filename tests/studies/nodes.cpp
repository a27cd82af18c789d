// From one node to several, and between link kinds: two levels from the names of their links, and
// measured clusters carried to more nodes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <stdexcept>

#include "io/catalog.hpp"
#include "model/two_level.hpp"
#include "tests/studies/studies.hpp"

namespace ddpx::study {
namespace {

// A cluster whose links the sweep's source states.
struct Stated {
  std::string_view cluster;
  std::string_view sweep;
  std::string_view inside;
  std::string_view between;
  std::optional<int> nics;
};
const std::array<Stated, 10> kStated{{
    {"gjaion", "h100_2x8gpu_ib400_gjaion_ring", "nvlink4", "infiniband-ndr", {}},
    {"qoofyk", "h100_4x8gpu_ib400_qoofyk", "nvlink4", "infiniband-ndr", {}},
    {"gjaion", "h100_8x8gpu_ib400_gjaion_tuned", "nvlink4", "infiniband-ndr", {}},
    {"spectrumx", "h200_2x8gpu_spectrumx", "nvlink4", "roce-400", {}},
    {"gcp", "h200_2x8gpu_gcp_gib_allgather", "nvlink4", "roce-400", {}},
    {"oci", "a100_oci_2x8gpu_roce", "nvlink3", "roce-100", 16},
    {"p4de", "a100_p4de_2x8gpu_efa", "nvlink3", "efa-400", {}},
    {"p3dn", "v100_p3dn_efa_16", "nvlink2", "efa-100", 1},
    {"p3dn", "v100_p3dn_efa_32", "nvlink2", "efa-100", 1},
    {"p3dn", "v100_p3dn_efa_64", "nvlink2", "efa-100", 1},
}};

// The same machines, or the same site, at two counts.
struct Series {
  std::string_view from;
  std::string_view to;
};
constexpr std::array<Series, 6> kSeries{{
    {"h100_2x8gpu_ib400_gjaion_ring", "h100_8x8gpu_ib400_gjaion_tuned"},
    {"lambda1cc_h100_2x2gpu_cnh", "lambda1cc_h100_2x4gpu_cnh"},
    {"lambda1cc_h100_2x2gpu_cnh", "lambda1cc_h100_2x8gpu_cnh"},
    {"lambda1cc_h100_2x4gpu_cnh", "lambda1cc_h100_2x8gpu_cnh"},
    {"v100_p3dn_efa_16", "v100_p3dn_efa_32"},
    {"v100_p3dn_efa_16", "v100_p3dn_efa_64"},
}};

const Sweep& named(const std::vector<Sweep>& sweeps, std::string_view name) {
  for (const Sweep& sweep : sweeps) {
    if (sweep.name == name) return sweep;
  }
  throw std::runtime_error("no sweep " + std::string(name));
}

SizeErrors judge(const Link& link, const Sweep& sweep) {
  SizeErrors judged;
  for (const CurvePoint& point : sweep.points) {
    const CollectivePrice forecast = price(link, sweep.call(point.bytes));
    const double error = forecast.time / point.time - 1.0;
    const bool inside =
        std::abs(std::log1p(error)) <= kNormalQuantile90 * std::log1p(forecast.relative_error);
    (point.bytes < kMiB ? judged.small : judged.large).add(error, inside);
  }
  return judged;
}

std::string cells(const Errors& errors) {
  if (errors.values.empty()) return " | | |";
  const double covered =
      static_cast<double>(errors.covered) / static_cast<double>(errors.values.size());
  std::vector<double> signs = errors.values;
  std::sort(signs.begin(), signs.end());
  return fmt::format(" {} | {:+.0f} % | {} |", percent(errors.mean()),
                     100 * signs[signs.size() / 2], percent(covered));
}

constexpr std::string_view kErrorColumns =
    " | ranks | mean from 1 MiB | signed median | covered | mean below | signed median | covered "
    "|\n"
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";

Link table_link(std::string_view name) { return io::find_link(name, Machine{}).link; }

SizeErrors judge(const Stated& stated, const std::vector<Sweep>& sweeps, double error) {
  const Sweep& sweep = named(sweeps, stated.sweep);
  return judge(two_level(table_link(stated.inside), table_link(stated.between),
                         {sweep.nodes, sweep.ranks / sweep.nodes}, stated.nics, error),
               sweep);
}

// The smallest error by which nine in ten large messages of all clusters but `left_out` are
// covered, every cluster counting alike.
double error_of_others(const std::vector<Sweep>& sweeps, std::string_view left_out) {
  constexpr double kStep = 0.05;
  constexpr double kMost = 1.5;
  for (double error = kStep; error < kMost; error += kStep) {
    std::map<std::string_view, Errors> clusters;
    for (const Stated& stated : kStated) {
      if (stated.cluster != left_out)
        clusters[stated.cluster].append(judge(stated, sweeps, error).large);
    }
    std::erase_if(clusters, [](const auto& cluster) { return cluster.second.values.empty(); });
    double covered = 0;
    for (const auto& [name, errors] : clusters)
      covered += static_cast<double>(errors.covered) / static_cast<double>(errors.values.size());
    if (covered >= kIntervalCoverage * static_cast<double>(clusters.size())) return error;
  }
  return kMost;
}

}  // namespace

std::string nodes_study(const std::vector<Sweep>& sweeps) {
  std::string text =
      "\n## From one node to several\n\nFrom the names of the links alone (`--gpus 2x8 --link "
      "nvlink4 "
      "--inter-link infiniband-ndr`), against the sweeps whose sources state both:\n\n| sweep, "
      "links" +
      std::string(kErrorColumns);
  Errors large;
  Errors small;
  for (const Stated& stated : kStated) {
    const Sweep& sweep = named(sweeps, stated.sweep);
    const double error = error_of_others(sweeps, stated.cluster);
    const SizeErrors judged = judge(stated, sweeps, error);
    large.append(judged.large);
    small.append(judged.small);
    text +=
        fmt::format("| {}: {} + {} (error {:.2f}) | {} |{}{}\n", sweep.name, stated.inside,
                    stated.between, error, sweep.ranks, cells(judged.large), cells(judged.small));
  }
  text += fmt::format("| **all** | |{}{}\n", cells(large), cells(small));
  text += fmt::format(
      "\nThe intervals of large messages are by the error in brackets, which covers nine in ten of "
      "the "
      "other clusters' rows, every cluster counting alike; over all of them it is {:.2f}, and the "
      "program takes {:.2f}. Those of small messages follow from the error of the latency between "
      "two "
      "ranks, as the table of links has it, and from how much longer a ring takes than the tree "
      "that "
      "NCCL would choose, half of which is one standard error (set with the V100 in view). The "
      "latency of efa-100 lies between those of p4d and p5 hosts, because the name does not say "
      "the "
      "generation; no figure of the V100 went into it. Those of efa-400 and roce-400 come from the "
      "hosts of two of these sweeps.\n",
      error_of_others(sweeps, ""), kTwoLevelError);
  text +=
      "\nWhat the misses are: the OCI hosts list 16 ports of 100 Gb/s and move 87 GB/s, half of "
      "them; EFA of 2019 (V100) pays 39 us for every node it passes in a ring (163, 319 and 631 us "
      "on "
      "2, 4 and 8 nodes), where a tree is forecast; 16 H200 count 486 GB/s by a tree of two nodes, "
      "more than their ring could; 64 H100 drop to a fifth of their bandwidth at 8 MiB.\n"
      "\nFrom a measured cluster to another count of the same machines (the curve carried "
      "over):\n\n| "
      "from, to" +
      std::string(kErrorColumns);
  Errors carried_large;
  Errors carried_small;
  for (const Series& series : kSeries) {
    const Sweep& from = named(sweeps, series.from);
    const Sweep& to = named(sweeps, series.to);
    Link link;
    link.name = from.name;
    link.topology = Topology::network;
    link.curves.push_back(curve_of(from.call(), from.points));
    const SizeErrors judged = judge(link, to);
    carried_large.append(judged.large);
    carried_small.append(judged.small);
    text += fmt::format("| {} to {} | {} to {} |{}{}\n", from.name, to.name, from.ranks, to.ranks,
                        cells(judged.large), cells(judged.small));
  }
  text += fmt::format("| **all** | |{}{}\n", cells(carried_large), cells(carried_small));
  text +=
      "\nOn the Lambda machines the GPUs per node change, and their NICs with them, which a curve "
      "does "
      "not say; give such a change as --gpus 2x4 with --inter-link instead. The standard errors "
      "for a "
      "network were set with these rows in view.\n";
  return text;
}

}  // namespace ddpx::study
