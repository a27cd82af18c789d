#include "model/carry_over.hpp"

#include <algorithm>
#include <cmath>

#include "model/link.hpp"

namespace ddpx {
namespace {

double steps_of(const CarryOver& carry, const Count& count) {
  const double ring = ring_steps(count.kind, count.ranks);
  if (!carry.tree || count.kind != Collective::all_reduce) return ring;
  return std::min(ring, 2.0 * std::ceil(std::log2(count.ranks)));
}

// Latency on `count`, in all-reduces of two ranks. NCCL counts it as a base and so much per step,
// the same for every collective (tuning.cc): of two ranks an all-reduce has two steps, the others
// one, so that the base is more of theirs. Inside a host NCCL's tree is a chain, and the steps are
// a ring's either way (tuning.cc: 2 (ranks per node - 1) hops).
double latency_growth(const CarryOver& carry, const Count& count) {
  const double step = (1.0 - carry.base_share) / ring_steps(Collective::all_reduce, 2);
  return carry.base_share + step * steps_of(carry, count);
}

double chunks(const CarryOver& carry, const Count& count) {
  return (ring_steps(count.kind, count.ranks) + carry.local_chunks) / count.ranks;
}

double doublings(const Count& from, const Count& to) {
  return std::log2(static_cast<double>(to.ranks) / from.ranks);
}

}  // namespace

const CarryOver& carry_over(Topology topology, BytesPerSecond peak) {
  // pair_latency is the geometric mean of what calibration/links/interconnects.json has of the
  // topology, its error their standard deviation or, where that is less, the 0.3 of the least known
  // of them; host memory's is of CPU ranks (README.md: 3.4 us; a few times that where ranks share
  // cores).
  // base_share has the least mean error below 1 MiB, and the errors are those at which 90 %
  // intervals hold nine in ten rows, of five NVSwitch machines (H100, B200, B300, GB200, GB300: the
  // collection that the A100's and the H200's tables are of), every machine counting alike; the two
  // that docs/results/links.md judges are not among them. With them and any one of the seven left
  // out the share is 0.71 or 0.72.
  static constexpr CarryOver kNvlink{.base_share = 0.71,
                                     .local_chunks = 0.40,
                                     .error = 0.02,
                                     .protocol_error = 0.16,
                                     .pair_latency = Seconds(9.9e-6),
                                     .pair_error = 0.3,
                                     .most_ranks = 72};
  // Blackwell's 8 to 32 MiB take far longer on more GPUs than a ring makes of two (NCCL 2.29): the
  // error is the one that holds nine in ten rows of its four machines from 1 MiB on.
  static constexpr BytesPerSecond kNvlink5Peak{900e9};
  static constexpr CarryOver kNvlink5{.base_share = 0.71,
                                      .local_chunks = 0.40,
                                      .error = 0.02,
                                      .protocol_error = 0.30,
                                      .pair_latency = Seconds(9.9e-6),
                                      .pair_error = 0.3,
                                      .most_ranks = 72};
  // Boxes differ by more than any count. Per doubling bus bandwidth went to 0.23, 0.26 and 0.27
  // (L40S), 0.67 and 1.15 (RTX 4090, by which two of the four GPUs) and 0.8 (RTX 5090); eight
  // RTX 4090 with peer-to-peer access reach what two L40S do, eight RTX PRO 6000 0.83 of a copy
  // between two. The geometric mean of these five is 0.70 per doubling, one standard deviation of
  // their logarithms 0.57; the error is what covers the L40S. Pairs that copy directly lose the
  // most, because more of them share their switch's uplink or cross sockets.
  static constexpr CarryOver kPcie{.base_share = 0.70,
                                   .per_doubling = 0.70,
                                   .error = 0.04,
                                   .protocol_error = 0.16,
                                   .error_per_doubling = 0.70,
                                   .pair_latency = Seconds(9.4e-6),
                                   .pair_error = 0.3,
                                   .most_ranks = 16};
  // Through host memory a pair is slow already. Chosen on public training of eight GPUs whose link
  // is not stated (docs/results/links.md, not the series judged there): of 0.70, 0.80, 0.85, 0.90
  // and 1.00 the 90th percentile of their errors is 51, 46, 45, 48 and 52 %.
  static constexpr CarryOver kPcieHost{.base_share = 0.70,
                                       .per_doubling = 0.85,
                                       .error = 0.04,
                                       .protocol_error = 0.16,
                                       .error_per_doubling = 0.65,
                                       .pair_latency = Seconds(10.6e-6),
                                       .pair_error = 0.3,
                                       .most_ranks = 16};
  static constexpr CarryOver kNetwork{.base_share = 0.50,
                                      .error = 0.10,
                                      .protocol_error = 0.40,
                                      .error_per_doubling = 0.30,
                                      .pair_latency = Seconds(44e-6),
                                      .pair_error = 0.7,
                                      .most_ranks = 1 << 20,
                                      .tree = true};
  // CPU ranks share memory as PCIe boxes share a root complex, though less tightly.
  static constexpr CarryOver kHostMemory{.base_share = 0.50,
                                         .per_doubling = 0.70,
                                         .error = 0.04,
                                         .protocol_error = 0.16,
                                         .error_per_doubling = 0.30,
                                         .pair_latency = Seconds(3.4e-6),
                                         .pair_error = 0.8,
                                         .most_ranks = 1 << 20};
  switch (topology) {
    case Topology::nvlink:
      return peak < kNvlink5Peak ? kNvlink : kNvlink5;
    case Topology::network:
      return kNetwork;
    case Topology::host_memory:
      return kHostMemory;
    case Topology::pcie_host:
      return kPcieHost;
    case Topology::pcie:
      break;
  }
  return kPcie;
}

int ring_steps(Collective kind, int ranks) {
  if (ranks < 2) return 0;
  return kind == Collective::all_reduce ? 2 * (ranks - 1) : ranks - 1;
}

double carried_volume(const CarryOver& carry, const Count& from, const Count& to) {
  return chunks(carry, to) / chunks(carry, from);
}

double carried_latency(const CarryOver& carry, const Count& from, const Count& to) {
  return latency_growth(carry, to) / latency_growth(carry, from);
}

CarriedTime carried_time(const CarryOver& carry, const Count& from, const Count& to,
                         Seconds latency, Seconds moved) {
  const double steps = doublings(from, to);
  const double known = latency.value();
  const double small = known * carried_latency(carry, from, to);
  const double slowing = std::pow(carry.per_doubling, -steps);
  const double large = known + std::max(0.0, moved.value() - known) * slowing;
  const double cubes = std::pow(large, 3) + std::pow(small, 3) - std::pow(known, 3);
  const double time = std::cbrt(std::max(cubes, 0.5 * std::pow(small, 3)));
  // From an eighth of the time on latency and protocol decide.
  constexpr double kEighth = 8;
  const double protocol = std::min(1.0, kEighth * small / time);
  // Every doubling of the count may change the protocol anew.
  const double error =
      std::hypot(carry.error, protocol * carry.protocol_error * std::sqrt(std::abs(steps)),
                 carry.error_per_doubling * std::abs(steps));
  return {Seconds(time), std::expm1(error)};
}

}  // namespace ddpx
