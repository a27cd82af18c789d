// From two GPUs of a machine to four and eight.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/link.hpp"
#include "tests/studies/counts.hpp"
#include "tests/studies/studies.hpp"

namespace ddpx::study {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

double small_time(const Sweep& sweep) {
  std::vector<double> times;
  for (const CurvePoint& p : sweep.points) {
    if (p.bytes <= 16.0 * kKiB) times.push_back(p.time.value());
  }
  return median(times);
}

// Constants of one machine: the share of latency paid once from messages up to 16 KiB, local chunks
// from 64 MiB on.
struct Fitted {
  double base_share = 0;
  std::vector<double> local_chunks;
};

void fit(const std::string& machine, const Tables& tables, Fitted& fitted) {
  for (const auto& [kind, by_count] : tables.at(machine)) {
    // latency = base + steps x step, least squares on relative error.
    double a11 = 0;
    double a12 = 0;
    double a22 = 0;
    double b1 = 0;
    double b2 = 0;
    for (const auto& [ranks, sweep] : by_count) {
      const double t = small_time(*sweep);
      const double s = ring_steps(kind, ranks);
      a11 += 1 / (t * t);
      a12 += s / (t * t);
      a22 += s * s / (t * t);
      b1 += 1 / t;
      b2 += s / t;
    }
    const double base = (b1 * a22 - b2 * a12) / (a11 * a22 - a12 * a12);
    const double step = (a11 * b2 - a12 * b1) / (a11 * a22 - a12 * a12);
    // Of the three, all-reduce spans the most steps: 2 to 14.
    if (kind == Collective::all_reduce)
      fitted.base_share = base / (base + step * ring_steps(kind, 2));
    const Sweep& two = *by_count.at(2);
    for (const auto& [ranks, sweep] : by_count) {
      if (ranks == 2 || by_switch(machine, kind, ranks)) continue;
      for (std::size_t i = 0; i < sweep->points.size(); ++i) {
        if (sweep->points[i].bytes < 64.0 * kMiB) continue;
        const double q = sweep->points[i].time / two.points[i].time;
        const double n = ranks;
        fitted.local_chunks.push_back((ring_steps(kind, ranks) / n - q * ring_steps(kind, 2) / 2) /
                                      (q / 2 - 1 / n));
      }
    }
  }
}

void judge(const std::string& machine, const Tables& tables, const CarryOver& carry,
           std::map<std::string, SizeErrors>& groups) {
  Link link;
  link.topology = machine == "l40s" ? Topology::pcie : Topology::nvlink;
  if (machine == "h200") link.peak = BytesPerSecond(450e9);
  for (const CountRow& row : rows_of(machine, tables, carry)) {
    const CarriedTime ring = row.carried(carry);
    const CollectivePrice forecast =
        with_switch(link, {row.to.kind, DType::fp32, row.bytes, row.to.ranks},
                    {ring.time, std::hypot(ring.relative_error, row.curve_error), true});
    const double error = forecast.time / row.measured - 1.0;
    const double width = kNormalQuantile90 * std::log1p(forecast.relative_error);
    const bool inside = std::abs(std::log1p(error)) <= width;
    const std::string key =
        by_switch(machine, row.to.kind, row.to.ranks)
            ? "H200, all-reduce to 8 (NVLS)"
            : fmt::format("{}, {} to {}", machine, row.from.ranks, row.to.ranks);
    SizeErrors& group = groups[key];
    (row.bytes < kMiB ? group.small : group.large).add(error, inside);
  }
}

}  // namespace

Tables tables_of(const std::vector<Sweep>& sweeps) {
  Tables tables;
  for (const Sweep& sweep : sweeps) {
    const bool counted = sweep.nodes == 1 && sweep.name == sweep.machine + "_" + sweep.collective +
                                                               "_" + std::to_string(sweep.ranks);
    if (counted) tables[sweep.machine][sweep.call().kind][sweep.ranks] = &sweep;
  }
  return tables;
}

bool by_switch(const std::string& machine, Collective kind, int ranks) {
  return machine != "a100" && machine != "l40s" && kind == Collective::all_reduce && ranks == 8;
}

