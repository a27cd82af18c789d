// A forecast: the step on N GPUs, the step on one, and what follows, each with its 90 % interval.
//
//   speedup = samples/s on N GPUs over samples/s of one GPU with plain steps (K = 1)
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "model/learned.hpp"
#include "model/step.hpp"

namespace ddpx {

enum class Verdict { pays, does_not_pay, too_close };
[[nodiscard]] std::string_view name(Verdict verdict);

// pays when the whole interval lies above 1, does_not_pay when it lies below, too_close when 1 is
// inside.
[[nodiscard]] Verdict verdict_of(const Interval& speedup);

enum class IntervalMethod {
  linear,       // first-order propagation: one more step per source of uncertainty
  monte_carlo,  // draws of every source
};

struct ForecastOptions {
  IntervalMethod method = IntervalMethod::linear;
  int draws = 2000;
  std::uint64_t seed = 1;
  // What validated steps were missed by. Where it speaks of the step's kind, that replaces what the
  // errors of constants and the machine's residual make of the intervals.
  const Learned* learned = nullptr;
};

struct Forecast {
  Step step;          // N GPUs
  Step one_gpu_step;  // K = 1: what speedup is measured against
  double one_gpu_step_s = 0;
  bool one_gpu_measured = false;  // it is the machine's own timing of exactly that job
  double work_scale = 1;          // its compute over the model's parts (work_scale.hpp)
  Interval step_time_s;
  Interval speedup;
  Interval samples_per_s;
  std::optional<Verdict> verdict;  // nullopt for a step on one GPU
  std::size_t buckets = 0;
  bool extrapolated = false;
  // Half-width each source adds to the step's interval on its own, as a fraction of the step
  // (linear propagation).
  std::array<double, kSources> sensitivity{};
  std::optional<LearnedErrors> learned;  // the intervals are what these steps were missed by
};

// By the forecast of the step on one GPU: what is known before any is measured.
[[nodiscard]] Regime regime_of(const Forecast& forecast);

// Throws InputError for jobs and machines that do not fit together (see StepModel).
[[nodiscard]] Forecast forecast(const Machine& machine, const Link& link, const Network& network,
                                const Job& job, const ForecastOptions& options = {});
// The same with the machine's products of the job's dtype looked up already, for sweeps.
[[nodiscard]] Forecast forecast(const Machine& machine, const ProductTable& products,
                                const Link& link, const Network& network, const Job& job,
                                const ForecastOptions& options = {});

// The point forecast alone: speedup without its interval (value = low = high).
[[nodiscard]] Forecast point_forecast(const Machine& machine, const Link& link,
                                      const Network& network, const Job& job);
[[nodiscard]] Forecast point_forecast(const Machine& machine, const ProductTable& products,
                                      const Link& link, const Network& network, const Job& job);

// Point forecasts of one network, for questions that try many links, counts and strategies: the
// step on one GPU is walked anew only where the job on one GPU is another, and the work of each GPU
// priced only where it is. Keeps references; a link's until the next forecast.
class PointForecasts {
 public:
  PointForecasts(Kept<Machine> machine, Kept<ProductTable> products, Kept<Network> network);
  ~PointForecasts();
  PointForecasts(const PointForecasts&) = delete;
  PointForecasts& operator=(const PointForecasts&) = delete;

  [[nodiscard]] Forecast of(const Link& link, const Job& job);

 private:
  struct Known;
  const Machine& machine_;
  const ProductTable& products_;
  const Network& network_;
  std::unique_ptr<Known> known_;
};

}  // namespace ddpx
