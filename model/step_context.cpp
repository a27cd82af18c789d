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
// PyTorch's copy from 16 to 32 bits is a kernel that is not vectorised, with 0.44 of a copy's rate:
// 226 MB in 110 us from fp16 on two H200; from bf16 another H200 had 0.42 and 0.41
// (docs/results/torch-h200x2.md).
constexpr double kWideningRate = 0.44;
// A burst, too, takes some time to cross the link.
constexpr double kMostSaved = 0.9;

// In bytes per second, moved by `z` standard errors.
double bandwidth(const Estimate<BytesPerSecond>& usual, std::span<const MemoryPoint> points,
                 Bytes working_set, double z) {
  const double here = bandwidth_at(points, working_set, usual.value) / usual.value;
  return here * usual.shifted(z).value();
}

// Seconds per byte. What the native engine's kernels reach says nothing of PyTorch's.
double rate_between(const std::optional<Estimate<BytesPerSecond>>& measured, Engine engine,
                    double z, double usual) {
  return measured && engine == Engine::native ? 1.0 / measured->shifted(z).value() : usual;
}

}  // namespace

StepModel::Context::Context(const StepModel& m, const Shift& s, const Walk& walk, Timeline* t)
    : model(m),
      shift(s),
      timeline(t),
      clock(walk.clock),
      scale(walk.scale),
      exchange(walk.exchange),
      copy_rate(1.0 / bandwidth(m.machine_.copy_bandwidth, m.machine_.copy_points, m.working_set_,
                                s.of(Source::memory))),
      forward_rate(rate_between(m.machine_.forward_bandwidth, m.job_.engine, s.of(Source::memory),
                                copy_rate)),
      backward_rate(rate_between(m.machine_.backward_bandwidth, m.job_.engine, s.of(Source::memory),
                                 copy_rate)),
      widening_rate(m.job_.engine == Engine::torch && m.machine_.device.multiprocessors > 0
                        ? copy_rate / kWideningRate
                        : copy_rate),
      gap(std::max(0.0, m.machine_.kernel_gap.shifted(s.of(Source::compute)).value())),
      collective_traffic(kCollectiveTraffic *
                         std::max(0.0, 1.0 + kCollectiveTrafficError * s.of(Source::contention)) /
                         m.machine_.copy_bandwidth.value.value()),
      link_z(s.of(Source::link)),
      collective_slowdown(std::max(1.0, m.link_->beside_compute.shifted(s.of(Source::contention)))),
      beside_memory(std::max(0.0, m.link_->beside_memory.shifted(s.of(Source::contention)))),
      beside_flops(std::max(0.0, m.link_->beside_flops.shifted(s.of(Source::contention)))),
      // A kernel may leave room from its beginning or none until its end: the interval spans both.
      room_in_unknown(
          std::clamp(0.5 + 0.5 * s.of(Source::contention) / kNormalQuantile90, 0.0, 1.0)),
      burst(m.link_->burst.value.value()) {
  if (m.job_.gpus > 1 && m.job_.strategy.sync && walk.exchange)
    longer = m.machine_.longer_gap_of(m.job_.engine, s.of(Source::contention)).value();
  if (m.python_hook() && m.machine_.hook_gap)
    longer += std::max(0.0, m.machine_.hook_gap->shifted(s.of(Source::hook)).value());
  if (m.machine_.device.multiprocessors > 0 && m.channels_ > 0) {
    // Unknown grid: the point is the share of multiprocessors lost; the interval spans from
    // untouched to the worst wave.
    const double even = fluid_slowdown(m.machine_.device.multiprocessors, m.channels_);
    const double z = std::clamp(s.of(Source::contention) / kNormalQuantile90, -1.0, 1.0);
    fluid =
        z >= 0 ? even + z * (std::max(even, kWorstWaveSlowdown) - even) : even + z * (even - 1.0);
  }
  if (m.machine_.device.multiprocessors == 0)
    share_core(m.link_->shared_core ? m.link_->shared_core : m.machine_.shared_core);
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

double StepModel::Context::products(const Way& way) const {
  double seconds = 0;
  for (const Work& work : way.products) seconds += product(work) + longer_gaps(work);
  return seconds;
}

double StepModel::Context::forward(const Shape& shape) const {
  return between_forward(shape.forward) + products(shape.forward);
}

double StepModel::Context::backward(const Shape& shape) const {
  return between_backward(shape.backward) + products(shape.backward);
}

double StepModel::Context::optimizer() const {
  const Job& job = model.job_;
  const double share = scale / job.strategy.shards(job.gpus);
  const auto& captured = model.network_.captured;
  if (captured && captured->optimizer == job.optimizer)
    return captured->optimizer_time.value() * share;
  return optimizer_traffic(job.optimizer, model.parameters_).value() * share /
             bandwidth(model.machine_.update_bandwidth(job.optimizer),
                       model.machine_.update_points(job.optimizer), model.working_set_,
                       shift.of(Source::memory)) +
         scaled_traffic(0, 1);
}

double StepModel::Context::collective(std::size_t i) const {
  const Exchange& c = model.collectives_[i];
  // The same factor either way: a curve that is unsure by more than itself never gets free.
  const double moved = 1.0 + std::abs(link_z) * c.relative_error;
  const double seconds = link_z >= 0 ? c.time * moved : std::max(c.least, c.time / moved);
  // The next all-reduce finds no room before the cast of this one has ended.
  if (!model.python_hook() || i >= model.buckets_.size()) return seconds;
  return seconds + handover() +
         kDecompressBytes / kGradientBytes * c.gradient.value() * copy_rate / kWideningRate;
}

// Measured beside copies: the collective moves at most what it moved there, which has cost the
// copies their share.
MemoryTaken StepModel::Context::taken_by(const BesideCopies& measured, double rate) const {
  const double z = shift.of(Source::contention);
  const double asked =
      std::max(1.0, measured.collective.shifted(z)) * (rate / measured.rate.value());
  const double most = 1.0 - 1.0 / std::max(1.0, measured.copy.shifted(z));
  MemoryTaken taken;
  taken.stretch = std::max(1.0, asked);
  taken.speed = 1.0 / taken.stretch;
  taken.share = most * std::min(1.0, asked);
  taken.work_stretch = 1.0 / (1.0 - taken.share);
  return taken;
}

MemoryTaken StepModel::Context::memory_taken(std::size_t i, double seconds) const {
  const double multiprocessors = model.machine_.device.multiprocessors;
  const Exchange& c = model.collectives_[i];
  const double bus_bytes = c.message.value() * bus_factor(c.kind, c.ranks);
  if (const auto& copies = model.link_of(c).beside_copies; copies && seconds > 0)
    return taken_by(*copies, bus_bytes / seconds);
  const auto& measured = model.machine_.memory_beside;
  // What a core gives to the collective its memory-bound work loses as its products do.
  if (!measured && multiprocessors == 0) return {1.0 - 1.0 / fluid, 1.0, fluid, 1.0};
  double asked = 0;
  double most = 1;
  if (measured) {
    asked = measured->shifted(shift.of(Source::contention)) - 1.0;
  } else if (seconds > 0) {
    asked = std::min(1.0, collective_traffic * bus_bytes / seconds);
    most = std::min<double>(model.channels_, multiprocessors - 1) / multiprocessors;
  }
  // The work asks for all of the memory; each gets its part of what both ask for.
  const double share = std::min(most, asked / (1.0 + asked));
  if (!(share > 0)) return {};
  return {share, share / asked, 1.0 / (1.0 - share), asked / share};
}

double StepModel::Context::collective_after(double idle, std::size_t i) {
  const double sustained = collective(i);
  credit = std::min(burst, credit + std::max(0.0, idle));
  const double saved = std::min(credit, kMostSaved * sustained);
  credit -= saved;
  return sustained - saved;
}

void StepModel::Context::draw(Stream stream, std::string_view what, std::size_t index, double start,
                              double end) const {
  timeline->spans.push_back(
      {std::string(what) + " " + std::to_string(index), stream, Seconds(start), Seconds(end)});
}

}  // namespace ddpx
