// From the rank count a collective was measured on to another. A curve of one count is never used
// for another as it is: the model below carries it over, with an error of its own by topology.
//
//   large messages:  (steps + local_chunks) / N x bytes over the bandwidth, so that bus bandwidth
//                    rises with the count where GPUs have links of their own, and falls by
//                    `per_doubling` where they share a root complex
//   small messages:  base_share of an all-reduce's two-rank latency once, half the rest per step,
//                    whatever the collective
//   between:         the cube root of the sum of cubes (less what both count twice), because
//                    protocols change and hide one of two latencies
//
// Fitted on public tables at 2, 4 and 8 GPUs of one machine; docs/results/links.md judges every
// machine by constants fitted on the others.
#pragma once

#include "model/operation.hpp"

namespace ddpx {

enum class Topology;

struct CarryOver {
  // Share of an all-reduce's two-rank latency that is paid once, whatever the number of steps.
  double base_share = 0;
  // What a rank copies for itself, in chunks that cost as much as a step.
  double local_chunks = 0;
  double per_doubling = 1;
  // Standard errors, in logarithms: of every count, where latency and protocol decide, and per
  // doubling of the count.
  double error = 0;
  double protocol_error = 0;
  double error_per_doubling = 0;
  // The smallest all-reduce on two ranks where none was measured, and one standard error in
  // logarithms.
  Seconds pair_latency{};
  double pair_error = 0;
  // No single host joins more GPUs by such a link.
  int most_ranks = 0;
  // Between nodes a tree's levels bound the steps.
  bool tree = false;
};

// `peak`: of the link, one direction; it tells the generation of an NVLink.
[[nodiscard]] const CarryOver& carry_over(Topology topology, BytesPerSecond peak = {});

// Messages in a row a ring needs: 2(N-1) for all-reduce, N-1 for the others.
[[nodiscard]] int ring_steps(Collective kind, int ranks);

// A collective on a rank count.
struct Count {
  Collective kind = Collective::all_reduce;
  int ranks = 2;
};

// Bytes on `from` that take as long to move as one byte on `to`, and the smallest message's time on
// `to` over that on `from`.
[[nodiscard]] double carried_volume(const CarryOver& carry, const Count& from, const Count& to);
[[nodiscard]] double carried_latency(const CarryOver& carry, const Count& from, const Count& to);

struct CarriedTime {
  Seconds time{};
  double relative_error = 0;
};
// `latency`: of the smallest message on `from`. `moved`: of carried_volume() x bytes on `from`.
[[nodiscard]] CarriedTime carried_time(const CarryOver& carry, const Count& from, const Count& to,
                                       Seconds latency, Seconds moved);

}  // namespace ddpx
