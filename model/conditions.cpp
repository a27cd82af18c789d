#include "model/conditions.hpp"

#include <algorithm>
#include <cmath>

namespace ddpx {
namespace {

double normal_below(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

Seconds sum(const Step& step, std::initializer_list<Term> terms) {
  Seconds total{};
  for (Term t : terms) total += step.term(t);
  return total;
}

}  // namespace

double slowest_rank(double spread, int ranks, double delay) {
  if (ranks <= 1) return 0;
  if (!(spread > 0)) return std::max(0.0, delay);
  const double usual = spread * expected_maximum(ranks);
  if (!(delay > 0)) return usual;
  // E[max] = integral of 1 - F above 0 less that of F below, F(x) = P(all ranks <= x). In units of
  // the spread; eight standard deviations hold all of it.
  constexpr int kIntervals = 512;
  constexpr double kFar = 8;
  const double late = delay / spread;
  const double low = -kFar;
  const double high = late + kFar;
  const double step = (high - low) / kIntervals;
  double mean = high;
  for (int i = 0; i <= kIntervals; ++i) {
    const double x = low + i * step;
    const double all = std::pow(normal_below(x), ranks - 1) * normal_below(x - late);
    mean -= (i == 0 || i == kIntervals ? 0.5 : 1.0) * step * all;
  }
  return std::max({usual, delay, spread * mean});
}

std::string_view name(ConditionKind kind) {
  switch (kind) {
    case ConditionKind::communication:
      return "communication";
    case ConditionKind::even_work:
      return "even_work";
    case ConditionKind::no_straggler:
      return "no_straggler";
    case ConditionKind::loader:
      return "loader";
  }
  return "?";
}

bool Condition::holds() const { return lost < kNegligibleShare; }

Job without_sharing(const Job& job) {
  Job alone = job;
  alone.strategy = Strategy{};
  alone.strategy.micro_batches = job.strategy.micro_batches;
  alone.strategy.sync = false;
  return alone;
}

std::array<Condition, kConditions> conditions(const Step& step, const Step& unshared,
                                              double rank_spread, const Job& job) {
  const double total = step.total().value();
  const double compute = sum(step, {Term::forward, Term::backward, Term::accumulation}).value();
  const double exchange = sum(step, {Term::exposed_communication, Term::contention, Term::copies,
                                     Term::compression, Term::framework})
                              .value();
  // The device with even, equally fast and well fed ranks.
  const auto device_of = [](const Step& s) {
    return (s.total() - sum(s, {Term::imbalance, Term::host, Term::loader})).value();
  };
  // The step waits for its data, as it waits for the host: what ends sooner only waits longer.
  const double fed = job.loader ? job.samples_per_step() / job.loader->rate(job.gpus) : 0;
  const double device = device_of(step);
  const double pace = std::max(step.host.value(), fed);
  const double alone = std::max({device_of(unshared), unshared.host.value(), fed});
  const double shared = std::max(0.0, std::max(device, pace) - alone) / total;
  const auto waited = [&](double late) {
    return (std::max(device + late * compute, pace) - std::max(device, pace)) / total;
  };
  const double uneven = job.imbalance.value_or(0);
  const double slowest = slowest_rank(rank_spread, job.gpus, job.straggler.value_or(0));
  std::array<Condition, kConditions> result{
      Condition{ConditionKind::communication, true, exchange / total, shared},
      Condition{ConditionKind::even_work, job.imbalance.has_value(), 1 + uneven, waited(uneven)},
      Condition{ConditionKind::no_straggler, slowest > 0 || job.straggler, 1 + slowest,
                waited(slowest)},
      Condition{ConditionKind::loader, job.loader.has_value(), 0, 0}};
  const Seconds wait = step.term(Term::loader);
  const double consumed = job.samples_per_step() / (total - wait.value());
  result[3].figure = job.loader ? job.loader->rate(job.gpus) / consumed : consumed;
  result[3].lost = wait.value() / total;
  return result;
}

}  // namespace ddpx
