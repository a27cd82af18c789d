// One run of a step's walk: the constants moved by the shift, and where the walk stands. Of
// step_walk.cpp alone; see step.hpp for the terms.
#pragma once

#include <algorithm>
#include <cmath>
#include <string_view>

#include "model/step.hpp"

namespace ddpx {

struct StepModel::Context {
  const StepModel& model;
  const Shift& shift;
  Timeline* timeline;
  double clock;      // compute time over the calibrated (short-run) time
  double copy_rate;  // seconds per byte of memory traffic
  double gap;
  double memory_slowdown;
  double fluid;  // slowdown of a product whose grid is unknown
  double link_z;
  double collective_slowdown;
  double collective_delay = 0;  // of each collective that products run beside
  double now = 0;

  Context(const StepModel& m, const Shift& s, double clock_factor, Timeline* t);

  [[nodiscard]] double product(const Work& work) const {
    const double moved = 1.0 + shift.of(Source::compute) * work.variance_weight;
    return work.seconds * std::max(0.05, moved) * clock;
  }
  [[nodiscard]] double traffic(double bytes, int kernels) const {
    return bytes * copy_rate + kernels * gap;
  }
  [[nodiscard]] double collective(std::size_t i) const {
    const Collected& c = model.collectives_[i];
    // The same factor either way: a curve that is unsure by more than itself never gets free.
    const double moved = 1.0 + std::abs(link_z) * c.relative_error;
    return link_z >= 0 ? c.time * moved : c.time / moved;
  }
  void span(Stream stream, std::string_view what, std::size_t index, double start,
            double end) const;

 private:
  void share_core(const std::optional<SharedCore>& core);
  // Share of the memory bandwidth that a collective takes while it runs: measured, or its traffic
  // per byte on the bus.
  static double memory_share(const StepModel& m, const Shift& s);
};

}  // namespace ddpx
