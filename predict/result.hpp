// What ddpx-predict answers: rows, crossovers and what they rest on. Plain values, so that the
// table, CSV and JSON say the same.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/amdahl.hpp"
#include "model/crossover.hpp"
#include "model/forecast.hpp"

namespace ddpx {

// One collective of a step: a bucket's all-reduce, a unit's all-gather or reduce-scatter.
struct CollectiveRow {
  Collective kind = Collective::all_reduce;
  std::size_t tensors = 0;
  Bytes gradient{};  // in the bucket, fp32
  Bytes message{};   // as handed to the collective: half of it under a compression hook
  int ranks = 2;
  double per_step = 1;  // how often in one optimizer step
  Seconds time{};       // alone
  BytesPerSecond bus_bandwidth{};
  BytesPerSecond peak_bus_bandwidth{};  // of a large message of this kind
};

// The parts of a forecast that its terms do not show (--explain).
struct Explanation {
  std::vector<CollectiveRow> collectives;
  BytesPerSecond peak_bus_bandwidth{};  // of a large message at this rank count
  // What a ring sends from each rank in one step: bus factor x message, summed.
  Bytes sent_per_rank{};
  // Half-width of the step's interval, as a fraction, that stands for what no source of uncertainty
  // explains.
  double residual_half_width = 0;
};

struct ForecastRow {
  std::string network;  // as for --network
  double parameters = 0;
  std::optional<double> width;
  Job job;
  int nodes = 1;
  std::string link;
  std::string link_title;
  std::string machine;
  Forecast forecast;
  std::vector<std::string>
      extrapolated;  // what lies outside the calibration; empty when nothing does
  std::vector<std::string>
      rests_on;  // borrowed constants that this row uses: "host.per_bucket: prior: ..."
  std::optional<Amdahl> amdahl;  // through this row's speedup; nullopt on one GPU
  std::optional<double> break_even_batch_per_rank;  // only asked for with --crossover
  std::optional<Explanation> explanation;           // only with --explain
};

// What a sweep varies.
enum class SweepAxis { parameters, batch_per_rank };
[[nodiscard]] inline std::string_view name(SweepAxis axis) {
  return axis == SweepAxis::parameters ? "parameters" : "batch_per_rank";
}

// Where a sweep crosses speedup 1, at fixed link, GPU count, strategy and (along parameters) batch.
struct CrossoverRow {
  std::string network;  // the swept family, as for --network
  int gpus = 2;
  std::string link;
  std::string strategy;
  std::optional<double> batch_per_rank;  // held fixed along parameters
  SweepAxis axis = SweepAxis::parameters;
  double sweep_low = 0;  // first and last point, on the axis
  double sweep_high = 0;
  Interval lowest_speedup;  // along the sweep: they say what a sweep without crossing means
  Interval highest_speedup;
  std::vector<Crossing> crossings;
  // Smallest batch per rank from which on this many GPUs pay for the sweep's largest network;
  // nullopt: none up to kLargestBatch.
  std::optional<double> break_even_batch_per_rank;
};

// Largest batch per rank that a break-even batch is looked for at.
inline constexpr double kLargestBatch = 1 << 20;

// The link that explains a measured pair of steps (--infer-link): the forecast turned around.
struct InferredLink {
  double parameters = 0;
  Job job;
  Seconds one_gpu_step{};
  Seconds step{};
  double speedup = 0;
  BytesPerSecond bus_bandwidth{};  // all-reduce bus bandwidth, nccl-tests' convention
  std::string reading;             // what such a link is, in words
};

struct ForecastDocument {
  std::string machine;
  std::string device;
  std::vector<ForecastRow> rows;
  std::vector<CrossoverRow> crossovers;
  std::optional<InferredLink> inferred;
  std::vector<std::string> warnings;
};

}  // namespace ddpx
