// What ddpx-predict answers: rows, crossovers and what they rest on. Plain values, so that the
// table, CSV and JSON say the same.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/amdahl.hpp"
#include "model/conditions.hpp"
#include "model/crossover.hpp"
#include "model/diagnosis.hpp"
#include "model/forecast.hpp"
#include "model/plan.hpp"
#include "model/sensitivity.hpp"
#include "predict/decisions.hpp"

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

// A product that the machine did not measure, 1.645 standard errors of its price, and what times it
// or, where its rows are no whole batch, the next whole one's.
struct UnmeasuredProduct {
  Product product;
  double half_width = 0;
  std::string command;
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
  std::vector<Elasticity> elasticities;  // what 1 % of each constant is worth
  // Of the products that were not measured the one whose error weighs most in time; nullopt where
  // all were.
  std::optional<UnmeasuredProduct> least_sure{};
};

// A list that does not change, of which copies are the same one: a long sweep has it once.
class SharedTexts {
 public:
  // NOLINTBEGIN(readability-identifier-naming): what the standard calls them in every container
  using value_type = std::string;
  using const_reference = const std::string&;
  using const_iterator = std::vector<std::string>::const_iterator;
  using iterator = const_iterator;
  // NOLINTEND(readability-identifier-naming)

  SharedTexts() : SharedTexts(std::vector<std::string>()) {}
  SharedTexts(std::initializer_list<std::string> texts)
      : SharedTexts(std::vector<std::string>(texts)) {}
  SharedTexts(std::vector<std::string> texts)
      : texts_(std::make_shared<const std::vector<std::string>>(std::move(texts))) {}

  operator const std::vector<std::string>&() const { return *texts_; }
  [[nodiscard]] const_iterator begin() const { return texts_->begin(); }
  [[nodiscard]] const_iterator end() const { return texts_->end(); }
  [[nodiscard]] const std::string& back() const { return texts_->back(); }
  [[nodiscard]] bool empty() const { return texts_->empty(); }
  [[nodiscard]] std::size_t size() const { return texts_->size(); }

 private:
  std::shared_ptr<const std::vector<std::string>> texts_;
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
  // Borrowed constants that this row uses: "host.per_bucket: prior: ...".
  SharedTexts rests_on;
  std::optional<Amdahl> amdahl;  // through this row's speedup; nullopt on one GPU
  std::optional<double> break_even_batch_per_rank;               // only asked for with --crossover
  std::optional<Explanation> explanation;                        // only with --explain
  std::optional<std::array<Condition, kConditions>> conditions;  // nullopt on one GPU
  std::optional<Plan> plan;  // where time to target or money was asked for
};

// The plan to take of those forecast, and the question all of them answer.
struct Decision {
  PlanQuestion question;
  GpuMemory memory;                // that plans have to fit in
  std::optional<std::size_t> row;  // nullopt: none fits, or none meets the deadline
  bool certain = true;             // its whole interval meets the deadline
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
  int ranks_sharing_batch = 1;           // every batch here is split over so many
  SweepAxis axis = SweepAxis::parameters;
  double sweep_low = 0;  // first and last point, on the axis
  double sweep_high = 0;
  Interval lowest_speedup;  // along the sweep: they say what a sweep without crossing means
  Interval highest_speedup;
  std::vector<Crossing> crossings;
  // The same for time to target (--critical-batch): where one GPU gets there as soon.
  std::vector<Crossing> target_crossings;
  std::optional<Interval> lowest_target_speedup;
  std::optional<Interval> highest_target_speedup;
  // Smallest batch per rank from which on this many GPUs pay for the sweep's largest network;
  // nullopt: none up to kLargestBatch.
  std::optional<double> break_even_batch_per_rank;
};

// Largest batch per rank that a break-even batch is looked for at.
inline constexpr double kLargestBatch = 1 << 20;

// Steps just below and just above a bandwidth at which the forecast jumps: no link gives a step
// between them.
struct StepJump {
  Seconds below{};
  Seconds above{};
};

// The link that explains a measured pair of steps (--infer-link): the forecast turned around.
struct InferredLink {
  double parameters = 0;
  Job job;
  Seconds one_gpu_step{};
  Seconds step{};
  double speedup = 0;
  BytesPerSecond bus_bandwidth{};  // all-reduce bus bandwidth, nccl-tests' convention
  Seconds latency{};               // that was assumed of the link
  std::optional<StepJump> jump;
  // What the forecast takes of the step besides the link: FrameworkCost, and waiting for the
  // slowest rank.
  Seconds framework{};
  Seconds slowest_rank{};
  // The bus bandwidth that explains the step if there is nothing of either.
  std::optional<BytesPerSecond> link_alone;
  bool batch_given = true;  // else job.batch_per_rank is nobody's
  std::string reading;      // what such a link is, or why there is none, in words
  bool explained = true;    // else no link explains the step, and there are no figures of one
};

// What is wrong with a measured run (--diagnose).
struct DiagnosedRun {
  std::vector<StepPoint> points;  // ascending counts
  // Where parameters are known: the bus bandwidth that explains each point by its link alone.
  std::vector<std::optional<BytesPerSecond>> implied;
  std::optional<Seconds> assumed_latency;   // of those links; nullopt where there are none
  std::optional<BytesPerSecond> named;      // bus bandwidth of the link that was named
  std::vector<std::optional<double>> each;  // a GPU's throughput over one alone
  std::vector<PointFlag> flags;
  StepPoint judged;           // the largest count that is not flagged
  bool data_by_rank = false;  // the loader's finding is one rank's wait beyond the median rank's
  Diagnosis diagnosis;
  std::string verdict;  // in words, with the number behind it
  std::string next;     // the measurement to make next
  std::vector<std::string> notes;
  std::vector<std::string> warnings;  // of what joins the GPUs
};

struct ForecastDocument {
  std::string machine;
  std::string device;
  std::vector<ForecastRow> rows;
  std::vector<CrossoverRow> crossovers;
  std::optional<InferredLink> inferred;
  std::vector<RankingRow> rankings;          // --rank-strategies
  std::vector<RequirementRow> requirements;  // --require
  std::optional<Decision> decision;
  std::optional<DiagnosedRun> diagnosed;
  bool conditions_asked = false;  // --loader-rate, --imbalance or --straggler was given
  std::vector<std::string> warnings;

  // No strategy fits in any ranking, no plan of a run does, nothing meets one of the requirements,
  // or no link explains the steps: exit code 1.
  [[nodiscard]] bool unmet() const;
};

}  // namespace ddpx
