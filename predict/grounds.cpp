#include "predict/grounds.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

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
  const bool fsdp = shared && !job.strategy.bucketed();
  add_borrowed(list, prefix + "step_per_tensor", host.step_per_tensor);
  if (is_half(job.dtype) && host.autocast_per_tensor)
    add_borrowed(list, prefix + "autocast_per_tensor", *host.autocast_per_tensor);
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
using Products = std::map<double, Product>;

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
        far.emplace(product.flops().value(), product);
      }
    }
  }
  return far;
}

bool is_measured(const Machine& machine, const Product& product) {
  return std::any_of(machine.products.begin(), machine.products.end(), [&](const auto& point) {
    const Product& p = point.product;
    return p.pass == product.pass && p.dtype == product.dtype && p.rows == product.rows &&
           p.in == product.in && p.out == product.out;
  });
}

std::string listed(const std::set<double>& values) {
  std::string list;
  for (double value : values) list += (list.empty() ? "" : ",") + count_text(value);
  return list;
}

// What a calibration can time is a square layer, or the generator's last one of 64 classes. It
// takes the place of the one before, so that the command has all that this machine's had.
std::string command_for(const Machine& machine, const Product& product, Engine engine) {
  constexpr double kClasses = 64;
  if (product.in != product.out && product.out != kClasses) return "python3 -m ddpx_torch capture";
  std::set<double> widths{product.in};
  std::set<double> batches{std::ceil(product.rows)};
  std::string dtypes;
  for (const DType dtype : {DType::fp32, DType::tf32, DType::bf16, DType::fp16}) {
    bool any = false;
    for (const auto& [measured, time, grid] : machine.products) {
      if (measured.dtype != dtype || measured.in != measured.out) continue;
      any = true;
      widths.insert(measured.in);
      batches.insert(std::ceil(measured.rows));
    }
    if (any) dtypes += (dtypes.empty() ? "" : ",") + std::string(name(dtype));
  }
  const std::string of = " --widths " + listed(widths) + " --batches " + listed(batches) +
                         " --dtypes " +
                         (dtypes.empty() ? std::string(name(product.dtype)) : dtypes);
  if (engine == Engine::native) return "ddpx-calibrate" + of;
  return "python3 -m ddpx_torch measure" + of + " -o measurements.json";
}

std::optional<UnmeasuredProduct> least_sure_of(const Machine& machine, const Network& network,
                                               const Job& job) {
  if (machine.products.empty()) return std::nullopt;  // a captured network brings its own times
  std::optional<UnmeasuredProduct> least_sure;
  Seconds most{};
  std::optional<ProductTable> table;
  for (const Layer& layer : network.layers) {
    for (const LayerProduct& p : layer.products) {
      const double rows = p.rows_per_sample * job.samples_per_micro_batch();
      for (Pass pass : {Pass::forward, Pass::data_gradient, Pass::weight_gradient}) {
        if (pass == Pass::data_gradient && !layer.needs_data_gradient) continue;
        const Product product{pass, job.dtype, rows, p.in, p.out};
        if (is_measured(machine, product)) continue;
        if (!table) table.emplace(machine, job.dtype);
        const ProductPrice price = table->price(product);
        const Seconds error = price.time * (price.relative_error * p.count);
        if (!(error > most)) continue;
        most = error;
        least_sure = {product, kNormalQuantile90 * price.relative_error,
                      command_for(machine, product, job.engine)};
      }
    }
  }
  return least_sure;
}

// The level of the link that a collective runs on.
const Link& link_of(const Link& link, const Job& job, const Exchange& exchange) {
  if (!job.strategy.hybrid || link.levels.empty()) return link;
  return link.levels[exchange.between ? 1 : 0];
}

// Of a large message, or the largest measured.
BytesPerSecond peak_of(const Link& link, const Exchange& exchange) {
  std::vector<Collective> kinds{exchange.kind};
  if (exchange.kind != Collective::all_reduce) kinds.push_back(stand_in(exchange.kind));
  for (const Collective kind : kinds) {
    for (const Curve& curve : link.curves) {
      if (curve.kind == kind && curve.ranks == exchange.ranks && curve.dtype == exchange.wire)
        return curve.peak_bus_bandwidth();
    }
  }
  const CollectiveCall large{exchange.kind, exchange.wire, kLargeMessage, exchange.ranks};
  return kLargeMessage / price(link, large).time * bus_factor(exchange.kind, exchange.ranks);
}