std::vector<CountRow> rows_of(const std::string& machine, const Tables& tables,
                              const CarryOver& carry) {
  std::vector<CountRow> rows;
  for (const auto& [kind, by_count] : tables.at(machine)) {
    for (const auto& [from, known] : by_count) {
      const Curve curve = curve_of(known->call(), known->points);
      for (const auto& [to, sweep] : by_count) {
        if (to <= from) continue;
        const double volume = carried_volume(carry, {kind, from}, {kind, to});
        for (const CurvePoint& point : sweep->points) {
          rows.push_back({{kind, from},
                          {kind, to},
                          point.bytes,
                          point.time,
                          curve.latency().value_or(curve.smallest_time()),
                          curve.at(point.bytes * volume),
                          curve.relative_error});
        }
      }
    }
  }
  return rows;
}

std::vector<CountRow> ring_rows_of(const std::string& machine, const Tables& tables,
                                   const CarryOver& carry) {
  std::vector<CountRow> rows = rows_of(machine, tables, carry);
  std::erase_if(rows,
                [&](const CountRow& row) { return by_switch(machine, row.to.kind, row.to.ranks); });
  return rows;
}

namespace {

std::string covered(const Errors& errors) {
  return percent(static_cast<double>(errors.covered) / static_cast<double>(errors.values.size()));
}

// What `ddpx_links_study FILE` finds of the five machines' tables by other rules: from 1 MiB on
// alone; with Hopper and Blackwell counting alike, instead of machines.
struct OtherRule {
  double error;
  double protocol_error;
};
constexpr OtherRule kLarge{0.00, 0.29};
constexpr OtherRule kGenerations{0.036, 0.087};

SizeErrors of_nvswitch(const std::map<std::string, SizeErrors>& groups) {
  SizeErrors all;
  for (const auto& [name, group] : groups) {
    if (name.starts_with("H200") || name.starts_with("l40s")) continue;
    all.large.append(group.large);
    all.small.append(group.small);
  }
  return all;
}

// `errors`: those that the rule makes of either judged machine; `by_the_other`: judged by them.
std::string errors_text(const std::string& errors, const SizeErrors& by_the_other,
                        const SizeErrors& by_large, const SizeErrors& by_generations) {
  const CarryOver& shipped = carry_over(Topology::nvlink);
  return fmt::format(
      "\n\nThe intervals of NVSwitch machines follow a rule: one standard error is {:.2f} in "
      "logarithms and, where latency and protocol decide, {:.2f} besides, with which nine in ten "
      "rows of five other machines of the same public collection lie inside, every size and every "
      "machine counting alike (aiconfigurator at 095f58a, NCCL 2.29.2: H100, B200 and B300 at 2, 4 "
      "and 8 GPUs, GB200 and GB300 at 2 and 4; their tables are not kept here, `ddpx_links_study "
      "FILE` says what the rule makes of any in the form of validation/links/sweeps.json). Their "
      "mean error below 1 MiB is least, 5 %, with a base share of {:.2f}: NCCL counts a base and "
      "so "
      "much per step, the same for every collective, and an all-gather has half an all-reduce's "
      "steps. (Latency was taken to grow alike for all of them once, which forecast the A100's "
      "all-gathers on 8 half too slow; by that form the five are off by 8 %.) Of the "
      "H100's rows from 1 MiB on 99 % lie inside, of the four Blackwell machines' 73 to 76 %: "
      "8 to 32 MiB there take far longer on more GPUs than a ring makes of two. From 1 MiB on the "
      "rule gives {:.2f} and {:.2f}, which here hold {}; of Blackwell's alone 0.00 and 0.30, "
      "the latter of which the programs take for links of its peak (900 GB/s). With both "
      "generations counting "
      "alike, instead of machines, it gives {:.3f} and {:.3f}, which hold {} from 1 MiB on and {} "
      "below. Which of them is taken was settled with these rows' coverage in view; constants set "
      "by hand (0.04 and 0.16) had held 96 and 94 %. One judged machine is too few to say what "
      "another does: {}, and judged by the other's, {} lie inside from 1 MiB on and {} below.\n\n",
      shipped.error, shipped.protocol_error, shipped.base_share, kLarge.error,
      kLarge.protocol_error, covered(by_large.large), kGenerations.error,
      kGenerations.protocol_error, covered(by_generations.large), covered(by_generations.small),
      errors, covered(by_the_other.large), covered(by_the_other.small));
}

}  // namespace

