// An interconnect: what collectives cost on it. Either measured (curves), or known by figures
// (latency, bus bandwidth), or both.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/carry_over.hpp"
#include "model/curve.hpp"

namespace ddpx {

// How the ranks reach each other; decides how costs carry over to a rank count that was not
// measured.
enum class Topology {
  nvlink,  // every GPU on an NVLink switch or mesh: bus bandwidth rises a little with the count
  pcie,    // PCIe, peer to peer or not known: pairs of one switch are fast, more share its uplink
  pcie_host,    // PCIe without peer-to-peer access: every pair crosses host memory already
  network,      // one rank per node or per NIC
  host_memory,  // CPU ranks over shared memory
};

// Contention of a collective and products that share a core, because the ranks are CPU cores and
// nothing else moves the data. The collective takes `seconds_per_byte` of the core, so products
// beside it slow by 1/(1 - that x bytes / time); and the core attends to it only now and then, so
// it ends `delay` later than the link alone explains.
struct SharedCore {
  Estimate<double> seconds_per_byte;
  Estimate<Seconds> delay;
};

// A collective and copies that want all of the memory, beside each other: what each takes over its
// time alone. Measured with a message that moves at `rate` alone (its bus bandwidth) and so at
// `rate` / collective beside copies, which is taken to be all that they leave it, whatever the link
// could. One whose rate alone is a of that takes max(1, a) times as long, and of the memory
// min(1, a) of what was taken there, 1 - 1/copy: what it takes in all is what it moves.
struct BesideCopies {
  Estimate<double> collective;
  Estimate<double> copy;
  BytesPerSecond rate{};
};

// What Link::beside_flops is counted in.
inline constexpr FlopsPerSecond kFlopsUnit{1e15};

// Whether an NVSwitch adds up all-reduces itself (NVLS) is the GPUs' and the driver's to allow.
// Where it is not known, a price carried to eight Hopper GPUs lies between both, with that in its
// error.
enum class InSwitch { unknown, no };

struct Link {
  std::string name;   // "nvlink4", or the user's own words
  std::string title;  // "NVLink 4 (H100, H200), 18 links"
  Topology topology = Topology::pcie;
  // Worked out from a bandwidth, because the log it was read from does not say how its ranks are
  // joined.
  bool topology_assumed = false;
  // Figures on two ranks: time of the smallest all-reduce, bus bandwidth of a large one
  // (nccl-tests' convention) and, where the small messages run on a cheaper protocol (NCCL's LL),
  // the latency of the large-message protocol.
  Estimate<Seconds> latency;
  Estimate<Seconds> large_latency;
  Estimate<BytesPerSecond> bandwidth;
  BytesPerSecond bandwidth_low{};
  BytesPerSecond bandwidth_high{};
  BytesPerSecond peak{};  // one direction, by the standard; 0 when unknown
  double widened =
      1;  // what it carries at most over `peak`, which names its kind (scaled_link.hpp)
  // The figures are one GPU's share of its node's NICs, which grow with the GPUs per node.
  bool per_gpu = false;
  // GPUs that it joins at most, where that is fewer than its topology can: a bridge joins two.
  std::optional<int> most_ranks;
  // Not of the link but of who runs on it: NCCL_NVLS_ENABLE=0 says no.
  InSwitch in_switch = InSwitch::unknown;
  // Multiprocessors NCCL's collectives hold while they run (its channels); 0 when unknown.
  int channels = 0;
  // Time of a collective while products run beside it, over its time alone.
  Estimate<double> beside_compute{1.0, 0.0, ""};
  // On GPUs: beside a product that takes a share u of the memory's bandwidth and does f flops per
  // second a collective takes 1 + u x beside_memory + f x beside_flops of its time alone. (What a
  // product draws lowers the clock at which the collective's blocks move data.) 0 where not known.
  Estimate<double> beside_memory{0.0, 0.0, ""};
  Estimate<double> beside_flops{0.0, 0.0, ""};  // per kFlopsUnit
  std::optional<BesideCopies> beside_copies;    // nullopt: derived from what each moves
  std::optional<SharedCore> shared_core;        // nullopt: the machine's
  // Time that a collective saves when the link was idle for at least as long before it; a shorter
  // pause saves its own length. Token buckets do that (tc-tbf(8), the bursts of cloud instances):
  // idle time fills them, up to their depth, and they empty at the link's rate. 0: every byte waits
  // its turn.
  Estimate<Seconds> burst;
  std::vector<Curve> curves;
  std::string source;  // the public measurement or the measurements file it comes from
  // Of a link made of two levels: inside a node, and one GPU's share of what joins the nodes, with
  // curves over as many ranks as there are nodes. Empty otherwise.
  std::vector<Link> levels;

