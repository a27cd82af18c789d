#include "model/sensitivity.hpp"

#include <cmath>

#include "model/scaled_link.hpp"

namespace ddpx {
namespace {

constexpr double kWorse = 1.01;

struct Inputs {
  Machine machine;
  Link link;
  Network network;
};

void slow_products(Inputs& in) {
  for (ProductPoint& point : in.machine.products) point.time.value *= kWorse;
  for (Layer& layer : in.network.layers) {
    layer.forward_seconds_per_sample *= kWorse;
    layer.backward_seconds_per_sample *= kWorse;
    for (auto* launches : {&layer.forward_launches, &layer.backward_launches}) {
      for (KernelLaunch& launch : *launches) launch.seconds_per_sample *= kWorse;
    }
  }
}

void slow(Estimate<BytesPerSecond>& bandwidth, std::vector<MemoryPoint>& points) {
  bandwidth.value = bandwidth.value / kWorse;
  for (MemoryPoint& point : points) point.bandwidth = point.bandwidth / kWorse;
}

void slow_memory(Inputs& in) {
  slow(in.machine.copy_bandwidth, in.machine.copy_points);
  for (auto* between : {&in.machine.forward_bandwidth, &in.machine.backward_bandwidth}) {
    if (*between) (*between)->value = (*between)->value / kWorse;
  }
}

void slow_optimizer(Inputs& in) {
  slow(in.machine.optimizer_bandwidth, in.machine.optimizer_points);
  if (in.network.captured) in.network.captured->optimizer_time *= kWorse;
}

void slow_gaps(Inputs& in) {
  in.machine.kernel_gap.value *= kWorse;
  for (auto* gap : {&in.machine.longer_gap[0], &in.machine.longer_gap[1], &in.machine.hook_gap}) {
    if (*gap) (*gap)->value *= kWorse;
  }
}

void slow_host(Inputs& in) {
  if (in.machine.framework) in.machine.framework->time.value *= kWorse;
  for (auto& costs : in.machine.host) {
    if (!costs) continue;
    for (Estimate<Seconds> HostCosts::*cost :
         {&HostCosts::step_per_tensor, &HostCosts::extra_micro_batch, &HostCosts::sync_per_tensor,
          &HostCosts::per_bucket, &HostCosts::hook_per_bucket, &HostCosts::fsdp}) {
      ((*costs).*cost).value *= kWorse;
    }
    for (std::optional<Estimate<Seconds>> HostCosts::*cost :
         {&HostCosts::fsdp_launch, &HostCosts::step, &HostCosts::sync, &HostCosts::hook,
          &HostCosts::fsdp_block, &HostCosts::fsdp_per_tensor, &HostCosts::adamw_per_tensor,
          &HostCosts::fsdp_adamw_per_tensor, &HostCosts::autocast_per_tensor}) {
      if ((*costs).*cost) ((*costs).*cost)->value *= kWorse;
    }
  }
  if (!in.network.captured) return;
  in.network.captured->host_time *= kWorse;
  in.network.captured->host_optimizer_time *= kWorse;
}

void slow_link(Inputs& in) { in.link = with_bandwidth(in.link, 1 / kWorse); }
void late_link(Inputs& in) { in.link = with_latency(in.link, kWorse); }

struct Constant {
  std::string_view name;
  void (*worsen)(Inputs&);
};
constexpr std::array kConstants{Constant{"products", slow_products},
                                Constant{"memory bandwidth", slow_memory},
                                Constant{"optimizer", slow_optimizer},
                                Constant{"kernel gaps", slow_gaps},
                                Constant{"link bandwidth", slow_link},
                                Constant{"link latency", late_link},
                                Constant{"host", slow_host}};

// The scale stays: it is of the machine's parts as they were measured.
double seconds(const Inputs& in, const Job& job, const WorkScale& scale) {
  const ProductTable products(in.machine, job.dtype);
  return StepModel(in.machine, products, in.link, in.network, job, scale).run().total().value();
}

}  // namespace

std::vector<Elasticity> elasticities(const Machine& machine, const Link& link,
                                     const Network& network, const Job& job) {
  const Inputs usual{machine, link, network};
  const WorkScale scale = work_scale(machine, ProductTable(machine, job.dtype), network, job);
  const double step = seconds(usual, job, scale);
  std::vector<Elasticity> list;
  for (const Constant& constant : kConstants) {
    Inputs worse = usual;
    constant.worsen(worse);
    list.push_back({constant.name, std::log(seconds(worse, job, scale) / step) / std::log(kWorse)});
  }
  return list;
}

}  // namespace ddpx
