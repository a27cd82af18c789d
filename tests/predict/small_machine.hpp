// A machine in the likeness of a small GPU, for tests of what ddpx-predict prints: round numbers,
// one measured link, one by figures, and constants of both kinds, measured and borrowed.
#pragma once

#include "model/machine.hpp"
#include "predict/query.hpp"
#include "predict/request.hpp"

namespace ddpx::test {

// 4 TFLOP/s in every pass at widths 256 to 8192 and batch 256.
inline Machine small_machine() {
  Machine machine;
  machine.name = "small";
  machine.device = {"Small GPU", 40, 75, Bytes(16e9), "nvlink2", "pcie3"};
  machine.copy_bandwidth = {BytesPerSecond(240e9), 0.05, "prior: datasheet x 0.75"};
  machine.optimizer_bandwidth = {BytesPerSecond(240e9), 0.02, "from 3 optimizer steps"};
  machine.kernel_gap = {Seconds(1.5e-6), 0.1, "prior: another GPU"};
  HostCosts host;
  host.step_per_tensor = {Seconds(100e-6), 0.05, "fitted on 2 host-bound steps"};
  host.sync_per_tensor = {Seconds(40e-6), 0.1, "prior: another host"};
  host.per_bucket = {Seconds(120e-6), 0.1, "prior: another host"};
  machine.host[static_cast<std::size_t>(Engine::torch)] = host;
  machine.residual = 0.02;
  for (double width = 256; width <= 8192; width *= 2) {
    for (Pass pass : {Pass::forward, Pass::data_gradient, Pass::weight_gradient}) {
      for (double out : {width, 64.0}) {
        ProductPoint point;
        point.product = {pass, DType::fp32, 256, width, out};
        point.time = {Seconds(point.product.flops().value() / 4e12), 0.02, "measured"};
        machine.products.push_back(point);
      }
    }
  }
  Link link;
  link.name = "pcie";
  link.title = "PCIe 3 through host memory";
  link.topology = Topology::pcie;
  link.channels = 2;
  for (Collective kind : {Collective::all_reduce, Collective::all_gather}) {
    std::vector<CurvePoint> points;
    for (double bytes = 1024; bytes <= 512e6; bytes *= 4)
      points.push_back({Bytes(bytes), Seconds(30e-6 + bytes / 4e9), false, ""});
    link.curves.emplace_back(CollectiveCall{kind, DType::fp32, Bytes{}, 2},
                             std::vector<ProtocolLine>{}, points);
  }
  machine.links = {link};
  return machine;
}

// 40 GB/s and 10 us by figures.
inline Link figures_link() {
  Link link;
  link.name = "fast";
  link.title = "Fast link";
  link.topology = Topology::nvlink;
  link.latency = {Seconds(10e-6), 0.2, "figures"};
  link.large_latency = link.latency;
  link.bandwidth = {BytesPerSecond(40e9), 0.05, "figures"};
  link.channels = 8;
  link.source = "a table";
  return link;
}

// Names resolve to the two links above, "fast" between nodes to a network of the same figures; no
// file exists.
inline Resolvers small_resolvers() {
  Resolvers names;
  names.machine = [](const std::optional<std::string>&) { return small_machine(); };
  names.link = [](std::string_view place, const std::optional<std::string>& name,
                  const Machine& machine) {
    if (!name || *name != "fast") return machine.links.front();
    Link link = figures_link();
    if (place == "--inter-link") link.topology = Topology::network;
    return link;
  };
  names.network_file = [](const std::string& path) {
    Network network = opaque({1e6, Seconds(1e-5), 10});
    network.name = path;
    return network;
  };
  names.price_file = [](const std::string&) {
    return Prices{"EUR", 0, {{"one", 1, 0.15, {}}, {"four", 4, 0.58, {}}}};
  };
  return names;
}

// The same, where PyTorch's step of the default network at batch 256 was timed on one GPU.
inline Resolvers with_timed_step(Seconds step) {
  Resolvers names = small_resolvers();
  names.machine = [step](const std::optional<std::string>&) {
    Machine machine = small_machine();
    machine.one_gpu_steps.push_back({"mlp:width=1024,depth=8",
                                     256,
                                     DType::fp32,
                                     Optimizer::sgd,
                                     Engine::torch,
                                     {step, 0.01, ""}});
    return machine;
  };
  return names;
}

inline Options options_for(const char* network) {
  Options o;
  o.networks = {network};
  return o;
}

// What --require asks of the default network.
inline Options requiring(const std::string& requirement) {
  Options o;
  o.requirements = {requirement};
  o.networks = {"mlp:width=1024,depth=8"};
  return o;
}

inline ForecastDocument answer(const Options& options) {
  return run(query_from(options, small_resolvers()));
}

}  // namespace ddpx::test
