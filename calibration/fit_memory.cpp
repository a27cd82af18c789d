#include "calibration/fit_memory.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibration/fit_links.hpp"
#include "calibration/timed_steps.hpp"
#include "model/error.hpp"

namespace ddpx {
namespace {

constexpr double kMemoryFloor = 0.015;  // a fresh process moves a copy by 1-2 %

bool is_of(const OptimizerSample& sample, std::optional<Optimizer> optimizer) {
  return !optimizer || sample.step.optimizer == *optimizer;
}

// Whose updates give the optimizer bandwidth (nullopt: all), and whether AdamW's give one of their
// own. Where one optimizer alone was measured it stands for both.
struct Told {
  std::optional<Optimizer> usual;
  bool adamw = false;
};

Told told_apart(const Measurements& measurements) {
  const auto has = [&](Optimizer optimizer) {
    return std::any_of(measurements.optimizers.begin(), measurements.optimizers.end(),
                       [&](const OptimizerSample& sample) { return is_of(sample, optimizer); });
  };
  if (has(Optimizer::sgd) && has(Optimizer::adamw)) return {Optimizer::sgd, true};
  return {};
}

// On a GPU a memory-bound kernel takes gap + traffic/bandwidth, whatever its size.
void fit_memory_kernels(const Measurements& measurements, Machine& machine) {
  const auto add = [](std::vector<CurvePoint>& points, Bytes traffic,
                      const std::vector<double>& seconds) {
    points.push_back({traffic, Seconds(summarise(seconds, 0).median), false, ""});
  };
  const auto line = [](std::vector<CurvePoint>& points) {
    std::sort(points.begin(), points.end(),
              [](const CurvePoint& a, const CurvePoint& b) { return a.bytes < b.bytes; });
    return line_through(points);
  };
  std::vector<CurvePoint> copies;
  for (const CopySample& sample : measurements.copies)
    add(copies, 2 * sample.bytes, sample.seconds);
  if (copies.size() > 2) {
    const ProtocolLine fitted = line(copies);
    machine.copy_bandwidth = {fitted.bandwidth.value, kMemoryFloor,
                              "from copies of " + std::to_string(copies.size()) + " sizes"};
    machine.kernel_gap = {fitted.latency.value, 0.1, "what copies take beside their traffic"};
  }
  const auto fit_updates = [&](std::optional<Optimizer> optimizer, auto& estimate) {
    std::vector<CurvePoint> updates;
    for (const OptimizerSample& sample : measurements.optimizers) {
      if (is_of(sample, optimizer))
        add(updates, optimizer_traffic(sample.step.optimizer, sample.step.parameters),
            sample.seconds);
    }
    if (updates.size() < 3) return;
    estimate = {line(updates).bandwidth.value, kMemoryFloor,
                "from optimizer steps of " + std::to_string(updates.size()) + " sizes"};
  };
  const auto [usual, adamw] = told_apart(measurements);
  fit_updates(usual, machine.optimizer_bandwidth);
  if (adamw) fit_updates(Optimizer::adamw, *machine.adamw_bandwidth);
}

// A line through a pass's kernels, each layer's together; nullopt for fewer than three sizes. What
// it leaves open is the error: narrow layers give these kernels few blocks.
std::optional<Estimate<BytesPerSecond>> fit_between(const Measurements& measurements,
                                                    std::initializer_list<RowKernel> kernels,
                                                    const char* what) {
  std::map<std::pair<double, double>, std::vector<const ElementwiseSample*>> layers;
  for (const ElementwiseSample& sample : measurements.elementwise) {
    if (std::find(kernels.begin(), kernels.end(), sample.work.kernel) != kernels.end() &&
        sample.work.dtype == DType::fp32)
      layers[{sample.work.rows, sample.work.columns}].push_back(&sample);
  }
  std::vector<CurvePoint> points;
  for (const auto& [size, samples] : layers) {
    if (samples.size() != kernels.size()) continue;
    CurvePoint point;
    for (const ElementwiseSample* sample : samples) {
      point.bytes += sample->work.bytes();
      point.time += Seconds(summarise(sample->seconds, 0).median);
    }
    points.push_back(point);
  }
  if (points.size() < 3) return std::nullopt;
  std::sort(points.begin(), points.end(),
            [](const CurvePoint& a, const CurvePoint& b) { return a.bytes < b.bytes; });
  const ProtocolLine line = line_through(points);
  double squares = 0;
  for (const CurvePoint& point : points) {
    const double off = (line.latency.value + point.bytes / line.bandwidth.value) / point.time - 1;
    squares += off * off;
  }
  const double error = std::sqrt(squares / static_cast<double>(points.size()));
  return Estimate<BytesPerSecond>{
      line.bandwidth.value, std::max(kMemoryFloor, error),
      "from " + std::string(what) + " of " + std::to_string(points.size()) + " sizes"};
}

// What samples say of one bandwidth. Those that know the memory they went round give a point each,
// and the largest is the memory's own; others are taken together.
struct MemoryFit {
  std::vector<double> seconds_per_byte;  // samples without a working set
  std::map<double, std::vector<double>> by_working_set;

