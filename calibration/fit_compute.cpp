#include "calibration/fit_compute.hpp"

#include <algorithm>
#include <map>

#include "calibration/fit_gap.hpp"
#include "calibration/fit_host.hpp"
#include "calibration/fit_kernels.hpp"
#include "calibration/kernel_tiles.hpp"
#include "calibration/recorded_products.hpp"
#include "calibration/step_products.hpp"
#include "calibration/timed_steps.hpp"
#include "model/error.hpp"
#include "model/tiles.hpp"
#include "profiler/plan.hpp"

namespace ddpx {
namespace {

// Whole steps stay in the machine as they are: the yardstick of speedup for exactly that job,
// whether or not a rate was taken from them.
void keep_one_gpu_steps(const std::vector<TimedStep>& steps, Machine& machine) {
  std::map<std::string, std::vector<double>> times;
  std::map<std::string, const TimedStep*> first;
  for (const TimedStep& step : steps) {
    if (step.sample->micro_batches != 1) continue;
    const std::string key = describe(*step.sample) + std::string(name(step.sample->optimizer)) +
                            std::string(name(step.sample->engine));
    times[key].push_back(step.time.median);
    first.emplace(key, &step);
  }
  for (const auto& [key, step] : first) {
    const SampleSummary time = summarise(times[key], kStepFloor);
    machine.one_gpu_steps.push_back(
        {step->network.name,
         step->sample->batch,
         step->sample->dtype,
         step->sample->optimizer,
         step->sample->engine,
         {Seconds(time.median), std::max(time.relative_error, step->time.relative_error),
          "measured"}});
  }
}

// A kernel whose tile is not what its name says, or whose blocks are not its tiles': its time is
// one of its product's, its grid nothing to carry to other shapes.
Residual misfit(const KernelRecord& kernel, const Product& product, double seconds) {
  const OutputTile tile = tile_of(kernel.name);
  char what[160];
  std::snprintf(what, sizeof what, "%s, %.0f blocks for %.0f tiles of %dx%d",
                describe(Work(Operation(product))).c_str(), kernel.blocks, tiles_of(tile, product),
                tile.contiguous, tile.across);
  return {
      what, seconds, seconds, true,
      "the grid is no whole number of the tiles in its kernel's name: not among the kernels that "
      "other shapes are priced by"};
}

void fit_sustained(const Measurements& measurements, const FitOptions& options, Machine& machine,
                   FitReport& report) {
  std::vector<double> factors;
  for (const TimedStep& step : timed_steps(measurements, options, Clocks::sustained)) {
    const Step device = device_step(machine, *step.sample, step.network);
    // Only products follow the clock; the optimizer and adding gradients follow memory.
    const double products = compute_seconds(device) * step.sample->micro_batches;
    const double rest = device.total().value() - products;
    factors.push_back((step.time.median - rest) / products);
    report.residuals.push_back({describe(*step.sample), step.time.median, device.total().value(),
                                false, "at burst clocks"});
  }
  if (factors.empty()) return;
  const SampleSummary factor = summarise(factors, 0.02);
  machine.sustained = {factor.median, factor.relative_error,
                       "from " + std::to_string(factors.size()) + " sustained steps"};
}

}  // namespace

void fit_compute(const Measurements& measurements, const FitOptions& options, Machine& machine,
                 FitReport& report) {
  const RecordedProducts records(measurements);
  std::size_t without_scale = 0;
  for (const ProductSample& sample : measurements.products) {
    const std::optional<Estimate<Seconds>> time = records.time_of(sample);
    if (!time) {
      ++without_scale;
      continue;
    }
    ProductPoint point{sample.product, *time, std::nullopt};
    if (sample.kernel) {
      const KernelRecord& k = *sample.kernel;
      if (!working_blocks(k, sample.product))
        report.residuals.push_back(misfit(k, sample.product, time->value.value()));
      point.grid = grid_of(k, sample.product, machine.device.compute_capability);
    }
    machine.products.push_back(std::move(point));
  }
  if (without_scale > 0) {
    const std::string what =
        std::to_string(without_scale) +
        " products have kernel records alone, which take six and more of their dtype that were "
        "timed as well and go with their records";
    if (machine.products.empty() && measurements.steps.empty())
      throw InputError(options.place, "have no product that was timed: " + what);
    report.notes.push_back(what + ": not used");
  }
  fit_kernels(machine);
  std::vector<TimedStep> steps = timed_steps(measurements, options, Clocks::burst);
  if (machine.products.empty() && steps.empty()) {
    throw InputError(
        options.place,
        "have neither products nor one-GPU steps, so compute cannot be fitted; add one of them");
  }
  if (!steps.empty()) {
    if (measurements.products.empty()) {
      fit_rates_from_steps(steps, machine, report);
    } else {
      close_products(steps, machine, report);
    }
    if (machine.device.multiprocessors > 0 && !measurements.copies.empty())
      lengthen_gap(measurements, machine);
    for (const TimedStep& step : steps) {
      if (!step.device_bound) continue;
      const double fitted = device_step(machine, *step.sample, step.network).total().value();
      report.residuals.push_back({describe(*step.sample), step.time.median, fitted, false, ""});
    }
    fit_host(steps, machine, report);
    keep_one_gpu_steps(steps, machine);
  }
  fit_sustained(measurements, options, machine, report);
}

}  // namespace ddpx
