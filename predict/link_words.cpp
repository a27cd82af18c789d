#include "predict/link_words.hpp"

#include "predict/text.hpp"

namespace ddpx {
namespace {

std::vector<std::string> faults_of(Topology topology) {
  if (topology == Topology::nvlink)
    return {"NVLink inactive or a bridge missing (nvidia-smi nvlink -s)",
            "peer-to-peer switched off (NCCL_P2P_DISABLE, NCCL_P2P_LEVEL), so that NCCL goes "
            "through host memory",
            "ranks on GPUs that share no NVLink (nvidia-smi topo -m)"};
  if (topology == Topology::network)
    return {"NCCL fell back to TCP (NCCL_DEBUG=INFO must say NET/IB or NET/OFI, not NET/Socket)",
            "several GPUs on one NIC, or GPUDirect RDMA off",
            "too few sockets or queue pairs (NCCL_NSOCKS_PERTHREAD, NCCL_IB_QPS_PER_CONNECTION)"};
  return {"a slot of fewer lanes or an older generation (nvidia-smi -q: Link Width, Link Gen)",
          "peer-to-peer blocked by IOMMU or ACS, or not offered by the driver (GeForce); NCCL "
          "then goes through host memory",
          "GPUs on two sockets: the socket link is the slowest hop"};
}

}  // namespace

bool has_inside(const Link& link) {
  return !link.levels.empty() && link.name != link.levels.back().name;
}

LinkBand link_band(const Link& link, const Band& band) { return {link.name, band, limit_of(link)}; }

std::string band_text(const Band& band) {
  return rate_text(band.low) + " to " + rate_text(band.high) + " (usual " + rate_text(band.usual) +
         ")";
}

std::string limit_of(const Link& link) {
  if (has_inside(link)) return "the nodes' NICs, or the links inside a node where they are slower";
  if (!link.levels.empty()) return "the nodes' NICs";
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
  std::vector<std::string> faults = faults_of(link.topology);
  if (has_inside(link)) {
    const Link& inside = link.levels.front();
    const bool differs_inside =
        like != nullptr && has_inside(*like) && like->levels.front().name != inside.name;
    const std::vector<std::string> more = faults_of(inside.topology);
    faults.insert(differs_inside ? faults.begin() : faults.end(), more.begin(), more.end());
  }
  if (measured.falls)
    faults.insert(faults.begin(),
                  "bandwidth falls with the size: congestion, or a message that no longer fits a "
                  "buffer or cache on the way; prefer smaller buckets");
  return faults;
}

}  // namespace ddpx
