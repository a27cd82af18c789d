#include "model/step_context.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace ddpx {
namespace {

// Memory traffic of a ring collective per byte of bus bandwidth: it reads what it sends, the peer's
// data is written here, and reducing reads it again.
constexpr double kCollectiveTraffic = 3;
constexpr double kCollectiveTrafficError = 0.3;
// A collective that shares the core with products gets at most its fair part of it, with some more
// for work done in the kernel.
constexpr double kMostOfCore = 0.6;

}  // namespace

StepModel::Context::Context(const StepModel& m, const Shift& s, double clock_factor, Timeline* t)
    : model(m),
      shift(s),
      timeline(t),
      clock(clock_factor),
      copy_rate(1.0 / m.machine_.copy_bandwidth.shifted(s.of(Source::memory)).value()),
      gap(m.machine_.kernel_gap.value.value()),
      memory_slowdown(1.0 + memory_share(m, s)),
      fluid(1.0),
      link_z(s.of(Source::link)),
      collective_slowdown(std::max(1.0, m.link_.beside_compute.shifted(s.of(Source::contention)))) {
  if (m.machine_.device.multiprocessors > 0 && m.channels_ > 0) {
    // Unknown grid: the point is the share of multiprocessors lost; the interval spans from
    // untouched to the worst wave.
    const double even = fluid_slowdown(m.machine_.device.multiprocessors, m.channels_);
    const double z = std::clamp(s.of(Source::contention) / kNormalQuantile90, -1.0, 1.0);
    fluid =
        z >= 0 ? even + z * (std::max(even, kWorstWaveSlowdown) - even) : even + z * (even - 1.0);
  }
  if (m.machine_.device.multiprocessors == 0)
    share_core(m.link_.shared_core ? m.link_.shared_core : m.machine_.shared_core);
}

// CPU ranks: what the collectives take of the core is spread over the time they run.
void StepModel::Context::share_core(const std::optional<SharedCore>& core) {
  if (!core) return;
  const double z = shift.of(Source::contention);
  collective_delay = core->delay.shifted(z).value();
  double bytes = 0;
  double time = 0;
  for (std::size_t b = 0; b < model.buckets_.size(); ++b) {
    bytes += model.buckets_[b].bytes.value();
    time += collective(b) * collective_slowdown + collective_delay;
  }
  const double half = model.job_.strategy.compression ? 0.5 : 1.0;
  if (time > 0)
    fluid = 1.0 /
            (1.0 - std::min(kMostOfCore, core->seconds_per_byte.shifted(z) * half * bytes / time));
}

double StepModel::Context::memory_share(const StepModel& m, const Shift& s) {
  if (m.machine_.memory_beside)
    return std::max(0.0, m.machine_.memory_beside->shifted(s.of(Source::contention)) - 1.0);
  const double share =
      kCollectiveTraffic * (m.link_.bus_bandwidth() / m.machine_.copy_bandwidth.value);
  return std::min(share * std::max(0.0, 1.0 + kCollectiveTrafficError * s.of(Source::contention)),
                  1.0);
}

void StepModel::Context::span(Stream stream, std::string_view what, std::size_t index, double start,
                              double end) const {
  if (timeline == nullptr || end <= start) return;
  timeline->spans.push_back(
      {std::string(what) + " " + std::to_string(index), stream, Seconds(start), Seconds(end)});
}

}  // namespace ddpx
