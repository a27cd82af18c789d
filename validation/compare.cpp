#include "validation/compare.hpp"

#include <algorithm>
#include <cmath>

#include "model/error.hpp"
#include "validation/score_baselines.hpp"
#include "validation/summary.hpp"
#include "validation/sweeps.hpp"

namespace ddpx {
namespace {

// Of N times the throughput; the rest is how much fresh processes differ.
constexpr double kMostGain = 1.5;

// One word for what a strategy mainly does. An explicit cap of DDP's default size is plain DDP.
std::string family_of(const Strategy& strategy) {
  if (!strategy.sync) return "no-sync";
  if (strategy.hybrid) return "hsdp";
  if (strategy.sharding == Sharding::fsdp_unit || strategy.sharding == Sharding::fsdp_block)
    return "fsdp";
  if (strategy.sharding != Sharding::none) return "zero";
  if (strategy.compression) return "compression";
  if (strategy.micro_batches > 1) return "accumulation";
  const BucketLimits usual;
  return strategy.buckets.rest == usual.rest ? "ddp" : "bucket";
}

void add_reason(std::string& rests_on, std::string_view reason) {
  if (!rests_on.empty()) rests_on += "; ";
  rests_on += reason;
}

void find_suspects(ComparedRow& row) {
  const auto& terms = row.forecast.step.terms;
  const auto largest = std::max_element(terms.begin(), terms.end());
  row.dominant_term = static_cast<Term>(largest - terms.begin());
  row.dominant_share = *largest / row.forecast.step.total();
  const auto& doubts = row.forecast.sensitivity;
  const auto worst = std::max_element(doubts.begin(), doubts.end());
  if (*worst > 0) row.least_certain = static_cast<Source>(worst - doubts.begin());
  if (row.run->job.gpus == 1 || !row.run->measured_communication_share) return;
  const double measured = *row.run->measured_communication_share;
  const double forecast =
      row.forecast.step.term(Term::exposed_communication).value() / row.measured.value;
  row.error_parts = ErrorParts{forecast - measured, row.error - (forecast - measured)};
}

void judge(ComparedRow& row, const OneGpuRows& one_gpu) {
  const RunRow& run = *row.run;
  if (run.job.gpus == 1) return;  // there is no speedup to judge
  const std::optional<Interval> one = one_gpu.step_of(run);
  if (!one) {
    add_reason(row.rests_on, "no one-GPU row in the file, so no measured speedup");
    return;
  }
  const double speedup = (run.job.samples_per_step() / row.measured.value) /
                         (run.job.one_gpu().samples_per_step() / one->value);
  row.measured_speedup = speedup;
  // N GPUs do the work of N at most; what updates less often than the one GPU can gain more.
  if (run.job.strategy.micro_batches == 1 && speedup > kMostGain * run.job.gpus) {
    add_reason(row.rests_on,
               "measured speedup above the number of GPUs, which its one-GPU row "
               "cannot be right for: its verdict is not judged");
    return;
  }
  if (std::abs(speedup - 1.0) <= kBreakEvenBand) return;
  row.verdict_right =
      row.forecast.verdict == (speedup > 1.0 ? Verdict::pays : Verdict::does_not_pay);
}

ComparedRow compared(const Machine& machine, const RunRow& run, const Network& network,
                     const Link& link, const OneGpuRows& one_gpu, const ForecastOptions& options) {
  ComparedRow row;
  row.run = &run;
  row.network = run.network;
  row.parameters = network.parameters();
  row.width = network.width;
  row.family = family_of(run.job.strategy);
  const std::optional<Regime> regime = one_gpu.regime_of(run);
  row.measured = run.step_time_s();
  row.forecast = forecast(machine, link, network, run.job, options);
  row.error = row.forecast.step_time_s.value / row.measured.value - 1.0;
  if (row.forecast.extrapolated) {
    add_reason(row.rests_on,
               "extrapolated: a shape, a message size or a rank count lies outside "
               "the calibration");
  }
  row.regime = regime.value_or(regime_of(row.forecast));
  if (!regime && run.job.gpus > 1)
    add_reason(row.rests_on, "regime taken from the forecast's one-GPU step");
  judge(row, one_gpu);
  find_suspects(row);
  return row;
}

}  // namespace

bool of_one_gpu(std::span<const Runs> files) {
  return std::all_of(files.begin(), files.end(), [](const Runs& runs) {
    return std::all_of(runs.rows.begin(), runs.rows.end(),
                       [](const RunRow& row) { return row.job.gpus == 1; });
  });
}

Comparison compare(const Machine& machine, std::span<const Runs> files, const NetworkOf& network_of,
                   const LinkOf& link_of, const ForecastOptions& options) {
  Comparison comparison;
  const bool alone = of_one_gpu(files);
  const auto flops = [&](const RunRow& row) {
    return network_of(row).training_flops_per_sample().value();
  };
  for (const Runs& runs : files) {
    const OneGpuRows one_gpu(runs, flops);
    for (const RunRow& run : runs.rows) {
      if (run.job.gpus < 2 && !alone) continue;
      const Network network = network_of(run);
      const Link link = link_of(run);
      ComparedRow row = compared(machine, run, network, link, one_gpu, options);
      if (!alone) score_formulas(machine, link, network, row);
      comparison.rows.push_back(std::move(row));
    }
  }
  score_fits(comparison.rows);
  summarise(comparison);
  comparison.baselines = summarise_baselines(comparison.rows);
  if (!alone) comparison.sweeps = sweeps_of(comparison.rows);
  for (const SweepComparison& sweep : comparison.sweeps) {
    if (sweep.measured.size() >= kPointsOfACrossing) {
      comparison.crossings.push_back(compare_crossings(sweep));
    }
  }
  return comparison;
}

Comparison compare(const Machine& machine, const Runs& runs, const NetworkOf& network_of,
                   const LinkOf& link_of, const ForecastOptions& options) {
  return compare(machine, std::span(&runs, 1), network_of, link_of, options);
}

}  // namespace ddpx
