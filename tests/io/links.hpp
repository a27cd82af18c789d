// Links with every field set, and with as few as a link may have.
#pragma once

#include "model/link.hpp"

namespace ddpx::test {

inline Link full_link() {
  Link link;
  link.name = "pcie3";
  link.title = "PCIe 3 \"x16\", \xC3\xA9t\xC3\xA9";
  link.topology = Topology::host_memory;
  link.topology_assumed = true;
  link.latency = {Seconds(9.5e-6), 0.04, "fitted"};
  link.large_latency = {Seconds(3.1e-5), 0.1, "prior"};
  link.bandwidth = {BytesPerSecond(4.05e9), 0.02, "fitted on 20 sizes"};
  link.bandwidth_low = BytesPerSecond(3.9e9);
  link.bandwidth_high = BytesPerSecond(4.1e9);
  link.peak = BytesPerSecond(15.75e9);
  link.most_ranks = 2;
  link.channels = 4;
  link.beside_compute = {1.13, 0.05, "measured"};
  link.burst = {Seconds(2e-3), 0.05, "from 3 sizes after a pause"};
  link.shared_core = SharedCore{{2e-10, 0.1, "measured"}, {Seconds(1e-4), 0.2, "measured"}};
  link.source = "a study";
  const std::vector<ProtocolLine> lines{
      {{Seconds(9e-6), 0.03, "LL"}, {BytesPerSecond(1.1e9), 0.05, "LL"}},
      {{Seconds(3e-5), 0.06, "Simple"}, {BytesPerSecond(4.05e9), 0.01, "Simple"}}};
  const std::vector<CurvePoint> points{{Bytes(4096), Seconds(1.0 / 3 * 1e-4), false, ""},
                                       {Bytes(65536), Seconds(9e-4), true, "27 % off\nits line"},
                                       {Bytes(1048576), Seconds(2.9e-4), false, ""}};
  link.curves.emplace_back(CollectiveCall{Collective::all_reduce, DType::fp32, Bytes(), 2}, lines,
                           points);
  link.curves.back().relative_error = 0.017;
  link.curves.back().hosts = 2;
  link.curves.emplace_back(CollectiveCall{Collective::reduce_scatter, DType::fp16, Bytes(), 8},
                           lines, std::vector<CurvePoint>{});
  return link;
}

inline Link figures_only() {
  Link link;
  link.name = "25GB/s";
  link.topology = Topology::network;
  link.latency = {Seconds(1e-5), 0.1, ""};
  link.bandwidth = {BytesPerSecond(25e9), 0.1, ""};
  return link;
}

inline Link curve_only() {
  Link link;
  link.name = "measured";
  link.topology = Topology::nvlink;
  link.curves.emplace_back(CollectiveCall{}, std::vector<ProtocolLine>{},
                           std::vector<CurvePoint>{{Bytes(8), Seconds(1e-5), false, ""}});
  return link;
}

}  // namespace ddpx::test
