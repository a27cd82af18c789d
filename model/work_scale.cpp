#include "model/work_scale.hpp"

#include <algorithm>
#include <cmath>

#include "model/network_spec.hpp"
#include "model/step.hpp"

namespace ddpx {
namespace {

constexpr double kNothingKnown = 1.0 / 16;  // the weight of r = 1: two doublings away
constexpr double kSameJob = 1e-9;           // doublings

// The logarithm of a timed step over the modelled one; nullopt where the host bounds it.
std::optional<double> log_ratio(const Machine& machine, const ProductTable& products,
                                const Network& network, const MeasuredStep& step) {
  Job job;
  job.gpus = 1;
  job.batch_per_rank = step.batch;
  job.dtype = step.dtype;
  job.optimizer = step.optimizer;
  job.engine = step.engine;
  const Link none;
  const Step modelled = StepModel(machine, products, none, network, job, WorkScale{}).run();
  if (modelled.term(Term::host).value() > 0) return std::nullopt;
  return std::log(step.time.value / modelled.total());
}

// An update is a small part of the step, so that another optimizer's will do.
bool same_kind(const MeasuredStep& step, const Job& job) {
  return step.dtype == job.dtype && step.engine == job.engine;
}

}  // namespace

double WorkScale::shared() const { return std::sqrt(factor); }

double WorkScale::error() const { return std::abs(std::log(factor)) / std::sqrt(12.0); }

const std::vector<ProductTable::StepRatio>& ProductTable::step_ratios() const {
  if (ratios_) return *ratios_;
  ratios_.emplace();
  for (const MeasuredStep& step : machine_.one_gpu_steps) {
    const std::optional<SpecSizes> sizes = sizes_of(step.network);
    if (!sizes || step.dtype != dtype_) continue;
    if (const auto ratio = log_ratio(machine_, *this, network_from(step.network), step))
      ratios_->push_back({&step, *sizes, std::log2(step.batch), *ratio});
  }
  return *ratios_;
}

WorkScale work_scale(const Machine& machine, const ProductTable& products, const Network& network,
                     const Job& job) {
  const double batch = job.samples_per_micro_batch();
  const auto sizes =
      network.captured || machine.one_gpu_steps.empty() ? std::nullopt : sizes_of(network.name);
  if (!sizes) {
    for (const MeasuredStep& step : machine.one_gpu_steps) {
      if (step.network != network.name || step.batch != batch || !same_kind(step, job)) continue;
      if (step.optimizer != job.optimizer) continue;
      if (const auto ratio = log_ratio(machine, products, network, step))
        return {std::exp(*ratio), &step};
    }
    return {};
  }
  double weights = kNothingKnown;
  double sum = 0;
  const auto& ratios = products.step_ratios();
  const bool own = std::any_of(ratios.begin(), ratios.end(), [&](const auto& known) {
    return same_kind(*known.step, job) && known.step->optimizer == job.optimizer;
  });
  for (const ProductTable::StepRatio& known : ratios) {
    if (!same_kind(*known.step, job) || (own && known.step->optimizer != job.optimizer)) continue;
    const std::optional<double> doublings = doublings_between(known.sizes, *sizes);
    if (!doublings) continue;
    const double distance = std::hypot(*doublings, known.log_batch - std::log2(batch));
    if (distance < kSameJob) return {std::exp(known.log_ratio), own ? known.step : nullptr};
    const double weight = 1 / std::pow(distance, 4);
    weights += weight;
    sum += weight * known.log_ratio;
  }
  return {std::exp(sum / weights), nullptr};
}

}  // namespace ddpx