  void add(Bytes traffic, Bytes working_set, const std::vector<double>& seconds) {
    std::vector<double>& to =
        working_set.value() > 0 ? by_working_set[working_set.value()] : seconds_per_byte;
    for (double s : seconds) to.push_back(s / traffic.value());
  }

  void give(Estimate<BytesPerSecond>& estimate, std::vector<MemoryPoint>& points,
            const std::string& what) const {
    for (const auto& [bytes, rates] : by_working_set)
      points.push_back({Bytes(bytes), BytesPerSecond(1 / summarise(rates, 0).median)});
    const std::vector<double>& own =
        by_working_set.empty() ? seconds_per_byte : by_working_set.rbegin()->second;
    if (own.empty()) return;
    const SampleSummary per_byte = summarise(own, kMemoryFloor);
    estimate = {BytesPerSecond(1 / per_byte.median), per_byte.relative_error,
                "from " + std::to_string(own.size()) + " " + what};
  }
};

}  // namespace

void fit_memory(const Measurements& measurements, const FitOptions& options, Machine& machine) {
  MemoryFit copies;
  for (const CopySample& sample : measurements.copies)
    copies.add(2 * sample.bytes, sample.working_set, sample.seconds);
  copies.give(machine.copy_bandwidth, machine.copy_points, "copies");
  const auto fit_updates = [&](std::optional<Optimizer> optimizer, auto& estimate, auto& points) {
    MemoryFit updates;
    for (const OptimizerSample& sample : measurements.optimizers) {
      if (is_of(sample, optimizer))
        updates.add(optimizer_traffic(sample.step.optimizer, sample.step.parameters),
                    sample.working_set, sample.seconds);
    }
    updates.give(estimate, points, "optimizer steps");
  };
  const auto [usual, adamw] = told_apart(measurements);
  fit_updates(usual, machine.optimizer_bandwidth, machine.optimizer_points);
  if (adamw) {
    machine.adamw_bandwidth.emplace();
    fit_updates(Optimizer::adamw, *machine.adamw_bandwidth, machine.adamw_points);
  }
  std::vector<double> launches;
  for (const LaunchSample& sample : measurements.launches)
    launches.insert(launches.end(), sample.seconds.begin(), sample.seconds.end());
  if (!launches.empty()) {
    const SampleSummary launch = summarise(launches, kMemoryFloor);
    machine.kernel_gap = {Seconds(launch.median), launch.relative_error,
                          "from " + std::to_string(launches.size()) + " launches"};
  }
  if (machine.device.multiprocessors > 0) {
    fit_memory_kernels(measurements, machine);
    const auto forward =
        fit_between(measurements, {RowKernel::bias_relu}, "biases and activations");
    const auto backward =
        fit_between(measurements, {RowKernel::relu_gradient, RowKernel::bias_gradient},
                    "gradients of activations and biases");
    if (forward && backward) {
      machine.forward_bandwidth = forward;
      machine.backward_bandwidth = backward;
    }
  }
  for (const auto* bandwidth : {&machine.copy_bandwidth, &machine.optimizer_bandwidth}) {
    if (bandwidth->value.value() > 0) continue;
    throw InputError(options.place, std::string("have neither samples nor a prior for ") +
                                        (bandwidth == &machine.copy_bandwidth
                                             ? "copy_bandwidth_bytes_per_s"
                                             : "optimizer_bandwidth_bytes_per_s"));
  }
}

}  // namespace ddpx
