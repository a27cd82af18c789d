#include "model/forecast.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "model/paired.hpp"
#include "model/spread.hpp"
#include "model/validated.hpp"

namespace ddpx {

// What a speedup is measured against. Named outside, for PointForecasts keeps one.
struct OneGpu {
  StepModel model;
  Step step;
  const MeasuredStep* measured = nullptr;  // timed of exactly that job: no constant moves it

  [[nodiscard]] double seconds(const Shift& shift) const {
    return (measured ? step : model.run(shift)).total().value();
  }
  [[nodiscard]] double residual(double of_the_model) const {
    return measured ? measured->time.relative_error : of_the_model;
  }
};

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

// Whether the step is another than the one it is compared with: on one GPU only accumulation is.
bool compared(const Job& job) { return job.gpus > 1 || job.strategy.micro_batches > 1; }

// N GPUs give at most N times, but for what a measured step differs from its model by: 3 % at most,
// for a larger residual stands for what slows many GPUs and not for what could speed them up.
Interval within_linear(Interval speedup, const Job& job, double residual) {
  if (job.gpus == 1) return speedup;
  constexpr double kMostSlack = 0.03;
  residual = std::min(residual, kMostSlack);
  const double most = std::max(speedup.value, static_cast<double>(job.gpus));
  speedup.high =
      std::min(speedup.high, most * std::exp(kNormalQuantile90 * std::sqrt(2.0) * residual));
  return speedup;
}

Interval reciprocal_scaled(const Interval& seconds, double samples) {
  return {samples / seconds.value, samples / seconds.high,
          seconds.low > 0 ? samples / seconds.low : samples / seconds.value};
}

OneGpu one_gpu_for(const Machine& machine, const ProductTable& products, const Link& link,
                   const Network& network, const Job& job) {
  OneGpu one{StepModel(machine, products, link, network, job.one_gpu()), {}};
  one.step = one.model.run();
  // Where the host bounds both steps its speed cancels in their ratio, which a measurement of one
  // of them would break.
  if (!(one.step.term(Term::host).value() > 0)) one.measured = one.model.work_scale().measured;
  return one;
}

Forecast point(const StepModel& many, const OneGpu& one, const Job& job) {
  Forecast f;
  f.step = many.run();
  f.one_gpu_step = one.step;
  f.work_scale = one.model.work_scale().factor;
  const Rates rates{f.step.total().value(), one.step.total().value()};
  f.one_gpu_step_s = rates.one;
  f.one_gpu_measured = one.measured != nullptr;
  const double speedup = rates.speedup(job);
  f.step_time_s = around(rates.step, 0);
  f.speedup = around(speedup, 0);
  f.samples_per_s = around(job.samples_per_step() / rates.step, 0);
  if (job.gpus > 1) f.verdict = verdict_of(f.speedup);
  f.buckets = many.buckets().size();
  f.extrapolated = many.extrapolated() || one.model.extrapolated();
  return f;
}

// Moves each source by one standard error either way and adds the squares of what that does,
// upwards and downwards apart: a step that is the larger of two streams gives way to one side more
// than to the other.
void propagate(Forecast& f, const StepModel& many, const OneGpu& one, const Job& job,
               double residual) {
  Spread step;
  Spread speedup;
  step.add_larger(residual, -residual);
  if (compared(job)) speedup.add_larger(residual, -residual);
  if (job.gpus > 1) {
    const double one_residual = one.residual(residual);
    speedup.add_larger(one_residual, -one_residual);
  }
  for (std::size_t s = 0; s < kSources; ++s) {
    const auto source = static_cast<Source>(s);
    const bool moves_many = many.depends_on(source);
    const bool moves_one = one.model.depends_on(source);
    if (!moves_many && !moves_one) continue;
    std::array<double, 2> step_change{};
    std::array<double, 2> speedup_change{};
    for (std::size_t side = 0; side < 2; ++side) {
      Shift shift;
      shift.z[s] = side == 0 ? -1.0 : 1.0;
      const Rates moved{
          moves_many ? moved_step(many, source, static_cast<Side>(side), f.step.total().value())
                     : f.step.total().value(),
          moves_one ? one.seconds(shift) : one.step.total().value()};
      step_change[side] = std::log(moved.step / f.step_time_s.value);
      speedup_change[side] = std::log(moved.speedup(job) / f.speedup.value);
    }
    step.add_larger(step_change[0], step_change[1]);
    if (compared(job)) speedup.add_larger(speedup_change[0], speedup_change[1]);
    const double largest = std::max(std::abs(step_change[0]), std::abs(step_change[1]));
    f.sensitivity[s] = largest < kNegligible ? 0.0 : kNormalQuantile90 * largest;
  }
  f.step_time_s = step.around(f.step_time_s.value);
  f.speedup = within_linear(speedup.around(f.speedup.value), job, residual);
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

void draw(Forecast& f, const StepModel& many, const OneGpu& one, const Job& job, double residual,
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
    rates.step = moved(many.run(shift).total().value(), residual);
    steps.push_back(rates.step);
    if (!compared(job)) continue;
    rates.one = moved(one.seconds(shift), job.gpus > 1 ? one.residual(residual) : 0);
    speedups.push_back(rates.speedup(job));
  }
  f.step_time_s = quantiles(steps, f.step_time_s.value);
  if (compared(job)) f.speedup = within_linear(quantiles(speedups, f.speedup.value), job, residual);
}

// On one GPU the machine's own timing is all there is to be unsure of, and what the model makes of
// further micro-batches, which alone moves the speedup.
void around_timed_step(Forecast& f, const MeasuredStep& timed, const Job& job, double residual) {
  const double device = (f.step.total() - f.step.term(Term::loader)).value();
  const double further = job.strategy.micro_batches > 1 ? residual : 0;
  const Interval moved =
      around(device, kNormalQuantile90 * std::hypot(timed.time.relative_error, further));
  const double fed = job.loader ? job.samples_per_step() / job.loader->rate(1) : 0;
  f.step_time_s = {f.step.total().value(), std::max(fed, moved.low), std::max(fed, moved.high)};
  f.speedup = around(f.speedup.value, kNormalQuantile90 * further);
  f.sensitivity = {};
}

// What is taken off the step's interval is taken off the speedup's.
void limit(Forecast& f, const Interval& limited) {
  Interval& s = f.speedup;
  s.high = std::max(s.value, s.high * f.step_time_s.low / limited.low);
  s.low = std::min(s.value, s.low * f.step_time_s.high / limited.high);
  f.step_time_s = limited;
}

void paced(Forecast& f, const Job& job) {
  const Interval limited = limited_by_loader(f.step_time_s, f.step, job);
  if (limited.low != f.step_time_s.low) f.learned.reset();  // it is the loaders' now
  limit(f, limited);
}

Interval widest(const Interval& a, const Interval& b) {
  return {a.value, std::min(a.low, b.low), std::max(a.high, b.high)};
}

// What judged steps of the same kind were missed by; outside the calibration no less than the
// errors of the constants. Where speedups were not measured theirs remain.
void learn(Forecast& f, const Learned& learned, const StepKind& kind, const Job& job,
           double residual) {
  f.learned = learned.errors_of(kind, job.strategy);
  if (!f.learned) return;
  const Interval step = f.learned->step.around(f.step_time_s.value);
  f.step_time_s = f.extrapolated ? widest(step, f.step_time_s) : step;
  if (!f.learned->speedup) return;
  const Interval speedup = f.learned->speedup->around(f.speedup.value);
  f.speedup = within_linear(f.extrapolated ? widest(speedup, f.speedup) : speedup, job, residual);
}

// One standard error of a step beside its constants'.
double residual_of(const Machine& machine, const Job& job) {
  return job.gpus == 1 || is_validated(job.strategy)
             ? machine.residual
             : std::hypot(machine.residual, kUnvalidatedError);
}

}  // namespace

