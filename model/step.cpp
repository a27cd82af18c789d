#include "model/step.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/conditions.hpp"
#include "model/error.hpp"
#include "model/tiles.hpp"

namespace ddpx {
namespace {

constexpr std::array<std::string_view, kTerms> kTermNames{"forward",
                                                          "backward",
                                                          "accumulation",
                                                          "contention",
                                                          "copies",
                                                          "compression",
                                                          "exposed_communication",
                                                          "optimizer",
                                                          "framework",
                                                          "host",
                                                          "imbalance",
                                                          "loader"};
constexpr std::array<std::string_view, kSources> kSourceNames{
    "compute", "memory", "link", "host", "contention", "hook", "clock"};

// Autocast keeps fp32 weights: each is read and written as 16 bit before its first product (4 + 2
// B), its gradient cast back (2 + 4 B).
constexpr double kAutocastBytes = 6;

}  // namespace

std::string_view name(Term term) { return kTermNames[static_cast<std::size_t>(term)]; }
std::string_view name(Source source) { return kSourceNames[static_cast<std::size_t>(source)]; }

std::string_view name(BoundBy bound) {
  switch (bound) {
    case BoundBy::compute:
      return "compute";
    case BoundBy::communication:
      return "communication";
    case BoundBy::host:
      return "host";
    case BoundBy::loader:
      return "loader";
  }
  return "?";
}

double expected_maximum(int n) {
  if (n <= 1) return 0;
  // n = 1, 2, 4, ... 65536.
  constexpr std::array kAtPowersOfTwo{0.0,    0.5642, 1.0294, 1.4236, 1.7660, 2.0697,
                                      2.3437, 2.5946, 2.8269, 3.0439, 3.2482, 3.4418,
                                      3.6261, 3.8023, 3.9714, 4.1341, 4.2911};
  const double doublings = std::log2(n);
  const auto i = std::min(static_cast<std::size_t>(doublings), kAtPowersOfTwo.size() - 2);
  const double slope = kAtPowersOfTwo[i + 1] - kAtPowersOfTwo[i];
  return kAtPowersOfTwo[i] + (doublings - static_cast<double>(i)) * slope;
}

Seconds Step::total() const {
  Seconds sum{};
  for (Seconds t : terms) sum += t;
  return sum;
}

double Step::communication_share() const { return term(Term::exposed_communication) / total(); }
double Step::communication_busy_share() const { return communication_busy / total(); }

BoundBy Step::bound_by() const {
  if (term(Term::loader).value() > 0) return BoundBy::loader;
  if (term(Term::host).value() > 0) return BoundBy::host;
  const Seconds device = total() - term(Term::exposed_communication) - term(Term::host);
  return term(Term::exposed_communication) > device ? BoundBy::communication : BoundBy::compute;
}

StepModel::StepModel(Kept<Machine> machine, Kept<Link> link, Kept<Network> network, const Job& job)
    : StepModel(machine, ProductTable(machine, job.dtype), link, network, job) {}

StepModel::StepModel(Kept<Machine> machine, const ProductTable& products, Kept<Link> link,
                     Kept<Network> network, const Job& job, std::optional<WorkScale> scale)
    : machine_(machine), link_(&link.get()), network_(network), job_(job) {
  check(job);
  if (network_.layers.empty()) throw InputError("network " + network_.name, "has no layers");
  check_captured();
  check_channels();
  channels_ = job.strategy.channels.value_or(link.get().channels);
  layers_.reserve(network_.layers.size());
  constexpr std::size_t kUsualShapes = 4;
  shapes_.reserve(kUsualShapes);
  for (const Layer& layer : network_.layers) {
    LayerWork work;
    work.shape = shape_of(layer, products);
    work.tensors = layer.tensors.size();
    work.gradient_bytes = network_.gradient_element_bytes() * layer.parameters();
    tensors_ += work.tensors;
    parameters_ += layer.parameters();
    layers_.push_back(work);
  }
  working_set_ = working_set();
  work_extrapolated_ = extrapolated_;
  scale_ = scale ? *scale : ddpx::work_scale(machine, products, network, job);
  join();
}

void StepModel::join() {
  if (job_.gpus == 1) return;
  if (job_.strategy.sync) price_collectives();
  slowest_ = slowest_rank(machine_.spread(job_.samples_per_step() / job_.gpus), job_.gpus,
                          std::max(job_.imbalance.value_or(0), job_.straggler.value_or(0)));
}

bool StepModel::shares_work(const Link& link, const Job& job) const {
  Job same = job;
  same.gpus = job_.gpus;
  same.strategy.micro_batches = job_.strategy.micro_batches;
  return same == job_ && job.gpus > 1 && job_.gpus > 1 &&
         (job.scaling == Scaling::weak || job.gpus == job_.gpus) &&
         job.strategy.channels.value_or(link.channels) == channels_;
}

void StepModel::over(Kept<Link> link, const Job& job) {
  check(job);
  link_ = &link.get();
  job_ = job;
  extrapolated_ = work_extrapolated_;
  collectives_.clear();
  broadcasts_ = 0;
  join();
}

// Each channel is a block that holds a multiprocessor for as long as a collective runs.
void StepModel::check_channels() const {
  const int has = machine_.device.multiprocessors;
  if (!job_.strategy.channels || has == 0 || *job_.strategy.channels < has) return;
  throw InputError("--strategy", "'" + describe(job_.strategy) + "' leaves no multiprocessor of " +
                                     std::to_string(has) +
                                     " to products; accepted: channels=1 to " +
                                     std::to_string(std::max(1, has - 1)));
}

// Parameters, gradients, buckets and their 16-bit copies, and every product's output.
Bytes StepModel::working_set() const {
  const bool buckets = job_.gpus > 1 && job_.strategy.sync && job_.strategy.bucketed();
  const double copies = buckets ? (job_.strategy.compression ? 3.5 : 3.0) : 2.0;
  double bytes = copies * kGradientBytes * parameters_;
  const double samples = job_.samples_per_micro_batch();
  for (const Layer& layer : network_.layers) {
    for (const LayerProduct& p : layer.products)
      bytes += element_bytes(job_.dtype) * p.count * p.rows_per_sample * samples * p.out;
  }
  return Bytes(bytes);
}

std::size_t StepModel::shape_of(const Layer& layer, const ProductTable& products) {
  const auto same = [&](const Layer& other) {
    return other.needs_data_gradient == layer.needs_data_gradient &&
           other.forward_bytes == layer.forward_bytes &&
           other.backward_bytes == layer.backward_bytes &&
           other.parameters() == layer.parameters() &&
           other.forward_seconds_per_sample == layer.forward_seconds_per_sample &&
           other.backward_seconds_per_sample == layer.backward_seconds_per_sample &&
           other.forward_launches == layer.forward_launches &&
           other.backward_launches == layer.backward_launches &&
           other.products.size() == layer.products.size() &&
           std::equal(other.products.begin(), other.products.end(), layer.products.begin(),
                      [](const LayerProduct& a, const LayerProduct& b) {
                        return a.rows_per_sample == b.rows_per_sample && a.in == b.in &&
                               a.out == b.out && a.count == b.count;
                      });
  };
  // Networks repeat a few layers many times; the last shapes seen are the likely ones.
  for (std::size_t i = shapes_.size(); i-- > 0 && shapes_.size() - i <= 12;) {
    if (same(*shape_layers_[i])) return i;
  }
  const double samples = job_.samples_per_micro_batch();
  Shape shape;
  const auto add = [&](Work& work, Pass pass, const LayerProduct& p) {
    const Product product{pass, job_.dtype, p.rows_per_sample * samples, p.in, p.out};
    const ProductPrice price = products.price(product);
    extrapolated_ = extrapolated_ || price.extrapolated;
    const double seconds = p.count * price.time.value();
    work.bytes += p.count * product.bytes().value();
    work.flops += p.count * product.flops().value();
    work.kernels += p.count * (price.grid ? kernels_of(*price.grid) : 1);
    work.variance_weight = (work.variance_weight * work.seconds + price.relative_error * seconds) /
                           (work.seconds + seconds);
    work.seconds += seconds;
    if (layer.products.size() == 1 && p.count == 1 && price.grid) {
      work.shared = shared_kernel(*price.grid, wave_cost(Seconds(work.seconds), Bytes(work.bytes),
                                                         machine_.copy_bandwidth.value.value()));
    }
  };
  for (const LayerProduct& p : layer.products) {
    add(shape.forward.products[0], Pass::forward, p);
    if (layer.needs_data_gradient) add(shape.backward.products[0], Pass::data_gradient, p);
    add(shape.backward.products[1], Pass::weight_gradient, p);
  }
  for (Way* way : {&shape.forward, &shape.backward}) {
    for (Work& work : way->products) set_rates(work);
  }
  add_given_times(layer, samples, shape);
  const double element = is_half(job_.dtype) ? 0.5 : 1.0;
  shape.forward.traffic = layer.forward_bytes * samples * element;
  shape.backward.traffic = layer.backward_bytes * samples * element;
  shape.forward.kernels = layer.forward_kernels;
  shape.backward.kernels = layer.backward_kernels;
  if (is_half(job_.dtype) && !layer.products.empty()) {
    for (Way* way : {&shape.forward, &shape.backward}) {
      way->casts += kAutocastBytes * layer.parameters();
      way->kernels += 1;
    }
    if (!layer.needs_data_gradient) {
      // The samples themselves, which are fp32.
      for (const LayerProduct& p : layer.products)
        shape.forward.casts += kAutocastBytes * samples * p.rows_per_sample * p.in;
      shape.forward.kernels += 1;
    }
  }
  shapes_.push_back(std::move(shape));
  shape_layers_.push_back(&layer);
  return shapes_.size() - 1;
}

std::optional<SharedKernel> StepModel::shared_kernel(const KernelGrid& grid,
                                                     const WaveCost& cost) const {
  const int multiprocessors = machine_.device.multiprocessors;
  if (job_.gpus == 1 || multiprocessors == 0 || channels_ == 0) return std::nullopt;
  return SharedKernel(grid, multiprocessors, channels_, cost);
}

// A product that a collective stretches asks for less of the memory at a time.
void StepModel::set_rates(Work& work) const {
  const int multiprocessors = machine_.device.multiprocessors;
  if (job_.gpus == 1 || multiprocessors == 0 || channels_ == 0 || !(work.seconds > 0)) return;
  const double copy_rate = machine_.copy_bandwidth.value.value();
  const double stretched =
      work.seconds *
      (work.shared ? work.shared->slowdown() : fluid_slowdown(multiprocessors, channels_));
  work.memory_share = std::min(1.0, work.bytes / stretched / copy_rate);
  work.flops_rate = FlopsPerSecond(work.flops / stretched);
}

bool StepModel::depends_on(Source source) const {
  const bool shared = job_.gpus > 1 && job_.strategy.sync;
  switch (source) {
    case Source::link:
      return shared;
    case Source::contention:
      // Of one unit nothing runs beside a collective, but gaps are longer all the same.
      return shared && (job_.strategy.sharding != Sharding::fsdp_unit ||
                        machine_.longer_gap_of(job_.engine) > Seconds{});
    case Source::hook:
      return shared && job_.strategy.compression.has_value();
    case Source::clock:
      return machine_.boost.has_value() || machine_.sustained.has_value();
    case Source::host:
      return host_time().seconds > 0 || (shared && machine_.framework);
    case Source::compute:
    case Source::memory:
      break;
  }
  return true;
}

}  // namespace ddpx
