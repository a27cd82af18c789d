// Forecasts that were held against measured steps, and the intervals that their errors give: for
// further steps of the same machine, over the same links and on as many GPUs, what was missed says
// more than the errors of the constants do (split conformal, conformal.hpp).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/machine.hpp"
#include "model/strategy.hpp"

namespace ddpx {

enum class Regime { gpu_bound, host_bound };
[[nodiscard]] std::string_view name(Regime regime);

// How far a forecast lay from the truth: what an interval around it has to cover.
struct Miss {
  std::string_view network;
  double size = 0;
};

// Share of the misses that the interval of the other networks' misses covers; nullopt where no
// network leaves enough of them.
[[nodiscard]] std::optional<double> coverage_leaving_networks_out(std::span<const Miss> misses);

// Steps among which errors are taken for alike, told by what is known of a step before it is run.
struct StepKind {
  std::string model;  // "mlp", "gpt": the generator of the network; else the network's name
  std::string link;
  int gpus = 2;
  Scaling scaling = Scaling::weak;
  DType dtype = DType::fp32;
  Optimizer optimizer = Optimizer::sgd;
  Engine engine = Engine::torch;
  bool graphs = false;
  Regime regime = Regime::gpu_bound;  // by the forecast of the step on one GPU

  auto operator<=>(const StepKind&) const = default;
};
[[nodiscard]] StepKind kind_of(const std::string& network, const std::string& link, const Job& job,
                               Regime regime);

struct JudgedStep {
  StepKind kind;
  std::string network;
  Strategy strategy;
  double batch_per_rank = 256;
  double step_ratio = 1;                  // measured over forecast
  std::optional<double> speedup_ratio{};  // the same of the speedup, where one GPU was measured
};

// A row of a validation: what was forecast of a job and what was measured.
struct JudgedRow {
  std::string network;
  std::string link;
  Job job;
  double step_s = 0;  // as forecast
  double measured_s = 0;
  std::optional<double> speedup_ratio{};  // measured over forecast
};

// An interval and how well it holds.
struct LearnedWidth {
  double logarithm = 0;            // from value / exp(this) to value * exp(this)
  std::optional<double> coverage;  // leaving networks out; nullopt where they are too few
  [[nodiscard]] Interval around(double value) const;
};

// What steps of one kind and strategy were missed by.
struct LearnedErrors {
  StepKind kind;
  std::size_t steps = 0;     // of the kind
  std::size_t networks = 0;  // of those
  std::size_t longer = 0;    // took longer than forecast
  LearnedWidth step;
  std::optional<LearnedWidth> speedup;  // nullopt: too few speedups were measured
};

// Steps that repeat another one exactly count once.
class Learned {
 public:
  explicit Learned(std::vector<JudgedStep> steps);

  // The width is that of all steps of the kind, and no smaller than that of those whose strategy
  // differs from this one by a bucket size, a channel count or accumulation alone (their largest
  // error where they are too few). Nullopt where no step of such a strategy was measured, none that
  // accumulated as often, or fewer steps of the kind than 90 % takes: nine.
  [[nodiscard]] std::optional<LearnedErrors> errors_of(const StepKind& kind,
                                                       const Strategy& strategy) const;
  // Every kind that supports an interval, and its number of steps.
  [[nodiscard]] std::vector<std::pair<StepKind, std::size_t>> kinds() const;

 private:
  [[nodiscard]] std::span<const JudgedStep> of_kind(const StepKind& kind) const;

  std::vector<JudgedStep> steps_;   // by kind, ascending
  std::vector<std::string> sorts_;  // of their strategies
};

}  // namespace ddpx
