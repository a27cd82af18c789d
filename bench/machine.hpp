// The machine and the link that forecasts are timed on.
#pragma once

#include <cmath>

#include "model/machine.hpp"

namespace ddpx::bench {

// A calibrated machine of ordinary size: 6 widths x 3 batches x 3 passes of products with their
// grids, and a curve of 20 sizes.
inline Machine machine() {
  Machine m;
  m.name = "bench";
  m.device.multiprocessors = 132;
  m.copy_bandwidth = {BytesPerSecond(4.0e12), 0.02, ""};
  m.optimizer_bandwidth = {BytesPerSecond(3.5e12), 0.02, ""};
  m.kernel_gap = {Seconds(1.5e-6), 0.1, ""};
  m.host[static_cast<std::size_t>(Engine::torch)] = HostCosts{{Seconds(44e-6), 0.08, ""},
                                                              {Seconds(2e-4), 0.08, ""},
                                                              {Seconds(44e-6), 0.08, ""},
                                                              {Seconds(123e-6), 0.08, ""},
                                                              {Seconds(130e-6), 0.08, ""},
                                                              {Seconds(2.9e-3), 0.08, ""},
                                                              std::nullopt};
  m.memory_beside = {1.3, 0.1, ""};
  m.hook_overlap = {0.5, 0.5, ""};
  m.rank_spread = 0.005;
  for (double width = 256; width <= 8192; width *= 2) {
    for (double batch : {64.0, 256.0, 1024.0}) {
      for (Pass pass : {Pass::forward, Pass::data_gradient, Pass::weight_gradient}) {
        for (double out : {width, 64.0}) {
          const Product product{pass, DType::fp32, batch, width, out};
          const double blocks = std::ceil(batch / 128) * std::ceil(out / 128) * 2;
          m.products.push_back({product,
                                {Seconds(product.flops().value() / 4e13 + 4e-6), 0.02, ""},
                                KernelGrid{blocks, 1, false}});
        }
      }
    }
  }
  return m;
}

inline Link link() {
  Link l;
  l.name = "bench";
  l.topology = Topology::nvlink;
  l.channels = 24;
  l.beside_compute = {1.05, 0.05, ""};
  std::vector<CurvePoint> points;
  for (double bytes = 1024; bytes <= 1024 * std::pow(2.0, 19); bytes *= 2) {
    points.push_back({Bytes(bytes), Seconds(9e-6 + bytes / 3e11), false, ""});
  }
  l.curves.emplace_back(CollectiveCall{Collective::all_reduce, DType::fp32, Bytes{}, 2},
                        std::vector<ProtocolLine>{}, points);
  return l;
}

// What joins nodes, by its figures.
inline Link network() {
  Link l;
  l.name = "bench-network";
  l.topology = Topology::network;
  l.latency = {Seconds(2e-5), 0.1, ""};
  l.bandwidth = {BytesPerSecond(4e10), 0.1, ""};
  l.per_gpu = true;
  return l;
}

}  // namespace ddpx::bench