  // Bus bandwidth of a large all-reduce at the rank count measured, or the figure.
  [[nodiscard]] BytesPerSecond bus_bandwidth() const;
  // Ranks up to which a count that was not measured is carried over.
  [[nodiscard]] int reach() const;
  // Hosts that the ranks of one of its curves were on: as measured, else one where the topology is
  // known and joins the GPUs of one; nullopt where nothing says.
  [[nodiscard]] std::optional<int> hosts_of(const Curve& curve) const;
};

// Time of the smallest message on the curve's count. Where its sizes show none: the link's figure,
// else what links of `topology` take, carried to that count and no more than the smallest measured.
[[nodiscard]] Estimate<Seconds> latency_on(const Link& link, const Curve& curve, Topology topology);

// What a collective costs and how sure that is.
struct CollectivePrice {
  Seconds time{};
  double relative_error = 0;
  bool extrapolated = false;  // a size, a rank count or a collective that was not measured
  Seconds least{};            // what its wires take at their peak, at most `time`; 0: not known
};

// The collective whose curve stands in for `kind`, a sharded one, where that has none:
// reduce-scatter and all-gather move the same bytes in the same steps.
[[nodiscard]] Collective stand_in(Collective kind);

// Price of `call` on `link`. Curves of the same collective and rank count come first; then the
// other half-collective's; then the nearest rank count, carried over by the ring's volume and
// number of steps, with the error of that step by topology; then the figures. Ring all-reduce:
// 2(N-1) steps of S/N bytes (Patarasu & Yuan 2009; NCCL src/graph/tuning.cc). Throws InputError
// where nothing supports a price: no curve, no figures, or more ranks than such a link joins.
[[nodiscard]] CollectivePrice price(const Link& link, const CollectiveCall& call,
                                    InSwitch in_switch = InSwitch::unknown);

// `ring`, a carried price of `call`, with what the switch may save.
[[nodiscard]] CollectivePrice with_switch(const Link& link, const CollectiveCall& call,
                                          CollectivePrice ring);

// Whether it is two figures of a user's: of what kind it is then nothing says.
inline constexpr const char* kGivenFigures = "given on the command line";  // Link::source
[[nodiscard]] inline bool given_by_figures(const Link& link) {
  return link.source == kGivenFigures;
}

// The time NCCL's model gives an all-reduce that the switch adds up; nullopt for anything but all
// of eight Hopper GPUs, which are told by the peak of their NVLinks, with channels enough.
[[nodiscard]] std::optional<Seconds> in_switch_time(const Link& link, const CollectiveCall& call);

// Seconds of a ring collective from its parts: `steps` messages of S/N bytes, each `step_latency` +
// bytes/bandwidth.
[[nodiscard]] Seconds ring_time(const CollectiveCall& call, Seconds step_latency,
                                BytesPerSecond bandwidth);

// "nvlink", "pcie", ...: the names of Topology.
[[nodiscard]] std::string_view name(Topology topology);
[[nodiscard]] std::optional<Topology> topology_from(std::string_view word);

}  // namespace ddpx