Regime regime_of(const Forecast& forecast) {
  return forecast.one_gpu_step.term(Term::host) > Seconds{} ? Regime::host_bound
                                                            : Regime::gpu_bound;
}

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
  return point_forecast(machine, ProductTable(machine, job.dtype), link, network, job);
}

Forecast point_forecast(const Machine& machine, const ProductTable& products, const Link& link,
                        const Network& network, const Job& job) {
  return PointForecasts(machine, products, network).of(link, job);
}

struct PointForecasts::Known {
  struct One {
    Job job;  // on one GPU
    OneGpu step;
  };
  std::optional<One> one;
  std::optional<StepModel> many;
};

PointForecasts::PointForecasts(Kept<Machine> machine, Kept<ProductTable> products,
                               Kept<Network> network)
    : machine_(machine),
      products_(products),
      network_(network),
      known_(std::make_unique<Known>()) {}
PointForecasts::~PointForecasts() = default;

Forecast PointForecasts::of(const Link& link, const Job& job) {
  std::optional<StepModel>& many = known_->many;
  if (many && many->shares_work(link, job)) {
    many->over(link, job);
  } else {
    many.emplace(machine_, products_, link, network_, job);
  }
  const Job alone = job.one_gpu();
  std::optional<Known::One>& one = known_->one;
  if (!one || one->job != alone)
    one.emplace(Known::One{alone, one_gpu_for(machine_, products_, link, network_, job)});
  return point(*many, one->step, job);
}

Forecast forecast(const Machine& machine, const Link& link, const Network& network, const Job& job,
                  const ForecastOptions& options) {
  return forecast(machine, ProductTable(machine, job.dtype), link, network, job, options);
}

Forecast forecast(const Machine& machine, const ProductTable& products, const Link& link,
                  const Network& network, const Job& job, const ForecastOptions& options) {
  const StepModel many(machine, products, link, network, job);
  const OneGpu one = one_gpu_for(machine, products, link, network, job);
  Forecast f = point(many, one, job);
  const double residual = residual_of(machine, job);
  if (options.method == IntervalMethod::monte_carlo) {
    draw(f, many, one, job, residual, options);
  } else {
    propagate(f, many, one, job, residual);
  }
  if (job.gpus == 1 && one.measured) around_timed_step(f, *one.measured, job, machine.residual);
  if (options.learned)
    learn(f, *options.learned, kind_of(network.name, link.name, job, regime_of(f)), job, residual);
  limit(f, within_wires(f.step_time_s, many.least_exchange()));
  if (job.loader) paced(f, job);
  f.samples_per_s = reciprocal_scaled(f.step_time_s, job.samples_per_step());
  if (job.gpus > 1) f.verdict = verdict_of(f.speedup);
  return f;
}

}  // namespace ddpx
