#include "calibration/step_products.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <string>

namespace ddpx {
namespace {

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

}  // namespace

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

}  // namespace ddpx
