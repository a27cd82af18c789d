// What the machine's own timings of whole one-GPU steps say of compute beyond its parts.
//
// A step that was timed is what speedup is measured against. Where it takes r times as long as the
// model has it, it is either the work that does (a kernel, a cache), and then on each of several
// GPUs as well, or it was that run (heat, other clocks). Nobody timed which: on several GPUs any
// factor between 1 and r is as likely. What makes one width slow fades with the distance from it
// rather than ending there, so r is carried to other sizes and batches of the same generator:
//
//   ln r = sum(w_i ln r_i) / (sum(w_i) + w_0),  w_i = 1 / d_i^4,  w_0 = 1 / 2^4
//
// with d_i the distance in doublings, as products carry their rates (machine.hpp), and nothing
// known two doublings away as likely as what the nearest step says.
#pragma once

#include "model/machine.hpp"
#include "model/network.hpp"
#include "model/strategy.hpp"

namespace ddpx {

struct WorkScale {
  double factor = 1;                       // r: forward, backward and optimizer over the model's
  const MeasuredStep* measured = nullptr;  // of exactly that job's one-GPU step

  // The same on several GPUs: the mean of a logarithm between 0 and ln r, its root.
  [[nodiscard]] double shared() const;
  // One standard error, in logarithms, where it was not timed: a uniform distribution's, its width
  // over the root of 12.
  [[nodiscard]] double error() const;
};

// For the work of one rank of `job`. A step that the host bounds says nothing of the device's.
[[nodiscard]] WorkScale work_scale(const Machine& machine, const ProductTable& products,
                                   const Network& network, const Job& job);

}  // namespace ddpx
