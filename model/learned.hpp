// Forecasts that were held against measured steps, and the intervals that their errors give: for
// further steps of the same machine, over the same links and on as many GPUs, what was missed says
// more than the errors of the constants do (split conformal, conformal.hpp).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/machine.hpp"
#include "model/strategy.hpp"

namespace ddpx {

enum class Regime { gpu_bound, host_bound };
[[nodiscard]] std::string_view name(Regime regime);

// One word for what a strategy mainly does: "ddp", "bucket", "accumulation", "compression", "fsdp",
// "zero", "hsdp" or "no-sync". An explicit cap of DDP's default size is plain DDP.
[[nodiscard]] std::string family_of(const Strategy& strategy);

// How far a forecast lay from the truth, relative to the forecast: what an interval around it has
// to cover.
struct Miss {
  std::string_view network;
  double size = 0;  // |measured / forecast - 1|
};

// Share of the misses that the interval of the other networks' misses covers; nullopt where no
// network leaves enough of them.
[[nodiscard]] std::optional<double> coverage_leaving_networks_out(std::span<const Miss> misses);

// Steps among which errors are taken for alike, told by what is known of a step before it is run.
struct StepKind {
  std::string link;
  int gpus = 2;
  DType dtype = DType::fp32;
  Engine engine = Engine::torch;
  Regime regime = Regime::gpu_bound;  // by the forecast of the step on one GPU

  auto operator<=>(const StepKind&) const = default;
};

struct JudgedStep {
  StepKind kind;
  std::string network;
  std::string family;                     // of its strategy
  double step_ratio = 1;                  // measured over forecast
  std::optional<double> speedup_ratio{};  // the same of the speedup, where one GPU was measured
};

// The intervals of one kind, as fractions to either side.
struct LearnedErrors {
  StepKind kind;
  std::size_t steps = 0;
  double step = 0;
  std::optional<double> speedup;      // nullopt: too few speedups were measured
  std::optional<double> coverage;     // of step, leaving networks out
  std::vector<std::string> families;  // of the strategies that were measured
};

class Learned {
 public:
  explicit Learned(std::span<const JudgedStep> steps);

  // Nullptr where too few steps of the kind were measured to support 90 % (fewer than nine), or
  // none of the strategy's family.
  [[nodiscard]] const LearnedErrors* errors_of(const StepKind& kind,
                                               const Strategy& strategy) const;
  // Every kind that supports an interval.
  [[nodiscard]] std::span<const LearnedErrors> kinds() const { return kinds_; }

 private:
  std::vector<LearnedErrors> kinds_;  // ascending
};

}  // namespace ddpx
