// Machines, links and networks of round numbers, on which a step can be worked out on paper.
#pragma once

#include <string>
#include <vector>

#include "model/link.hpp"
#include "model/machine.hpp"
#include "model/network.hpp"
#include "model/strategy.hpp"

namespace ddpx::test {

inline constexpr double kFast = 1e30;  // a bandwidth that costs nothing

// `count` layers of one parameter tensor of `bytes` each and one product per pass; no elementwise
// work.
inline Network plain_layers(int count, double bytes) {
  Network network;
  network.name = "plain";
  for (int i = 0; i < count; ++i) {
    Layer layer;
    layer.name = "layer" + std::to_string(i);
    layer.tensors = {bytes / 4};
    layer.products = {{1, bytes / 4, 1, 1}};
    layer.needs_data_gradient = i > 0;
    network.layers.push_back(layer);
  }
  return network;
}

struct PassSeconds {
  double forward = 1;
  double data_gradient = 1;
  double weight_gradient = 1;
};

// Every product of `network` at `batch` takes the pass's seconds; memory and gaps cost nothing.
inline Machine machine_for(const Network& network, double batch, PassSeconds seconds = {}) {
  Machine machine;
  machine.name = "tiny";
  machine.copy_bandwidth = {BytesPerSecond(kFast), 0, ""};
  machine.optimizer_bandwidth = {BytesPerSecond(kFast), 0, ""};
  machine.kernel_gap = {Seconds{}, 0, ""};
  machine.residual = 0;
  for (const Layer& layer : network.layers) {
    for (const LayerProduct& p : layer.products) {
      const auto add = [&](Pass pass, double time) {
        ProductPoint point;
        point.product = {pass, DType::fp32, batch * p.rows_per_sample, p.in, p.out};
        point.time = {Seconds(time), 0, ""};
        machine.products.push_back(point);
      };
      add(Pass::forward, seconds.forward);
      add(Pass::data_gradient, seconds.data_gradient);
      add(Pass::weight_gradient, seconds.weight_gradient);
    }
  }
  return machine;
}

// latency + bytes / bandwidth for every collective on `ranks`.
inline Link line_link(double latency, double bandwidth, int ranks = 2) {
  Link link;
  link.name = "line";
  link.topology = Topology::nvlink;
  for (Collective kind :
       {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
    const ProtocolLine line{{Seconds(latency), 0, ""}, {BytesPerSecond(bandwidth), 0, ""}};
    link.curves.emplace_back(CollectiveCall{kind, DType::fp32, Bytes{}, ranks},
                             std::vector<ProtocolLine>{line}, std::vector<CurvePoint>{});
    link.curves.back().relative_error = 0;
  }
  return link;
}

// 10 us and 20 GB/s by figures, known to 10 % and 5 %.
inline Link by_figures(Topology topology = Topology::nvlink) {
  Link link;
  link.name = "figures";
  link.topology = topology;
  link.latency = {Seconds(1e-5), 0.1, ""};
  link.bandwidth = {BytesPerSecond(2e10), 0.05, ""};
  return link;
}

inline CollectiveCall call(double bytes, int ranks, Collective kind = Collective::all_reduce) {
  return {kind, DType::fp32, Bytes(bytes), ranks};
}

// A job of one sample per rank whose every tensor is a bucket of its own.
inline Job one_bucket_per_tensor(int gpus = 2) {
  Job job;
  job.gpus = gpus;
  job.batch_per_rank = 1;
  job.strategy.buckets = BucketLimits::explicit_cap(Bytes(1));
  job.strategy.explicit_buckets = true;
  return job;
}

}  // namespace ddpx::test
