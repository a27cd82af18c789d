// A small comparison filled in by hand: no model stands behind it, so that reports change only when
// reports change.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "report/validation_facts.hpp"
#include "validation/summary.hpp"

namespace ddpx::test {

struct MadeUp {
  Machine machine;
  std::deque<RunRow> runs_rows;  // a deque keeps its elements in place
  std::vector<Runs> files;
  std::vector<Link> links;
  Comparison comparison;

  [[nodiscard]] report::ValidationFacts facts(
      std::optional<double> tolerance = std::nullopt) const {
    return {machine,
            files,
            links,
            comparison,
            tolerance,
            {"nvlink is nvlink2 on a GPU of the Made-up 100's era"},
            "ddpx-validate 0.0.0"};
  }
};

inline Interval around(double value, double half) {
  return {value, value * (1 - half), value * (1 + half)};
}

// `error` of the forecast step and speeds as given; 10 % intervals.
inline void add_row(MadeUp& made, double width, const std::string& strategy, double measured_s,
                    double error, double measured_speedup, double communication_share) {
  RunRow run;
  run.network = "mlp:width=" + std::to_string(static_cast<int>(width)) + ",depth=8";
  run.link = "nvlink";
  run.job.gpus = 2;
  run.job.strategy = parse_strategy(strategy);
  run.processes = {{{measured_s}}};
  run.measured_communication_share = communication_share;
  made.runs_rows.push_back(run);
  ComparedRow row;
  row.run = &made.runs_rows.back();
  row.network = run.network;
  row.parameters = 8 * width * (width + 1) + 64 * width + 64;
  row.width = width;
  row.family = run.job.strategy.micro_batches > 1 ? "accumulation" : "ddp";
  row.regime = width >= 1024 ? Regime::gpu_bound : Regime::host_bound;
  row.measured = around(measured_s, 0.02);
  row.error = error;
  const double step = measured_s * (1 + error);
  row.forecast.step.terms[static_cast<std::size_t>(Term::backward)] = Seconds(0.4 * step);
  row.forecast.step.terms[static_cast<std::size_t>(Term::exposed_communication)] =
      Seconds(0.6 * step);
  row.forecast.step_time_s = around(step, 0.1);
  row.forecast.speedup = around(measured_speedup / (1 + error), 0.1);
  row.forecast.verdict = verdict_of(row.forecast.speedup);
  row.forecast.sensitivity[static_cast<std::size_t>(Source::link)] = 0.03;
  row.measured_speedup = measured_speedup;
  if (measured_speedup > 1.05 || measured_speedup < 0.95) {
    row.verdict_right =
        row.forecast.verdict == (measured_speedup > 1 ? Verdict::pays : Verdict::does_not_pay);
  }
  row.dominant_term = Term::exposed_communication;
  row.dominant_share = 0.6;
  row.least_certain = Source::link;
  row.error_parts = ErrorParts{error / 2, error / 2};
  row.baseline_error[0] = -0.5;
  row.baseline_error[2] = error + 0.05;
  made.comparison.rows.push_back(row);
}

inline SweepComparison sweep_of(const MadeUp& made, const std::string& family,
                                const std::string& group) {
  SweepComparison sweep;
  sweep.family = family;
  sweep.group = group;
  for (const ComparedRow& row : made.comparison.rows) {
    if (row.family != family) continue;
    const auto share = around(row.forecast.step.communication_share(), 0);
    const auto measured_share = around(*row.run->measured_communication_share, 0);
    sweep.forecast.push_back({row.parameters, row.forecast.speedup});
    sweep.measured.push_back({row.parameters, around(*row.measured_speedup, 0.02)});
    sweep.forecast_communication.push_back({row.parameters, share});
    sweep.measured_communication.push_back({row.parameters, measured_share});
  }
  return sweep;
}

inline MadeUp made_up() {
  MadeUp made;
  made.machine.name = "made-up";
  made.machine.device.name = "Made-up 100";
  made.machine.measurements = "made-up-raw";
  made.machine.measurements_hash = "fnv1a64:0123456789abcdef";
  made.machine.notes = {"host constants are borrowed"};
  Link link;
  link.name = "nvlink2";
  link.title = "NVLink 2, six links";
  link.bandwidth.value = BytesPerSecond(130e9);
  link.latency.value = Seconds(10e-6);
  link.source = "a published table";
  made.links = {link};
  Runs runs;
  runs.name = "made-up-runs";
  runs.source = "by hand";
  runs.notes = {"one process per row"};
  add_row(made, 256, "ddp", 2.5e-3, 0.20, 1.62, 0.21);
  add_row(made, 1024, "ddp", 8.1e-3, -0.04, 1.13, 0.55);
  add_row(made, 4096, "ddp", 0.140, 0.02, 0.78, 0.66);
  add_row(made, 256, "ddp,accumulate=4", 9.9e-3, 0.08, 1.80, 0.10);
  add_row(made, 1024, "ddp,accumulate=4", 25e-3, -0.01, 1.52, 0.30);
  add_row(made, 4096, "ddp,accumulate=4", 0.410, 0.12, 1.06, 0.41);
  for (const ComparedRow& row : made.comparison.rows) runs.rows.push_back(*row.run);
  RunRow one = made.runs_rows.front();
  one.job.gpus = 1;
  runs.rows.push_back(one);
  made.files = {runs};
  summarise(made.comparison);
  made.comparison.baselines = {{Baseline::b0, made.comparison.summary, made.comparison.summary}};
  made.comparison.baselines[0].summary.median_abs_error = 0.5;
  made.comparison.baselines[0].summary.p95_abs_error = 0.5;
  made.comparison.sweeps = {
      sweep_of(made, "ddp", "nvlink, 2 GPUs, ddp, batch 256, mlp:depth=8"),
      sweep_of(made, "accumulation", "nvlink, 2 GPUs, ddp,accumulate=4, batch 256, mlp:depth=8")};
  Crossing crossing;
  crossing.x = {14.2e6, 10.1e6, 20.3e6};
  crossing.bracket_low = 8.46e6;
  crossing.bracket_high = 134.5e6;
  made.comparison.crossings = {{made.comparison.sweeps[0].group, {crossing}, {crossing}},
                               {made.comparison.sweeps[1].group, {}, {}}};
  return made;
}

}  // namespace ddpx::test