// Of every collective alike: said once.
void add_once(std::vector<std::string>& list, std::string reason) {
  if (std::find(list.begin(), list.end(), reason) == list.end()) list.push_back(std::move(reason));
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
  if (!link.levels.empty() && link.curves.front().carried) {
    add_once(list, "rank count: " + link.levels.front().name +
                       " was not measured on as many ranks as a node of " + link.name + " has");
    return;
  }
  if (!other_kind && !ranks.contains(gpus)) {
    std::string measured;
    for (int n : ranks) measured += (measured.empty() ? "" : ", ") + std::to_string(n);
    list.push_back("rank count: " + std::string(name(kind)) + " on " + link.name +
                   " was measured on " + measured + " ranks, not " + std::to_string(gpus));
  } else if (link.curves.empty()) {
    add_once(list, "rank count: the figures of " + link.name + " are of 2 ranks, not " +
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
  add_borrowed(list, "optimizer_bandwidth", machine.update_bandwidth(job.optimizer));
  add_borrowed(list, "kernel_gap", machine.kernel_gap);
  if (machine.boost) add_borrowed(list, "boost", *machine.boost);
  if (machine.power_window) add_borrowed(list, "power_window", *machine.power_window);
  if (machine.sustained) add_borrowed(list, "sustained", *machine.sustained);
  if (const HostCosts* host = machine.host_costs(job.engine)) add_host(list, *host, job);
  if (job.gpus < 2 || !job.strategy.sync) return list;
  if (const auto& longer = machine.longer_gap.at(static_cast<std::size_t>(job.engine)))
    add_borrowed(list, "longer_gap", *longer);
  if (machine.framework) add_borrowed(list, "framework", machine.framework->time);
  if (job.strategy.sharding != Sharding::fsdp_unit) {  // which overlaps nothing
    if (machine.memory_beside) add_borrowed(list, "memory_beside", *machine.memory_beside);
    if (job.strategy.compression) {
      add_borrowed(list, "hook_overlap", machine.hook_overlap);
      if (machine.hook_gap) add_borrowed(list, "hook_gap", *machine.hook_gap);
    }
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

std::vector<std::string> outside_calibration(const ProductTable& products, const Link& link,
                                             const Network& network, const Job& job) {
  std::vector<std::string> list;
  Products far = far_products(products, network, job);
  if (job.scaling == Scaling::strong) far.merge(far_products(products, network, job.one_gpu()));
  if (!far.empty()) {
    const Product& largest = far.rbegin()->second;
    list.push_back("shape: " + std::to_string(far.size()) +
                   (far.size() == 1 ? " product lies" : " products lie") +
                   " far from every measured one, as " + count_text(largest.rows) + " x " +
                   count_text(largest.in) + " -> " + count_text(largest.out));
  }
  if (job.gpus < 2 || !job.strategy.sync) return list;
  const StepModel model(products.machine(), products, link, network, job);
  for (const bool between : {false, true}) {
    for (const Collective kind :
         {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
      std::vector<Bytes> messages;
      const Exchange* any = nullptr;
      for (const Exchange& exchange : model.exchanges()) {
        if (exchange.kind != kind || exchange.between != between) continue;
        messages.push_back(exchange.message);
        any = &exchange;
      }
      if (any)
        outside_curves(list, link_of(link, job, *any), kind, messages, any->wire, any->ranks);
    }
  }
  return list;
}

std::optional<std::string> does_not_fit(const GpuMemory& memory, const std::string& what,
                                        Bytes needed) {
  if (memory.holds(needed)) return std::nullopt;
  return what + " needs at least " + size_text(needed) + " on each GPU, which has " +
         size_text(memory.size) + " (" + memory.from + "): it does not fit";
}

Explanation explain(const Machine& machine, const Link& link, const Network& network,
                    const Job& job) {
  Explanation result;
  result.residual_half_width = kNormalQuantile90 * machine.residual;
  result.elasticities = elasticities(machine, link, network, job);
  result.least_sure = least_sure_of(machine, network, job);
  if (job.gpus < 2 || !job.strategy.sync) return result;
  const StepModel model(machine, link, network, job);
  const Exchange* largest = nullptr;
  for (const Exchange& exchange : model.exchanges()) {
    CollectiveRow row{exchange.kind,
                      exchange.tensors,
                      exchange.gradient,
                      exchange.message,
                      exchange.ranks,
                      exchange.per_step,
                      {},
                      {},
                      {}};
    const double factor = bus_factor(row.kind, row.ranks);
    row.time = Seconds(exchange.time);
    row.bus_bandwidth = row.message / row.time * factor;
    row.peak_bus_bandwidth = peak_of(link_of(link, job, exchange), exchange);
    result.sent_per_rank += row.message * factor * row.per_step;
    if (!largest || exchange.message > largest->message) largest = &exchange;
    result.collectives.push_back(row);
  }
  // Units alternate between kinds; what is alike is shown together.
  std::stable_sort(result.collectives.begin(), result.collectives.end(),
                   [](const CollectiveRow& a, const CollectiveRow& b) {
                     return std::pair(a.ranks, a.kind) < std::pair(b.ranks, b.kind);
                   });
  if (largest) result.peak_bus_bandwidth = peak_of(link_of(link, job, *largest), *largest);
  return result;
}

}  // namespace ddpx
