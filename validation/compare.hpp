// Forecasts beside measurements: errors, interval coverage, verdicts and baselines, by regime and
// link.
#pragma once

#include <functional>
#include <span>

#include "model/baselines.hpp"
#include "model/crossover.hpp"
#include "model/forecast.hpp"
#include "validation/regime.hpp"
#include "validation/run.hpp"

namespace ddpx {

// The error divided over what the file measured apart: the two parts add up to it.
struct ErrorParts {
  double communication = 0;  // (forecast - measured exposed communication) / measured step
  double rest = 0;           // the same of everything else
};

struct ComparedRow {
  const RunRow* run = nullptr;
  std::string network;
  double parameters = 0;
  double width = 0;
  // Of strategies: "ddp", "bucket", "accumulation", "compression", "fsdp", "zero", "hsdp",
  // "no-sync".
  std::string family;
  Regime regime = Regime::gpu_bound;
  Forecast forecast;
  Interval measured;                       // step seconds
  double error = 0;                        // forecast / measured - 1
  std::optional<double> measured_speedup;  // where the same file has the one-GPU row
  std::optional<bool> verdict_right;  // judged rows only: more than kBreakEvenBand from break-even
  std::array<std::optional<double>, 7> baseline_error{};
  std::string rests_on;  // "extrapolated: ..." or empty
  // What the forecast says the step is made of, and what it is least sure of: where to look when
  // the error is large.
  Term dominant_term = Term::forward;
  double dominant_share = 0;
  std::optional<Source> least_certain;    // nothing when no constant has an error
  std::optional<ErrorParts> error_parts;  // where the row has a measured communication share
};

// A measured speedup within 5 % of 1 is nobody's mistake.
inline constexpr double kBreakEvenBand = 0.05;

// Errors are fractions: 0.03 is 3 %. Percentiles are linearly interpolated between order statistics
// (numpy's default): the p-th of n values lies at rank p (n - 1), counted from 0.
struct ErrorSummary {
  std::size_t rows = 0;
  double median_abs_error = 0;
  double p95_abs_error = 0;
  double max_abs_error = 0;
  double median_error = 0;       // signed
  double interval_coverage = 0;  // share of row medians inside the 90 % interval
  double median_half_width = 0;  // relative, of the forecast's intervals
  std::size_t verdicts_judged = 0;
  std::size_t verdicts_right = 0;
  std::size_t too_close = 0;  // judged rows called too_close: counted as wrong
};

struct GroupSummary {
  std::string group;  // "all", "gpu_bound", "pcie", "ddp", ...
  ErrorSummary summary;
};

// Baselines are points: they have no interval, and their verdict is pays above 1 and does_not_pay
// below.
struct BaselineSummary {
  Baseline baseline = Baseline::b0;
  ErrorSummary summary;
  // The forecast on the rows this baseline could be scored on: B5 and B6 need measured speedups of
  // other rows.
  ErrorSummary forecast_on_same_rows;
};

// Rows of one link in one regime, and the interval their errors would have given (conformal.hpp).
// The coverage is honest: each network's rows are judged by the half-width of the other networks'
// rows.
struct ConformalGroup {
  std::string link;
  Regime regime = Regime::gpu_bound;
  ErrorSummary summary;
  std::optional<double> half_width;  // nothing where rows are too few to support 90 %
  std::optional<double> coverage;    // leaving one network out at a time
};

// A sweep over sizes: rows that share everything but the network's width, one point per size,
// ascending in parameters. Where a size was measured in several rows their median stands for it. A
// size that was not measured has no measured point.
struct SweepComparison {
  std::string group;   // "pcie, 2 GPUs, ddp, batch 256, mlp:depth=8"
  std::string family;  // as in ComparedRow
  std::vector<SweepPoint> forecast;
  std::vector<SweepPoint> measured;
  // Exposed communication, share of the step.
  std::vector<SweepPoint> forecast_communication;
  std::vector<SweepPoint> measured_communication;
};

struct CrossingComparison {
  std::string group;  // that of its sweep
  std::vector<Crossing> forecast;
  std::vector<Crossing> measured;
};

struct Comparison {
  std::vector<ComparedRow> rows;
  ErrorSummary summary;
  std::vector<GroupSummary> by_regime;
  std::vector<GroupSummary> by_link;
  std::vector<GroupSummary> by_family;
  std::vector<GroupSummary> by_strategy;
  std::vector<GroupSummary> by_width;  // width 0: networks without one
  std::vector<ConformalGroup> by_link_and_regime;
  std::vector<BaselineSummary> baselines;
  std::vector<SweepComparison> sweeps;
  std::vector<CrossingComparison> crossings;
};

// The network and link a row names, resolved by the caller (who knows files and tables).
using NetworkOf = std::function<Network(const RunRow&)>;
using LinkOf = std::function<Link(const RunRow&)>;

// Whether no row has several GPUs.
[[nodiscard]] bool of_one_gpu(std::span<const Runs> files);

// Compares every row with gpus > 1; rows with one GPU give the measured speedups and the regimes
// and are not judged, unless there are no others: then they are, without verdicts, baselines and
// sweeps. The result points into `runs`. With several files, speedups and regimes are taken within
// each file and the summaries over all.
[[nodiscard]] Comparison compare(const Machine& machine, std::span<const Runs> files,
                                 const NetworkOf& network_of, const LinkOf& link_of,
                                 const ForecastOptions& options);
[[nodiscard]] Comparison compare(const Machine& machine, const Runs& runs,
                                 const NetworkOf& network_of, const LinkOf& link_of,
                                 const ForecastOptions& options);

}  // namespace ddpx
