// Constants of one walk over a step, moved by a shift, and the walk's state. For the walk alone.
#pragma once

#include <optional>
#include <string_view>

#include "model/step.hpp"

namespace ddpx {

struct StepModel::Context {
  const StepModel& model;
  const Shift& shift;
  Timeline* timeline;
  double clock;      // compute time over the calibrated (short-run) time
  double copy_rate;  // seconds per byte of memory traffic
  // The same of what a layer does between its products.
  double forward_rate;
  double backward_rate;
  double gap;
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

  Context(const StepModel& m, const Shift& s, double clock_factor, Timeline* t);

  [[nodiscard]] double product(const Work& work) const;
  [[nodiscard]] double backward(const Shape& shape) const;
  [[nodiscard]] double traffic(double bytes, int kernels) const;
  // What a layer does between its products, and kernels whose own times are known.
  [[nodiscard]] double between_forward(const Shape& shape) const;
  [[nodiscard]] double between_backward(const Shape& shape) const;
  [[nodiscard]] double optimizer() const;
  // Of collective `i` with the link busy before.
  [[nodiscard]] double collective(std::size_t i) const;
  // Of collective `i` after the link has been idle for `idle`; uses up what that saved.
  [[nodiscard]] double collective_after(double idle, std::size_t i);
  // Share of the memory bandwidth that collective `i` takes while it runs for `seconds`: measured,
  // or by the rate it reaches itself, which for a short message is far below the link's.
  [[nodiscard]] double memory_share(std::size_t i, double seconds) const;
  void span(Stream stream, std::string_view what, std::size_t index, double start,
            double end) const;

 private:
  void share_core(const std::optional<SharedCore>& core);
};

}  // namespace ddpx
