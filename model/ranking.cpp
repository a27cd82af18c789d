#include "model/ranking.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/validated.hpp"

namespace ddpx {
namespace {

bool dominates(const RankedStrategy& a, const RankedStrategy& b) {
  const std::array better{a.samples_per_s.value - b.samples_per_s.value,
                          (b.memory.total() - a.memory.total()).value(),
                          b.effective_batch - a.effective_batch};
  return std::all_of(better.begin(), better.end(), [](double by) { return by >= 0; }) &&
         std::any_of(better.begin(), better.end(), [](double by) { return by > 0; });
}

void mark_front(std::vector<RankedStrategy>& ranked) {
  for (RankedStrategy& row : ranked) {
    row.on_front = row.fits.value_or(true) &&
                   std::none_of(ranked.begin(), ranked.end(), [&](const RankedStrategy& other) {
                     return other.fits.value_or(true) && dominates(other, row);
                   });
  }
}

Gain verdict_of_gain(const Interval& gain) {
  if (gain.low > 0) return Gain::gains;
  return gain.high < 0 ? Gain::loses : Gain::none;
}

bool comes_first(const RankedStrategy& a, const RankedStrategy& b) {
  if (a.fits.value_or(true) != b.fits.value_or(true)) return a.fits.value_or(true);
  if (a.samples_per_s.value != b.samples_per_s.value)
    return a.samples_per_s.value > b.samples_per_s.value;
  if (a.memory.total() != b.memory.total()) return a.memory.total() < b.memory.total();
  return describe(a.strategy) < describe(b.strategy);
}

class Ranker {
 public:
  explicit Ranker(const RankQuestion& question)
      : q_(question),
        products_(q_.machine, q_.job.dtype),
        plain_(priced({Strategy{}, &q_.link})),
        plain_time_(time_of(plain_, job_of({Strategy{}, nullptr}), q_.machine.residual)) {}

  [[nodiscard]] RankedStrategy row(const Candidate& candidate) const {
    const Job job = job_of(candidate);
    RankedStrategy row;
    row.strategy = candidate.strategy;
    row.link = candidate.link->name;
    row.validated = is_validated(candidate.strategy);
    row.memory = memory_parts(q_.network, job);
    if (q_.memory.value() > 0) row.fits = row.memory.total() <= q_.memory;
    row.effective_batch = job.samples_per_step();
    const bool plain = describe(candidate.strategy) == "ddp";
    const ShiftedSteps steps = plain ? plain_ : priced(candidate);
    const double unseen = row.validated ? 0 : kUnvalidatedError;
    row.step = steps.step;
    row.step_time_s = time_of(steps, job, std::hypot(q_.machine.residual, unseen));
    row.samples_per_s = {row.effective_batch / row.step_time_s.value,
                         row.effective_batch / row.step_time_s.high,
                         row.effective_batch / row.step_time_s.low};
    if (plain) return row;
    const double ratio = row.effective_batch / job_of({Strategy{}, nullptr}).samples_per_step();
    Interval faster =
        paired_speedup(steps, plain_, ratio, residual(steps, candidate.strategy, unseen));
    if (job.loader) limit(faster, row.step_time_s, ratio);
    row.gain = {faster.value - 1, faster.low - 1, faster.high - 1};
    row.verdict = verdict_of_gain(row.gain);
    return row;
  }

 private:
  static Interval time_of(const ShiftedSteps& steps, const Job& job, double residual) {
    return limited_by_loader(step_interval(steps, residual), steps.step, job);
  }
  // No further apart than the ends of both, which the loaders may hold together.
  void limit(Interval& faster, const Interval& time, double samples_ratio) const {
    faster.high =
        std::max(faster.value, std::min(faster.high, samples_ratio * plain_time_.high / time.low));
    faster.low =
        std::min(faster.value, std::max(faster.low, samples_ratio * plain_time_.low / time.high));
  }
  [[nodiscard]] Job job_of(const Candidate& candidate) const {
    Job job = q_.job;
    job.strategy = candidate.strategy;
    return job;
  }
  [[nodiscard]] ShiftedSteps priced(const Candidate& candidate) const {
    return shifted_steps(
        StepModel(q_.machine, products_, *candidate.link, q_.network, job_of(candidate)));
  }
  // Steps that the model cannot tell apart are one and the same (a bucket size that fills the same
  // buckets); else the comparison has a residual of its own, as a step has.
  [[nodiscard]] double residual(const ShiftedSteps& steps, const Strategy& strategy,
                                double unseen) const {
    const bool same = steps.moved == plain_.moved && strategy.micro_batches == 1;
    return std::hypot(same ? 0 : q_.machine.residual, unseen);
  }

  const RankQuestion& q_;
  ProductTable products_;
  ShiftedSteps plain_;
  Interval plain_time_;
};

}  // namespace

std::string_view name(Gain gain) {
  switch (gain) {
    case Gain::gains:
      return "gain";
    case Gain::loses:
      return "loss";
    case Gain::none:
      break;
  }
  return "no_gain";
}

bool Ranking::nothing_fits() const {
  return std::all_of(strategies.begin(), strategies.end(),
                     [](const RankedStrategy& row) { return row.fits == false; });
}

std::vector<RankedStrategy> rank(const RankQuestion& question,
                                 std::span<const Candidate> candidates) {
  const Ranker ranker(question);
  std::vector<RankedStrategy> ranked;
  ranked.reserve(candidates.size() + 1);
  bool plain = false;
  for (const Candidate& candidate : candidates) {
    ranked.push_back(ranker.row(candidate));
    plain = plain || describe(candidate.strategy) == "ddp";
  }
  if (!plain) ranked.push_back(ranker.row({Strategy{}, &question.link}));
  std::stable_sort(ranked.begin(), ranked.end(), comes_first);
  mark_front(ranked);
  return ranked;
}

}  // namespace ddpx
