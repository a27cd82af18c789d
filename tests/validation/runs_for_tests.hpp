// A made-up machine whose forecasts are known in closed form, and runs made by hand around them.
// Networks have given times per sample, so no product is priced: one GPU takes batch x seconds per
// sample, and the link is so fast that N GPUs take as long.
#pragma once

#include <string>
#include <vector>

#include "validation/compare.hpp"

namespace ddpx::test {

inline Link fast_link(const std::string& name) {
  Link link;
  link.name = name;
  link.title = name;
  link.topology = Topology::nvlink;
  link.latency.value = Seconds(1e-12);
  link.bandwidth.value = BytesPerSecond(1e21);
  link.channels = 1;
  return link;
}

inline Machine exact_machine() {
  Machine machine;
  machine.name = "made-up";
  machine.device.name = "Made-up GPU";
  machine.device.multiprocessors = 100;
  // One product, so that the dtype counts as measured; the networks below have none.
  ProductPoint point;
  point.product = {Pass::forward, DType::fp32, 1, 1, 1};
  point.time.value = Seconds(1e-12);
  machine.products.push_back(point);
  machine.copy_bandwidth.value = BytesPerSecond(1e21);
  machine.optimizer_bandwidth.value = BytesPerSecond(1e21);
  machine.kernel_gap.value = Seconds(0);
  machine.residual = 0.05;
  machine.host = {HostCosts{}, HostCosts{}};
  return machine;
}

// "made:width=W": W^2 parameters, W^2 microseconds per sample, forward a third of it. Flops are in
// proportion to time.
inline Network made_network(double width) {
  Network network;
  network.name = "made:width=" + std::to_string(static_cast<int>(width));
  network.width = width;
  Layer layer;
  layer.name = "only";
  layer.tensors = {width * width};
  layer.forward_seconds_per_sample = width * width * 1e-6 / 3;
  layer.backward_seconds_per_sample = width * width * 2e-6 / 3;
  network.layers.push_back(layer);
  return network;
}

inline double width_of(const RunRow& row) {
  return std::stod(row.network.substr(row.network.find('=') + 1));
}

inline Network network_of(const RunRow& row) { return made_network(width_of(row)); }

// The network's only layer is one bucket that nothing overlaps, so a link that moves 4 bytes in t
// microseconds makes the step of N GPUs (1 + t) times the one-GPU step: "slow" has t = 4 (speedup
// 2/5), "level" t = 1 (speedup 1).
inline Link link_of(const RunRow& row) {
  Link link = fast_link(row.link);
  if (row.link == "slow") link.bandwidth.value = BytesPerSecond(1e6);
  if (row.link == "level") link.bandwidth.value = BytesPerSecond(4e6);
  return link;
}

// A row of batch 1 with one process that took `seconds`.
inline RunRow made_row(int gpus, double width, double seconds, const std::string& link = "wire",
                       const std::string& strategy = "ddp") {
  RunRow row;
  row.network = made_network(width).name;
  row.link = link;
  row.job.gpus = gpus;
  row.job.batch_per_rank = 1;
  row.job.strategy = parse_strategy(strategy);
  row.processes = {{{seconds}}};
  return row;
}

// What the machine takes: the truth that errors are made around.
inline double exact_step(double width) { return width * width * 1e-6; }

inline Runs made_runs(std::vector<RunRow> rows) {
  Runs runs;
  runs.name = "made-up runs";
  runs.source = "by hand";
  runs.rows = std::move(rows);
  return runs;
}

inline Comparison compared(const Runs& runs) {
  return compare(exact_machine(), runs, network_of, link_of, {});
}

}  // namespace ddpx::test
