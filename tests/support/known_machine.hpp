// A machine whose every constant is known, for fakes to follow and fits to find again.
#pragma once

#include "model/machine.hpp"

namespace ddpx::test {

// 40 GFLOP/s whatever the shape; ranks joined by a "wire" of 20 us + bytes / 2 GB/s in algorithm
// bandwidth for every collective, of which a pause saves up to 200 us; a collective takes 0.2 ns of
// the core per byte and ends 100 us later beside products, 1.1 times as long.
inline Machine known_machine(int ranks = 2) {
  Machine machine;
  machine.name = "known";
  machine.device.name = "known core";
  machine.copy_bandwidth = {BytesPerSecond(8e9), 0, ""};
  machine.optimizer_bandwidth = {BytesPerSecond(6e9), 0, ""};
  machine.adamw_bandwidth = Estimate<BytesPerSecond>{BytesPerSecond(4e9), 0, ""};
  machine.kernel_gap = {Seconds(2e-7), 0, ""};
  for (Pass pass : {Pass::forward, Pass::data_gradient, Pass::weight_gradient}) {
    ProductPoint point;
    point.product = {pass, DType::fp32, 64, 512, 512};
    point.time = {point.product.flops() / FlopsPerSecond(40e9), 0, ""};
    machine.products.push_back(point);
  }
  Link link;
  link.name = "wire";
  link.title = "a wire";
  link.topology = Topology::network;
  for (Collective kind :
       {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
    for (DType dtype : {DType::fp32, DType::fp16}) {
      link.curves.emplace_back(
          CollectiveCall{kind, dtype, Bytes{}, ranks},
          std::vector<ProtocolLine>{{{Seconds(20e-6), 0, ""}, {BytesPerSecond(2e9), 0, ""}}},
          std::vector<CurvePoint>{});
    }
  }
  link.burst = {Seconds(200e-6), 0, ""};
  link.beside_compute = {1.1, 0, ""};
  link.shared_core = SharedCore{{2e-10, 0, ""}, {Seconds(100e-6), 0, ""}};
  machine.links.push_back(link);
  return machine;
}

}  // namespace ddpx::test
