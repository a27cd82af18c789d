#include "profiler/plan.hpp"

#include <algorithm>
#include <cmath>

#include "model/error.hpp"
#include "profiler/plan_grid.hpp"

namespace ddpx {
namespace {

// Beside its samples an operation costs preparing: fresh operands, a warm-up, waiting for the other
// ranks.
constexpr double kOverhead = 1.2;
constexpr Seconds kPreparing{0.01};
// The same of a product under kernel records, and how often it runs there.
constexpr Seconds kRecording{0.004};
constexpr double kRecordedRuns = 6;
// A sample that takes longer than this is left out: its fewest repeats alone would eat a quick
// budget, and whoever watches the ranks would take them for hung.
constexpr Seconds kLongestSample{3.0};

Seconds beside_estimate(const Rates& rates, const Beside& beside) {
  // Each visit runs both alone and both together, three products at least.
  return 2.0 * (3.0 * estimate(rates, beside.work) + 2.0 * estimate(rates, beside.call));
}

Seconds once(const Rates& rates, const Work& work) {
  if (const auto* beside = std::get_if<Beside>(&work)) return beside_estimate(rates, *beside);
  if (const auto* recorded = std::get_if<Recorded>(&work))
    return estimate(rates, recorded->product);
  return estimate(rates, std::get<Operation>(work));
}

// Time of the task: its fewest samples, or what the bound on time allows it.
Seconds task_seconds(const Rates& rates, const Task& task) {
  constexpr double kUsualSamples = 20;
  const Seconds each = once(rates, task.work);
  if (std::holds_alternative<Recorded>(task.work)) return kRecordedRuns * each + kRecording;
  const Seconds usual = std::min(task.stopping.time, kUsualSamples * each);
  const Seconds least = static_cast<double>(task.stopping.fewest) * each;
  return kOverhead * std::max(least, usual) + 2.0 * each + kPreparing;
}

// What takes long varies little, and its fewest samples alone would use up a budget.
int affordable(const Rates& rates, const Task& task) {
  constexpr int kFewest = 3;
  const double fitting = 2 * (task.stopping.time / once(rates, task.work));
  return std::clamp(static_cast<int>(std::min(fitting, 1e6)), kFewest, task.stopping.fewest);
}

bool supported(const Supports& supports, const Work& work) {
  if (const auto* beside = std::get_if<Beside>(&work))
    return supports(beside->work) && supports(beside->call);
  if (const auto* recorded = std::get_if<Recorded>(&work)) return supports(recorded->product);
  return supports(std::get<Operation>(work));
}

}  // namespace

std::string describe(const Work& work) {
  if (const auto* beside = std::get_if<Beside>(&work))
    return describe(beside->work) + " beside " + describe(Operation(beside->call));
  if (const auto* recorded = std::get_if<Recorded>(&work))
    return describe(Operation(recorded->product)) + ", recorded";
  return describe(std::get<Operation>(work));
}

Rates usual_rates() {
  return {FlopsPerSecond(40e9), BytesPerSecond(10e9), BytesPerSecond(2e9), Seconds(10e-6),
          "usual speeds of one core and shared memory"};
}

Seconds estimate(const Rates& rates, const Operation& operation) {
  struct Price {
    const Rates& rates;
    Seconds operator()(const Product& p) const { return p.flops() / rates.products; }
    Seconds operator()(const CollectiveCall& c) const {
      const Seconds time = rates.latency + bus_factor(c.kind, c.ranks) * (c.bytes / rates.bus);
      return c.rested ? 2.0 * time : time;
    }
    Seconds operator()(const Copy& c) const { return 2.0 * (c.bytes / rates.memory); }
    Seconds operator()(const OptimizerStep& o) const {
      return optimizer_traffic(o.optimizer, o.parameters) / rates.memory;
    }
    Seconds operator()(const Elementwise& e) const { return e.bytes() / rates.memory; }
    Seconds operator()(const Launch& /*unused*/) const { return Seconds(1e-6); }
  };
  return std::visit(Price{rates}, operation);
}

Rates first_look(Backend& backend) {
  constexpr int kRepeats = 3;
  const int ranks = backend.hardware().ranks;
  Rates rates = usual_rates();
  const auto fastest = [&](const Operation& operation) {
    const std::vector<double> seconds = backend.sample(operation, kRepeats);
    return Seconds(*std::min_element(seconds.begin(), seconds.end()));
  };
  // Large enough to be slow on what it runs on, and no slower.
  const bool gpu = backend.hardware().device.multiprocessors > 0;
  const double width = gpu ? 4096 : 512;
  const Product product{Pass::forward, DType::fp32, gpu ? 512.0 : 64.0, width, width};
  if (backend.supports(product)) rates.products = product.flops() / fastest(product);
  const Copy copy{kMiB * (gpu ? 64 : 4)};
  if (backend.supports(copy)) rates.memory = (copy.bytes * 2) / fastest(copy);
  const CollectiveCall small{Collective::all_reduce, DType::fp32, kKiB * 4, ranks};
  const CollectiveCall large{Collective::all_reduce, DType::fp32, kMiB * (gpu ? 32 : 2), ranks};
  if (ranks > 1 && backend.supports(small)) {
    rates.latency = fastest(small);
    rates.bus = (bus_factor(large.kind, ranks) * large.bytes) / fastest(large);
  }
  rates.origin = "a first look at this machine";
  return rates;
}

MeasurementPlan make_plan(const PlanOptions& options, int ranks, const Supports& supports,
                          const Rates& rates) {
  MeasurementPlan plan;
  plan.rates_origin = rates.origin;
  plan.budget = options.budget.value_or(standard_budget(options.effort));
  if (!(plan.budget.value() > 0) || !std::isfinite(plan.budget.value()))
    throw InputError("--budget", "must be a time above zero");
  std::vector<Task> tasks = full_grid(options, ranks, [&](const Work& work) {
    return supported(supports, work) && once(rates, work) <= kLongestSample;
  });
  if (tasks.empty()) {
    throw InputError("calibration plan",
                     "nothing that was asked for can be measured here: the device does not have "
                     "those dtypes, or one run of each takes seconds");
  }
  for (const DType dtype : options.compute ? options.dtypes : std::vector<DType>{}) {
    const bool there = std::any_of(tasks.begin(), tasks.end(), [&](const Task& task) {
      const auto* operation = std::get_if<Operation>(&task.work);
      const auto* product = operation ? std::get_if<Product>(operation) : nullptr;
      return product != nullptr && product->dtype == dtype;
    });
    if (!there) {
      throw InputError("--dtypes", "this device has no " + std::string(name(dtype)) +
                                       " products; leave it out, or give --only-link for "
                                       "collectives alone");
    }
  }
  for (Task& task : tasks) {
    task.stopping.fewest = affordable(rates, task);
    task.estimate = task_seconds(rates, task);
  }
  std::stable_sort(tasks.begin(), tasks.end(),
                   [](const Task& a, const Task& b) { return a.level < b.level; });
  for (const Task& task : tasks) {
    const bool fits = plan.estimate + task.estimate <= plan.budget;
    if (!fits && task.level > 0) {
      ++plan.left_out;
      continue;
    }
    plan.estimate += task.estimate;
    plan.tasks.push_back(task);
  }
  if (plan.estimate > plan.budget) {
    char problem[160];
    std::snprintf(problem, sizeof problem,
                  "%.3g s is too short: the coarsest calibration takes about %.3g s; give that, or "
                  "fewer --widths, --batches or --collectives",
                  plan.budget.value(), std::ceil(plan.estimate.value()));
    throw InputError("--budget", problem);
  }
  return plan;
}

}  // namespace ddpx
