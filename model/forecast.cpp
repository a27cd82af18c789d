#include "model/forecast.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace ddpx {
namespace {

// Seconds per sample on N GPUs and on one: everything a forecast reports is made of these two.
struct Rates {
  double step = 0;
  double one = 0;

  [[nodiscard]] double speedup(const Job& job) const {
    return (job.samples_per_step() / step) / (job.one_gpu().samples_per_step() / one);
  }
};

// Below this a relative change of the step is numerical noise, not a sensitivity.
constexpr double kNegligible = 1e-12;

Interval around(double value, double relative) {
  return {value, value * std::max(0.0, 1.0 - relative), value * (1.0 + relative)};
}

Interval reciprocal_scaled(const Interval& seconds, double samples) {
  return {samples / seconds.value, samples / seconds.high,
          seconds.low > 0 ? samples / seconds.low : samples / seconds.value};
}

struct Models {
  StepModel many;
  StepModel one;
  const MeasuredStep* measured_one =
      nullptr;  // the machine's own timing of exactly that one-GPU job

  [[nodiscard]] double one_seconds(const Shift& shift) const {
    return measured_one ? measured_one->time.value.value() : one.run(shift).total().value();
  }
  [[nodiscard]] double one_residual(double of_the_model) const {
    return measured_one ? measured_one->time.relative_error : of_the_model;
  }
};

const MeasuredStep* measured_one_gpu_step(const Machine& machine, const Network& network,
                                          const Job& job) {
  for (const MeasuredStep& step : machine.one_gpu_steps) {
    const bool same =
        step.network == network.name && step.batch == job.one_gpu().samples_per_micro_batch() &&
        step.dtype == job.dtype && step.optimizer == job.optimizer && step.engine == job.engine;
    if (same) return &step;
  }
  return nullptr;
}

Models models_for(const Machine& machine, const Link& link, const Network& network,
                  const Job& job) {
  Models models{StepModel(machine, link, network, job),
                StepModel(machine, link, network, job.one_gpu()),
                job.gpus > 1 ? measured_one_gpu_step(machine, network, job) : nullptr};
  // Where the host bounds both steps its speed cancels in their ratio, which a measurement of one
  // of them would break.
  if (models.measured_one && models.one.run().term(Term::host).value() > 0)
    models.measured_one = nullptr;
  return models;
}

Forecast point(const Models& models, const Job& job) {
  Forecast f;
  f.step = models.many.run();
  f.one_gpu_step = models.one.run();
  const Rates rates{f.step.total().value(), models.one_seconds({})};
  f.one_gpu_step_s = rates.one;
  f.one_gpu_measured = models.measured_one != nullptr;
  const double speedup = rates.speedup(job);
  f.step_time_s = around(rates.step, 0);
  f.speedup = around(speedup, 0);
  f.samples_per_s = around(job.samples_per_step() / rates.step, 0);
  f.verdict = verdict_of(f.speedup);
  f.buckets = models.many.buckets().size();
  f.extrapolated = models.many.extrapolated() || models.one.extrapolated();
  return f;
}

// Moves each source by one standard error either way of the point and adds the squares. A term that
// only moves one way (contention from "none" to "worst wave", a max of two streams) is taken at its
// larger side.
void propagate(Forecast& f, const Models& models, const Job& job, double residual) {
  const double step = f.step_time_s.value;
  const double speedup = f.speedup.value;
  double step_squares = residual * residual;
  const double one_residual = models.one_residual(residual);
  double speedup_squares = job.gpus > 1 ? residual * residual + one_residual * one_residual : 0;
  for (std::size_t s = 0; s < kSources; ++s) {
    Shift shift;
    shift.z[s] = 1.0;
    const Rates moved{models.many.run(shift).total().value(), models.one_seconds(shift)};
    const double d_step = moved.step / step - 1.0;
    const double d_speedup = moved.speedup(job) / speedup - 1.0;
    f.sensitivity[s] = std::abs(d_step) < kNegligible ? 0.0 : kNormalQuantile90 * std::abs(d_step);
    step_squares += d_step * d_step;
    if (job.gpus > 1) speedup_squares += d_speedup * d_speedup;
  }
  f.step_time_s = around(step, kNormalQuantile90 * std::sqrt(step_squares));
  f.speedup = around(speedup, kNormalQuantile90 * std::sqrt(speedup_squares));
}

Interval quantiles(std::vector<double>& draws, double value) {
  const auto at = [&](double p) {
    const auto i = static_cast<std::ptrdiff_t>(p * static_cast<double>(draws.size() - 1));
    std::nth_element(draws.begin(), draws.begin() + i, draws.end());
    return draws[static_cast<std::size_t>(i)];
  };
  const double tail = (1.0 - kIntervalCoverage) / 2;
  const double low = at(tail);
  const double high = at(1.0 - tail);
  return {value, std::min(low, value), std::max(high, value)};
}

void draw(Forecast& f, const Models& models, const Job& job, double residual,
          const ForecastOptions& options) {
  std::mt19937_64 engine(options.seed);
  std::normal_distribution<double> normal;
  std::vector<double> steps;
  std::vector<double> speedups;
  for (int i = 0; i < options.draws; ++i) {
    Shift shift;
    for (double& z : shift.z) z = normal(engine);
    const auto moved = [&](double seconds, double error) {
      return seconds * std::max(0.05, 1.0 + error * normal(engine));
    };
    Rates rates;
    rates.step = moved(models.many.run(shift).total().value(), residual);
    rates.one =
        job.gpus > 1 ? moved(models.one_seconds(shift), models.one_residual(residual)) : rates.step;
    steps.push_back(rates.step);
    speedups.push_back(rates.speedup(job));
  }
  f.step_time_s = quantiles(steps, f.step_time_s.value);
  f.speedup = quantiles(speedups, f.speedup.value);
}

}  // namespace

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::pays:
      return "pays";
    case Verdict::does_not_pay:
      return "does_not_pay";
    case Verdict::too_close:
      return "too_close";
  }
  return "?";
}

Verdict verdict_of(const Interval& speedup) {
  if (speedup.low > 1.0) return Verdict::pays;
  if (speedup.high < 1.0) return Verdict::does_not_pay;
  return Verdict::too_close;
}

Forecast point_forecast(const Machine& machine, const Link& link, const Network& network,
                        const Job& job) {
  return point(models_for(machine, link, network, job), job);
}

Forecast forecast(const Machine& machine, const Link& link, const Network& network, const Job& job,
                  const ForecastOptions& options) {
  const Models models = models_for(machine, link, network, job);
  Forecast f = point(models, job);
  if (options.conformal_half_width) {
    const double half = *options.conformal_half_width;
    f.step_time_s = around(f.step_time_s.value, half);
    f.speedup = around(f.speedup.value, half);
  } else if (options.method == IntervalMethod::monte_carlo) {
    draw(f, models, job, machine.residual, options);
  } else {
    propagate(f, models, job, machine.residual);
  }
  f.samples_per_s = reciprocal_scaled(f.step_time_s, job.samples_per_step());
  f.verdict = verdict_of(f.speedup);
  return f;
}

}  // namespace ddpx
