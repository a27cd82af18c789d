// Constants of one walk over a step, moved by a shift, and the walk's state. For the walk alone.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

#include "model/step.hpp"

namespace ddpx {

// Bytes per parameter that a compression hook moves when a bucket comes back: 2 read, 4 written.
inline constexpr double kDecompressBytes = 6;

// What a collective takes of the memory beside work that wants all of it: a share of its bandwidth,
// and the collective's speed there over its speed alone.
struct MemoryTaken {
  double share = 0;
  double speed = 1;
  double work_stretch = 1;  // 1 / (1 - share)
  double stretch = 1;       // 1 / speed
};

struct StepModel::Context {
  const StepModel& model;
  const Shift& shift;
  Timeline* timeline;
  double clock;  // compute time over the calibrated (short-run) time
  double scale;  // the work over its parts (work_scale.hpp)
  bool exchange;
  double copy_rate;  // seconds per byte of memory traffic
  // The same of what a layer does between its products.
  double forward_rate;
  double backward_rate;
  // ... of casts from 16 to 32 bits.
  double widening_rate;
  double gap;                 // of the machine: of one GPU's step too
  double longer = 0;          // by which collectives and a Python hook lengthen every one
  double collective_traffic;  // seconds of memory traffic per byte that a collective has on the bus
  double fluid = 1.0;         // slowdown of a product whose grid is unknown
  double link_z;
  double collective_slowdown;
  double collective_delay = 0;  // of each collective that products run beside
  double beside_memory;         // of a collective, beside products: Link::beside_memory
  double beside_flops;          // Link::beside_flops
  // Share of a kernel of unknown grid for which a collective waits that comes while it runs.
  double room_in_unknown;
  double now = 0;
  double burst;       // link time that the link saves up while it is idle, at most
  double credit = 0;  // what it has saved up

  Context(const StepModel& m, const Shift& s, const Walk& walk, Timeline* t);

  [[nodiscard]] double product(const Work& work) const {
    const double moved = 1.0 + shift.of(Source::compute) * work.variance_weight;
    return work.seconds * std::max(0.05, moved) * clock * scale;
  }
  // A product was timed in a row of its like, so that its time has the gaps of its kernels; in a
  // step with collectives these are longer.
  [[nodiscard]] double longer_gaps(const Work& work) const { return work.kernels * longer; }
  [[nodiscard]] double forward(const Shape& shape) const;
  [[nodiscard]] double backward(const Shape& shape) const;
  [[nodiscard]] double traffic(double bytes, int kernels) const {
    return bytes * copy_rate + kernels * (gap + longer);
  }
  // The same of what one GPU's step has too, and its scale with it: what lengthens gaps it has not.
  [[nodiscard]] double scaled_traffic(double bytes, double kernels) const {
    return scale * (bytes * copy_rate + kernels * gap) + kernels * longer;
  }
  // From the end of work on one stream to the beginning of what waits for it on another: on GPUs
  // (two H200, events between streams) as long as from kernel to kernel, beside a collective 4.5
  // us.
  [[nodiscard]] double handover() const {
    return model.machine_.device.multiprocessors > 0 ? gap + longer : 0;
  }
  // What a layer does between its products, and kernels whose own times, gaps of one GPU and all,
  // are known.
  [[nodiscard]] double between_forward(const Way& way) const {
    return between(way, forward_rate, copy_rate);
  }
  [[nodiscard]] double between_backward(const Way& way) const {
    return between(way, backward_rate, widening_rate);
  }
  [[nodiscard]] double optimizer() const;
  // Of collective `i` with the link busy before; with a Python hook, and its bucket cast back.
  [[nodiscard]] double collective(std::size_t i) const;
  // Of collective `i` after the link has been idle for `idle`; uses up what that saved.
  [[nodiscard]] double collective_after(double idle, std::size_t i);
  // Of collective `i` that takes `seconds` alone: measured on its link, or on the machine, or by
  // the rate it reaches itself (for a short message far below the link's) up to the share of the
  // GPU that it holds.
  [[nodiscard]] MemoryTaken memory_taken(std::size_t i, double seconds) const;
  void span(Stream stream, std::string_view what, std::size_t index, double start,
            double end) const {
    if (timeline != nullptr && end > start) draw(stream, what, index, start, end);
  }

 private:
  [[nodiscard]] double between(const Way& way, double traffic_rate, double cast_rate) const {
    return scale * (way.traffic * traffic_rate + way.memory + way.casts * cast_rate) +
           scaled_traffic(0, way.kernels) + way.given * longer;
  }
  [[nodiscard]] double products(const Way& way) const;
  [[nodiscard]] MemoryTaken taken_by(const BesideCopies& measured, double rate) const;
  void draw(Stream stream, std::string_view what, std::size_t index, double start,
            double end) const;
  void share_core(const std::optional<SharedCore>& core);
};

}  // namespace ddpx
