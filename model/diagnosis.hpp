// What is wrong with a run that scales badly. The step on N GPUs takes longer than the same share
// of work on one; that excess is held against what each cause explains of it:
//
//   communication, latency   the forecast over the link, split by the latency's part of it
//   host                     time the device is idle (NCCL's kernels count as busy)
//   slow rank                the slowest rank's compute less the median's
//   slow compute             the median rank's compute less one GPU's step for the same work
//   loader                   the wait for data
//
// The largest that explains half of the excess is the verdict. Wall times of a synchronous step are
// equal on all ranks, whoever is late: they are never evidence of a slow rank.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/amdahl.hpp"

namespace ddpx {

enum class Cause {
  none,
  communication,
  latency,
  host,
  slow_rank,
  slow_compute,
  loader,
  unexplained
};
[[nodiscard]] std::string_view name(Cause cause);

// A measured optimizer step.
struct StepPoint {
  int gpus = 1;
  Seconds time{};
  std::optional<double> busy;   // device busy, share of the step
  std::optional<Seconds> data;  // of the step waiting for data
};

// What communication adds to the step by the forecast over the link it is said to run on.
struct ExchangeForecast {
  Seconds exposed{};         // of the step, over one GPU's
  double latency_share = 0;  // of that: the collectives at their smallest size over as they are
  Seconds high{};            // the end of the forecast's interval
};

// Measured on every rank, by rank; any may be empty.
struct RankTimes {
  std::vector<Seconds> compute;  // before the exchange
  std::vector<Seconds> wall;     // of the whole step
  std::vector<Seconds> data;     // waiting for data
};

struct Observation {
  StepPoint many;
  std::optional<StepPoint> one;  // nullopt: not measured
  double work = 1;  // of one rank's step on N over one GPU's: K, or K/N under strong scaling
  RankTimes ranks;
  std::optional<Seconds> fed;  // the least that the loaders take for a step
  std::optional<ExchangeForecast> exchange;
};

struct Finding {
  Cause cause = Cause::none;
  Seconds explains{};
  std::optional<int> rank;  // of a slow rank, or of one whose loader is slow
};

struct Diagnosis {
  Cause verdict = Cause::unexplained;
  std::optional<Seconds> excess;  // over one GPU's share; nullopt without its step
  std::vector<Finding> findings;  // what explains most first
  // The exchange over the link was forecast, and even the end of its interval explains less than
  // half of the excess.
  bool not_communication = false;

  [[nodiscard]] const Finding* finding(Cause cause) const;
};

// An excess below this share of the step is none.
inline constexpr double kNoExcess = 0.05;
// A rank this much slower than the median is slow.
inline constexpr double kSlowRank = 0.05;

[[nodiscard]] Diagnosis diagnose(const Observation& observation);

// Several GPU counts: what each GPU does falls with the count, whatever the link. A point that
// breaks this is wrong.
enum class PointFault {
  more_than_linear,    // each GPU does more than one alone
  slower_than_larger,  // each GPU does less than on a larger count
};
[[nodiscard]] std::string_view name(PointFault fault);

struct PointFlag {
  int gpus = 1;
  PointFault fault = PointFault::more_than_linear;
  double ratio = 1;  // by how much, above 1
  int against = 1;   // the count it is held against
};

// `points` ascending; throughput over one GPU's.
[[nodiscard]] std::vector<PointFlag> flag_points(std::span<const MeasuredSpeedup> points);

}  // namespace ddpx
