#include "profiler/fake_backend.hpp"

#include <algorithm>
#include <utility>

#include "model/error.hpp"
#include "profiler/plan.hpp"

namespace ddpx {

FakeBackend::FakeBackend(Machine machine, std::string link, int ranks, FakeTroubles troubles)
    : machine_(std::move(machine)),
      link_(std::move(link)),
      ranks_(ranks),
      troubles_(troubles),
      random_(troubles.seed) {
  if (machine_.find_link(link_) == nullptr)
    throw InputError("fake backend", "machine " + machine_.name + " has no link '" + link_ + "'");
}

Hardware FakeBackend::hardware() const {
  const Link& link = *machine_.find_link(link_);
  Hardware hardware;
  hardware.device = machine_.device;
  hardware.ranks = ranks_;
  if (ranks_ > 1) {
    hardware.link = {.name = link.name,
                     .title = link.title,
                     .topology = link.topology,
                     .channels = link.channels,
                     .peak_bytes_per_s = link.peak.value(),
                     .source = "fake backend"};
  }
  hardware.context = {{"backend", "fake"}};
  return hardware;
}

bool FakeBackend::supports(const Operation& operation) const {
  if (const auto* product = std::get_if<Product>(&operation)) {
    return std::any_of(machine_.products.begin(), machine_.products.end(),
                       [&](const ProductPoint& p) { return p.product.dtype == product->dtype; });
  }
  if (const auto* call = std::get_if<CollectiveCall>(&operation))
    return ranks_ > 1 && call->ranks == ranks_;
  if (std::holds_alternative<Elementwise>(operation))
    return machine_.forward_bandwidth && machine_.backward_bandwidth;
  return true;
}

Seconds FakeBackend::truth(const Operation& operation) const {
  struct Price {
    const FakeBackend& fake;
    Seconds operator()(const Product& p) const {
      return ProductTable(fake.machine_, p.dtype).price(p).time;
    }
    Seconds operator()(const CollectiveCall& c) const {
      const Link& link = *fake.machine_.find_link(fake.link_);
      const Seconds time = price(link, c).time;
      return c.rested ? time - std::min(link.burst.value, 0.9 * time) : time;
    }
    Seconds operator()(const Copy& c) const {
      return 2.0 * (c.bytes / fake.machine_.copy_bandwidth.value);
    }
    Seconds operator()(const OptimizerStep& o) const {
      return optimizer_traffic(o.optimizer, o.parameters) /
             fake.machine_.update_bandwidth(o.optimizer).value;
    }
    Seconds operator()(const Elementwise& e) const {
      const auto& between = e.kernel == RowKernel::bias_relu ? fake.machine_.forward_bandwidth
                                                             : fake.machine_.backward_bandwidth;
      return e.bytes() / between.value().value;
    }
    Seconds operator()(const Launch& /*unused*/) const { return fake.machine_.kernel_gap.value; }
  };
  return std::visit(Price{*this}, operation);
}

void FakeBackend::begin(const std::string& what) {
  if (what == current_) return;
  if (troubles_.fails_at_operation == operations_)
    throw DeviceError("fake backend: rank 1 failed in " + what);
  current_ = what;
  ++operations_;
  samples_ = 0;
  if (troubles_.disturbed_visits > 0)
    disturbed_ = std::bernoulli_distribution(troubles_.disturbed_visits)(random_);
}

double FakeBackend::troubled(double seconds) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  double factor = std::max(0.1, 1.0 + troubles_.noise * normal(random_));
  factor *= 1.0 + troubles_.drift_per_sample * samples_;
  factor *= 1.0 + troubles_.ageing_per_operation * (operations_ - 1);
  if (troubles_.throttle_after && samples_ >= *troubles_.throttle_after)
    factor *= troubles_.throttle_factor;
  if (disturbed_ && samples_ % 2 == 0) factor *= troubles_.disturbed_factor;
  if (uniform(random_) < troubles_.disturbed_share) factor *= troubles_.disturbed_factor;
  ++samples_;
  return seconds * factor;
}

std::vector<double> FakeBackend::sample(const Operation& operation, int n) {
  if (!supports(operation))
    throw DeviceError("fake backend: does not support " + describe(operation));
  begin(describe(operation));
  const double seconds = truth(operation).value();
  std::vector<double> samples;
  for (int i = 0; i < n; ++i) samples.push_back(troubled(seconds));
  return samples;
}

std::vector<BesideTimes> FakeBackend::sample_beside(const Operation& work,
                                                    const CollectiveCall& call, int n) {
  begin(describe(Work(Beside{work, call})));
  const double product_alone = truth(work).value();
  const double collective_alone = truth(call).value();
  const Link& link = *machine_.find_link(link_);
  const SharedCore core = link.shared_core.value_or(machine_.shared_core.value_or(SharedCore{}));
  const double collective_beside =
      collective_alone * link.beside_compute.value + core.delay.value.value();
  const double busy =
      std::min(0.9, core.seconds_per_byte.value * call.bytes.value() / collective_beside);
  std::vector<BesideTimes> times;
  for (int i = 0; i < n; ++i) {
    times.push_back({troubled(product_alone), troubled(product_alone / (1 - busy)),
                     troubled(collective_alone), troubled(collective_beside)});
  }
  return times;
}

}  // namespace ddpx
