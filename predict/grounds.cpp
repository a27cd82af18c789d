#include "predict/grounds.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "predict/text.hpp"

namespace ddpx {
namespace {

constexpr std::string_view kPrior = "prior: ";
constexpr Bytes kLargeMessage{1 << 30};

template <class Q>
void add_borrowed(std::vector<std::string>& list, const std::string& constant,
                  const Estimate<Q>& estimate) {
  if (std::string_view(estimate.origin).starts_with(kPrior))
    list.push_back(constant + ": " + estimate.origin);
}

void add_host(std::vector<std::string>& list, const HostCosts& host, const Job& job) {
  const std::string prefix = "host." + std::string(name(job.engine)) + ".";
  const bool shared = job.gpus > 1 && job.strategy.sync;
  const bool fsdp = shared && job.strategy.sharding == Sharding::fsdp_unit;
  add_borrowed(list, prefix + "step_per_tensor", host.step_per_tensor);
  if (job.strategy.micro_batches > 1)
    add_borrowed(list, prefix + "extra_micro_batch", host.extra_micro_batch);
  if (fsdp) add_borrowed(list, prefix + "fsdp", host.fsdp);
  if (!shared || fsdp) return;
  add_borrowed(list, prefix + "sync_per_tensor", host.sync_per_tensor);
  add_borrowed(list, prefix + "per_bucket", host.per_bucket);
  if (job.strategy.compression)
    add_borrowed(list, prefix + "hook_per_bucket", host.hook_per_bucket);
}

// Products that the machine's table does not reach, by their flops.
using Products = std::map<double, std::string>;

Products far_products(const ProductTable& table, const Network& network, const Job& job) {
  Products far;
  const LayerProduct* last = nullptr;  // networks repeat their layers
  for (const Layer& layer : network.layers) {
    for (const LayerProduct& p : layer.products) {
      const bool again = last != nullptr && last->rows_per_sample == p.rows_per_sample &&
                         last->in == p.in && last->out == p.out;
      last = &p;
      if (again) continue;
      const double rows = p.rows_per_sample * job.samples_per_micro_batch();
      for (Pass pass : {Pass::forward, Pass::data_gradient, Pass::weight_gradient}) {
        const Product product{pass, job.dtype, rows, p.in, p.out};
        if (!table.price(product).extrapolated) continue;
        far.emplace(product.flops().value(),
                    count_text(rows) + " x " + count_text(p.in) + " -> " + count_text(p.out));
      }
    }
  }
  return far;
}

// Ranks and sizes that the link's curves of this collective do not hold.
void outside_curves(std::vector<std::string>& list, const Link& link, Collective kind,
                    const std::vector<Bytes>& messages, DType wire, int gpus) {
  std::set<int> ranks;
  bool other_kind = true;
  for (const Curve& curve : link.curves) {
    if (curve.kind == kind) {
      ranks.insert(curve.ranks);
      other_kind = false;
    }
  }
  std::size_t outside = 0;
  Bytes largest{};
  for (Bytes message : messages) {
    if (!price(link, {kind, wire, message, gpus}).extrapolated) continue;
    ++outside;
    largest = std::max(largest, message);
  }
  if (outside == 0) return;
  if (!other_kind && !ranks.contains(gpus)) {
    std::string measured;
    for (int n : ranks) measured += (measured.empty() ? "" : ", ") + std::to_string(n);
    list.push_back("rank count: " + std::string(name(kind)) + " on " + link.name +
                   " was measured on " + measured + " ranks, not " + std::to_string(gpus));
  } else if (link.curves.empty()) {
    list.push_back("rank count: the figures of " + link.name + " are of 2 ranks, not " +
                   std::to_string(gpus));
  } else if (other_kind) {
    list.push_back("collective: " + std::string(name(kind)) + " on " + link.name +
                   " was not measured; carried over from another");
  } else {
    list.push_back("message size: " + std::to_string(outside) + " of " +
                   std::to_string(messages.size()) + " " + std::string(name(kind)) +
                   " messages lie outside the sizes measured on " + link.name + " (up to " +
                   size_text(largest) + ")");
  }
}

}  // namespace

std::vector<std::string> borrowed(const Machine& machine, const Link& link, const Job& job) {
  std::vector<std::string> list;
  add_borrowed(list, "copy_bandwidth", machine.copy_bandwidth);
  add_borrowed(list, "optimizer_bandwidth", machine.optimizer_bandwidth);
  add_borrowed(list, "kernel_gap", machine.kernel_gap);
  if (machine.boost) add_borrowed(list, "boost", *machine.boost);
  if (machine.sustained) add_borrowed(list, "sustained", *machine.sustained);
  if (const HostCosts* host = machine.host_costs(job.engine)) add_host(list, *host, job);
  if (job.gpus < 2 || !job.strategy.sync) return list;
  if (job.strategy.sharding == Sharding::none) {
    if (machine.memory_beside) add_borrowed(list, "memory_beside", *machine.memory_beside);
    if (job.strategy.compression) add_borrowed(list, "hook_overlap", machine.hook_overlap);
    add_borrowed(list, "link " + link.name + " beside_compute", link.beside_compute);
  }
  if (link.curves.empty()) {
    list.push_back("link " + link.name + ": figures, not measured on this machine" +
                   (link.source.empty() ? "" : " (" + link.source + ")"));
  } else if (machine.find_link(link.name) == nullptr) {
    list.push_back("link " + link.name + ": measured elsewhere" +
                   (link.source.empty() ? "" : " (" + link.source + ")"));
  }
  return list;
}

std::vector<std::string> outside_calibration(const Machine& machine, const Link& link,
                                             const Network& network, const Job& job) {
  std::vector<std::string> list;
  const ProductTable table(machine, job.dtype);
  Products far = far_products(table, network, job);
  if (job.scaling == Scaling::strong) far.merge(far_products(table, network, job.one_gpu()));
  if (!far.empty()) {
    list.push_back("shape: " + std::to_string(far.size()) +
                   (far.size() == 1 ? " product lies" : " products lie") +
                   " far from every measured one, as " + far.rbegin()->second);
  }
  const Explanation step = explain(machine, link, network, job);
  std::vector<Bytes> messages;
  for (const CollectiveRow& row : step.collectives) messages.push_back(row.message);
  const DType wire = job.strategy.compression.value_or(DType::fp32);
  if (job.strategy.sharding == Sharding::fsdp_unit && messages.size() == 2) {
    outside_curves(list, link, Collective::all_gather, {messages[0]}, wire, job.gpus);
    outside_curves(list, link, Collective::reduce_scatter, {messages[1]}, wire, job.gpus);
  } else {
    outside_curves(list, link, Collective::all_reduce, messages, wire, job.gpus);
  }
  return list;
}

Explanation explain(const Machine& machine, const Link& link, const Network& network,
                    const Job& job) {
  Explanation result;
  result.residual_half_width = kNormalQuantile90 * machine.residual;
  if (job.gpus < 2 || !job.strategy.sync) return result;
  const bool fsdp = job.strategy.sharding == Sharding::fsdp_unit;
  const DType wire = job.strategy.compression.value_or(DType::fp32);
  const double shrink = element_bytes(wire) / element_bytes(DType::fp32);
  const auto add = [&](Collective kind, Bytes gradient, std::size_t tensors) {
    CollectiveRow row{kind, tensors, gradient, gradient * shrink, {}, {}};
    const double factor = bus_factor(kind, job.gpus);
    row.time = price(link, {kind, wire, row.message, job.gpus}).time;
    row.bus_bandwidth = row.message / row.time * factor;
    result.sent_per_rank += row.message * factor;
    result.collectives.push_back(row);
  };
  if (fsdp) {
    const Bytes gradient(element_bytes(DType::fp32) * network.parameters());
    add(Collective::all_gather, gradient, network.tensor_count());
    add(Collective::reduce_scatter, gradient, network.tensor_count());
    // Every micro-batch gathers and scatters again.
    result.sent_per_rank *= job.strategy.micro_batches;
  } else {
    const StepModel model(machine, link, network, job);
    for (const Bucket& bucket : model.buckets()) {
      add(Collective::all_reduce, bucket.bytes, bucket.end - bucket.begin);
    }
  }
  const Collective kind = fsdp ? Collective::all_gather : Collective::all_reduce;
  result.peak_bus_bandwidth = kLargeMessage /
                              price(link, {kind, wire, kLargeMessage, job.gpus}).time *
                              bus_factor(kind, job.gpus);
  for (const Curve& curve : link.curves) {
    if (curve.kind == kind && curve.ranks == job.gpus && curve.dtype == wire)
      result.peak_bus_bandwidth = curve.peak_bus_bandwidth();
  }
  return result;
}

}  // namespace ddpx
