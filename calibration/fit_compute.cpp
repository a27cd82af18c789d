#include "calibration/fit_compute.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "calibration/fit_gap.hpp"
#include "calibration/fit_host.hpp"
#include "calibration/fit_kernels.hpp"
#include "calibration/kernel_tiles.hpp"
#include "calibration/timed_steps.hpp"
#include "model/error.hpp"
#include "model/tiles.hpp"
#include "profiler/plan.hpp"

namespace ddpx {
namespace {

constexpr double kProductFloor = 0.005;  // kernel times of one process repeat to half a per cent
constexpr double kBusy = 0.90;  // a step is bound by the device from this share on (docs/model.md)
constexpr double kIdle = 0.75;  // ... by the host where kernels take no more; between, by neither
constexpr double kFollowsFlops =
    0.10;  // ... or, without kernel times, when its rate is that close to its neighbour's
constexpr double kHostLevel =
    1.25;  // a step this close to the fastest of all is taken to be bound by the host

// Products of a network at one rate, as points of the table.
void add_points(const TimedStep& step, Machine& machine) {
  for (const Layer& layer : step.network.layers) {
    for (const LayerProduct& p : layer.products) {
      for (Pass pass : {Pass::forward, Pass::data_gradient, Pass::weight_gradient}) {
        const Product product{pass, step.sample->dtype, p.rows_per_sample * step.sample->batch,
                              p.in, p.out};
        const bool known = std::any_of(
            machine.products.begin(), machine.products.end(), [&](const ProductPoint& q) {
              return q.product.pass == pass && q.product.dtype == product.dtype &&
                     q.product.rows == product.rows && q.product.in == product.in &&
                     q.product.out == product.out;
            });
        if (known) continue;
        const Seconds time(step.seconds_per_flop * product.flops().value());
        machine.products.push_back(
            {product,
             {time, step.time.relative_error, "rate of a whole one-GPU step"},
             std::nullopt});
      }
    }
  }
}

// Everything in the step but its products: the step of a machine whose products take next to no
// time.
double overhead_seconds(const Machine& machine, const TimedStep& step) {
  Machine bare = machine;
  TimedStep instant = step;
  instant.seconds_per_flop = 1e-30;
  bare.products.clear();
  add_points(instant, bare);
  return device_step(bare, *step.sample, step.network).total().value();
}

// With no product timed alone: a step follows the flops of its neighbours, or the host, or neither
// (then it is dropped).
void fit_rates_from_steps(std::vector<TimedStep>& steps, Machine& machine, FitReport& report) {
  double fastest = steps.front().time.median;
  for (TimedStep& step : steps) {
    fastest = std::min(fastest, step.time.median);
    const double overhead = overhead_seconds(machine, step);
    step.seconds_per_flop = std::max(0.0, step.time.median - overhead) / step.flops;
  }
  const TimedStep* neighbour = nullptr;
  for (TimedStep& step : steps) {
    const double off = neighbour ? step.seconds_per_flop / neighbour->seconds_per_flop - 1.0 : 0.0;
    if (std::abs(off) <= kFollowsFlops && step.seconds_per_flop > 0) {
      step.device_bound = true;
      neighbour = &step;
      add_points(step, machine);
    } else if (step.time.median > kHostLevel * fastest) {
      char reason[160];
      std::snprintf(reason, sizeof reason,
                    "its rate is %.0f %% off its neighbour's and it is not at the host's "
                    "level (%.2f ms)",
                    100 * off, 1e3 * fastest);
      report.residuals.push_back(
          {describe(*step.sample), step.time.median, step.time.median, true, reason});
      step.flops = 0;  // neither device nor host
    }
  }
}

// A device-bound step as measured and as its parts say, every part over the measured time:
// measured = rest + factor x compute + kernels x gap.
struct Closing {
  double compute;
  double kernels;  // per second of gap
  double missing;  // 1 - rest - compute: what factor - 1 and the gap have to explain
};

// The gap that explains most of what the steps of each dtype leave when the dtype's own factor is
// taken out (least squares). nullopt where the steps cannot tell the two apart.
std::optional<double> gap_between(const std::map<DType, std::vector<Closing>>& closings) {
  double xx = 0;
  double xy = 0;
  for (const auto& [dtype, steps] : closings) {
    double cc = 0;
    double ck = 0;
    double cm = 0;
    for (const Closing& step : steps) {
      cc += step.compute * step.compute;
      ck += step.compute * step.kernels;
      cm += step.compute * step.missing;
    }
    for (const Closing& step : steps) {
      const double kernels = step.kernels - step.compute * ck / cc;
      xx += kernels * kernels;
      xy += kernels * (step.missing - step.compute * cm / cc);
    }
  }
  constexpr double kTold = 1e-6;  // of a gap of a second: steps of one size alone
  if (!(xx > kTold)) return std::nullopt;
  return xy / xx;
}

void drop_mixed(TimedStep& step, double total, FitReport& report) {
  char reason[120];
  std::snprintf(reason, sizeof reason,
                "its parts take %.0f %% of it: bound by neither the device nor the host",
                100 * total / step.time.median);
  report.residuals.push_back({describe(*step.sample), step.time.median, total, true, reason});
  step.flops = 0;
}

// All that is known of a dtype's products. What their kernels cost is linear in their times, so
// that the costs fitted before are, scaled alike, those of the scaled times, and errors are what
// they were.
void scale_products(Machine& machine, DType dtype, double factor) {
  for (ProductPoint& point : machine.products) {
    if (point.product.dtype == dtype) point.time.value *= factor;
  }
  for (KernelCosts& costs : machine.kernel_costs) {
    if (costs.dtype != dtype) continue;
    const auto scale = [&](KernelParts& parts) {
      for (double& seconds : parts) seconds *= factor;
    };
    scale(costs.seconds);
    for (GenerationCosts& own : costs.generations) scale(own.seconds);
  }
}

// With products timed alone: how much longer device-bound steps take than their parts say. The
// factor goes into every product of that dtype.
void close_products(std::vector<TimedStep>& steps, Machine& machine, FitReport& report) {
  std::map<DType, std::vector<Closing>> closings;
  Machine gapless = machine;
  gapless.kernel_gap.value = Seconds{};
  const double copies_gap = machine.kernel_gap.value.value();
  std::size_t bound = 0;
  for (TimedStep& step : steps) {
    const double total = device_step(machine, *step.sample, step.network).total().value();
    const Step device = device_step(gapless, *step.sample, step.network);
    // The host stretches gaps, not kernels: where these leave the device idle, it is the host.
    if (device.total().value() <= kIdle * step.time.median) continue;
    if (total < kBusy * step.time.median) {
      drop_mixed(step, total, report);
      continue;
    }
    step.device_bound = true;
    const double kernels = copies_gap > 0 ? (total - device.total().value()) / copies_gap : 0;
    const double measured = step.time.median;
    closings[step.sample->dtype].push_back({compute_seconds(device) / measured, kernels / measured,
                                            1 - device.total().value() / measured});
    ++bound;
  }
  double gap = copies_gap;
  if (machine.device.multiprocessors > 0 && bound > closings.size() + 1) {
    if (const auto fitted = gap_between(closings)) {
      gap = std::clamp(*fitted, 0.0, copies_gap);
      machine.kernel_gap = {Seconds(gap), machine.kernel_gap.relative_error,
                            "from " + std::to_string(bound) + " device-bound one-GPU steps"};
    }
  }
  for (const auto& [dtype, closing] : closings) {
    double sum = 0;
    for (const Closing& step : closing)
      sum += 1.0 + (step.missing - step.kernels * gap) / step.compute;
    const double factor = sum / static_cast<double>(closing.size());
    scale_products(machine, dtype, factor);
    char note[160];
    std::snprintf(note, sizeof note,
                  "%s products take %.3f of their time alone inside a step (from %zu device-bound "
                  "one-GPU step%s)",
                  std::string(name(dtype)).c_str(), factor, closing.size(),
                  closing.size() == 1 ? "" : "s");
    report.notes.emplace_back(note);
  }
}

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
  for (const ProductSample& sample : measurements.products) {
    const SampleSummary time = summarise(sample.seconds, kProductFloor);
    ProductPoint point{
        sample.product, {Seconds(time.median), time.relative_error, "kernel times"}, std::nullopt};
    if (sample.kernel) {
      const KernelRecord& k = *sample.kernel;
      const std::optional<double> working = working_blocks(k, sample.product);
      if (!working) report.residuals.push_back(misfit(k, sample.product, time.median));
      point.grid = {
          working.value_or(k.blocks),
          static_cast<double>(resident_blocks(k.threads, k.registers_per_thread, k.shared_bytes,
                                              machine.device.compute_capability)),
          k.persistent, working ? tile_of(k.name) : OutputTile{}};
      point.grid->tiles = tiles_of(point.grid->tile, sample.product);
      point.grid->generation = generation_of(k.name);
    }
    machine.products.push_back(std::move(point));
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