std::string counts_study(const std::vector<Sweep>& sweeps) {
  const Tables tables = tables_of(sweeps);
  std::string text =
      "\n## From two GPUs to four and eight\n\nNCCL time at 2, 4 and 8 GPUs of three machines: "
      "all-reduce, all-gather and reduce-scatter. The latter two count the whole buffer: at 8 A100 "
      "512 MiB in 2.29 ms are 205 GB/s of bus bandwidth that way and would be 1,640 otherwise, "
      "above the links' 300. The share of latency that is paid once and the errors behind the "
      "intervals come from five other machines (below), local chunks for the A100 from the H200 "
      "and the other way round. The L40S is judged by the "
      "shipped constants for PCIe. Coverage is of the 90 % interval.\n\n"
      "| machine, GPUs | rows | mean | median | 95th percentile | covered | below 1 MiB: mean | "
      "covered |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  std::map<std::string, SizeErrors> groups;
  std::map<std::string, SizeErrors> by_the_other;
  std::map<std::string, SizeErrors> by_large;
  std::map<std::string, SizeErrors> by_generations;
  std::string constants;
  std::string errors;
  for (const std::string machine : {"a100", "h200"}) {
    const std::string other = machine == std::string("a100") ? "h200" : "a100";
    Fitted fitted;
    fit(other, tables, fitted);
    CarryOver carry = carry_over(Topology::nvlink);
    carry.local_chunks = median(fitted.local_chunks);
    constants += fmt::format("{}: base share {:.2f}, local chunks {:.2f}. ", other,
                             fitted.base_share, carry.local_chunks);
    judge(machine, tables, carry, groups);
    carry = with_errors({ring_rows_of(other, tables, carry)}, carry);
    errors += fmt::format("{}the {} alone would have {:.2f} and {:.2f}", errors.empty() ? "" : ", ",
                          other == "h200" ? "H200" : "A100", carry.error, carry.protocol_error);
    judge(machine, tables, carry, by_the_other);
    const auto judge_by = [&](const OtherRule& rule, std::map<std::string, SizeErrors>& judged) {
      carry.error = rule.error;
      carry.protocol_error = rule.protocol_error;
      judge(machine, tables, carry, judged);
    };
    judge_by(kLarge, by_large);
    judge_by(kGenerations, by_generations);
  }
  judge("l40s", tables, carry_over(Topology::pcie), groups);
  const SizeErrors nvswitch = of_nvswitch(groups);
  SizeErrors pcie;
  const auto line = [&](const std::string& name, const Errors& large, const Errors& small) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", name, large.values.size(),
                        percent(large.mean()), percent(large.quantile(0.5)),
                        percent(large.quantile(0.95)), covered(large),
                        small.values.empty() ? "" : percent(small.mean()),
                        small.values.empty() ? "" : covered(small));
  };
  for (const auto& [name, group] : groups) {
    line(name, group.large, group.small);
    if (!name.starts_with("l40s")) continue;
    pcie.large.append(group.large);
    pcie.small.append(group.small);
  }
  line("**NVSwitch (A100, H200)**", nvswitch.large, nvswitch.small);
  line("**PCIe (L40S)**", pcie.large, pcie.small);
  text +=
      "\nFitted on " + constants +
      errors_text(errors, of_nvswitch(by_the_other), of_nvswitch(by_large),
                  of_nvswitch(by_generations)) +
      "Whether the switch adds up is not known of a box whose eight GPUs were not measured: the "
      "forecast lies half-way between the ring carried over and NCCL's model of NVLS, with the way "
      "to "
      "either as one standard error. On the L40S two GPUs have 20 GB/s of bus bandwidth, a direct "
      "copy's rate over PCIe 4, four 5.1 and eight 1.5, less than two RTX 2080 Ti through host "
      "memory over PCIe 3 (4.0): no ring that NCCL could choose in one box is known to be so slow, "
      "and the source says nothing of switches, sockets or a virtual machine. The shipped PCIe "
      "constants (0.70 per doubling, times or divided by 2.0 for one standard error) were set "
      "with this machine in view, because few others are public: RTX 4090 1.15 and 0.67 from two "
      "to "
      "four, by which GPUs; RTX 5090 0.8 from four to eight; an RTX PRO 6000 server (the "
      "collection of the A100) 0.68 and then 0.93; eight RTX 4090 and RTX PRO 6000 with "
      "peer-to-peer access about what two have. From those alone no interval would hold it. A PCIe "
      "box has to be measured at the count that is asked for.\n";
  return text;
}

}  // namespace ddpx::study
