#include "predict/link_words.hpp"

#include <algorithm>

#include "model/two_level.hpp"
#include "predict/fall_backs.hpp"
#include "predict/link_text.hpp"
#include "predict/text.hpp"

namespace ddpx {
namespace {

std::vector<std::string> faults_of(const Link& link) {
  if (link.topology == Topology::nvlink)
    return {"NVLink inactive or a bridge missing (nvidia-smi nvlink -s)",
            "peer-to-peer switched off (NCCL_P2P_DISABLE, NCCL_P2P_LEVEL), so that NCCL goes "
            "through host memory",
            "ranks on GPUs that share no NVLink (nvidia-smi topo -m)"};
  if (network_family(link) == "tcp")
    return {"another interface than the one meant (NCCL_SOCKET_IFNAME; NCCL_DEBUG=INFO names it)",
            "too few sockets for the rate (NCCL_NSOCKS_PERTHREAD, NCCL_SOCKET_NTHREADS)",
            "the network shared or shaped, or packets lost (iperf3 between two of the hosts)"};
  if (link.topology == Topology::network)
    return {"NCCL fell back to TCP (NCCL_DEBUG=INFO must say NET/IB or NET/OFI, not NET/Socket)",
            "several GPUs on one NIC, or GPUDirect RDMA off",
            "too few sockets or queue pairs (NCCL_NSOCKS_PERTHREAD, NCCL_IB_QPS_PER_CONNECTION)"};
  return {"a slot of fewer lanes or an older generation (nvidia-smi -q: Link Width, Link Gen)",
          "peer-to-peer blocked by IOMMU or ACS, or not offered by the driver (GeForce); NCCL "
          "then goes through host memory",
          "GPUs on two sockets: the socket link is the slowest hop"};
}

// Time of a large message over nodes whose wire is `factor` times as wide.
Seconds time_of_wire(const Link& nodes, double factor) {
  constexpr Bytes kLarge{1 << 30};
  const int count = nodes.levels.back().curves.front().ranks;
  const int ranks = nodes.curves.front().ranks;
  Link wire;
  wire.name = nodes.levels.back().name;
  wire.topology = Topology::network;
  wire.latency.value = Seconds(1e-5);  // of no weight in a large message
  wire.bandwidth.value = nodes.bandwidth.value * factor;
  const Link scaled = two_level(nodes.levels.front(), wire, {count, ranks / count}, 1);
  return price(scaled, {Collective::all_reduce, DType::fp32, kLarge, ranks}).time;
}

// Of nodes with links inside, by what a wire of twice the width would bring.
std::string limit_of_nodes(const Link& nodes) {
  constexpr double kNothing = 1.02;
  constexpr double kAll = 1.9;
  const double gain = time_of_wire(nodes, 1) / time_of_wire(nodes, 2);
  if (gain > kAll) return "the nodes' NICs";
  const std::string inside = limit_of(nodes.levels.front()) + ", inside a node";
  return gain < kNothing ? inside : "the nodes' NICs, and not far above them " + inside;
}

}  // namespace

bool has_inside(const Link& link) { return !link.levels.empty(); }

LinkBand link_band(const Link& link, const Band& band) { return {link.name, band, limit_of(link)}; }

std::string band_text(const Band& band) {
  return rate_text(band.low) + " to " + rate_text(band.high) + " (usual " + rate_text(band.usual) +
         ")";
}

std::string limit_of(const Link& link) {
  if (has_inside(link)) return limit_of_nodes(link);
  if (given_by_figures(link)) return "the bandwidth given";
  if (link.topology == Topology::nvlink) return "the NVLinks of one GPU";
  if (link.topology == Topology::network)
    return link.per_gpu ? "the NICs, one per GPU" : "the node's NIC";
  if (link.topology == Topology::host_memory) return "the host's memory";
  return link.topology == Topology::pcie
             ? "the slowest PCIe hop on the ring (an x16 slot, a switch's uplink or the socket "
               "link)"
             : "host memory: without peer-to-peer access every byte crosses PCIe twice";
}

std::string candidate_line(const LinkBand& candidate, bool with_limit) {
  return wrapped("- " + printable(candidate.name) + ": " + band_text(candidate.band) +
                     (with_limit ? ", limited by " + candidate.limit : ""),
                 {.first = 2, .rest = 4});
}

std::vector<std::string> faults_of(const Link& link, const MeasuredLink& measured,
                                   const Link* like) {
  // Figures do not say of what; one host is no network.
  Link slots;
  slots.topology = like == nullptr ? Topology::pcie : like->topology;
  const bool figures = given_by_figures(link) && measured.hosts == 1;
  const Link& outer = between_of(link);
  std::vector<std::string> faults = faults_of(figures ? slots : outer);
  // Where a narrower network gives the figure, sockets are not the first to suspect.
  const bool sockets = like == nullptr || network_family(between_of(*like)) == "tcp";
  if (!figures && outer.topology == Topology::network && !sockets)
    std::rotate(faults.begin(), faults.begin() + 1, faults.end());
  if (has_inside(link)) {
    const Link& inside = link.levels.front();
    const bool differs_inside =
        like != nullptr && has_inside(*like) && like->levels.front().name != inside.name;
    const std::vector<std::string> more = faults_of(inside);
    faults.insert(differs_inside ? faults.begin() : faults.end(), more.begin(), more.end());
  }
  if (measured.falls)
    faults.insert(faults.begin(),
                  "bandwidth falls with the size: congestion, or a message that no longer fits a "
                  "buffer or cache on the way; prefer smaller buckets");
  return faults;
}

}  // namespace ddpx
