// Which collectives a step has and what each costs alone: see step.hpp.
#include <algorithm>
#include <array>

#include "model/error.hpp"
#include "model/step.hpp"

namespace ddpx {

const Link& StepModel::link_of(const Exchange& exchange) const {
  if (!job_.strategy.hybrid) return *link_;
  return link_->levels[exchange.between ? 1 : 0];
}

void StepModel::add_exchange(Exchange exchange) {
  // Networks repeat their layers, so a message is often one of the last few again.
  for (std::size_t i = collectives_.size(); i-- > 0 && collectives_.size() - i <= 4;) {
    const Exchange& known = collectives_[i];
    if (known.kind != exchange.kind || known.message != exchange.message ||
        known.wire != exchange.wire || known.between != exchange.between) {
      continue;
    }
    exchange.time = known.time;
    exchange.relative_error = known.relative_error;
    exchange.least = known.least;
    collectives_.push_back(exchange);
    return;
  }
  const CollectivePrice price = ddpx::price(
      link_of(exchange), {exchange.kind, exchange.wire, exchange.message, exchange.ranks});
  extrapolated_ = extrapolated_ || price.extrapolated;
  exchange.time = price.time.value();
  exchange.relative_error = price.relative_error;
  exchange.least = price.least.value();
  collectives_.push_back(exchange);
}

Seconds StepModel::least_exchange() const {
  // A link that saves up while idle lets its first bytes pass faster than its rate.
  if (job_.gpus < 2 || !job_.strategy.sync || link_->burst.value > Seconds{}) return {};
  // Those between nodes run beside those inside.
  std::array<double, 2> levels{};
  for (const Exchange& exchange : collectives_)
    levels[exchange.between ? 1 : 0] += exchange.least * exchange.per_step;
  return Seconds(std::max(levels[0], levels[1]));
}

void StepModel::fill_buckets() {
  const double element = network_.gradient_element_bytes();
  std::vector<Bytes> arrival;
  arrival.reserve(tensors_);
  for (auto layer = network_.layers.rbegin(); layer != network_.layers.rend(); ++layer) {
    for (double elements : layer->tensors) arrival.emplace_back(element * elements);
  }
  assign_buckets(arrival, job_.strategy.bucket_limits(), buckets_);
}

void StepModel::price_buckets() {
  const double element = network_.gradient_element_bytes();
  const DType own = element < kGradientBytes ? DType::bf16 : DType::fp32;
  if (buckets_.empty()) fill_buckets();
  collectives_.reserve(buckets_.size() + 1);
  Exchange all_reduce;
  all_reduce.wire = job_.strategy.compression.value_or(own);
  all_reduce.ranks = job_.gpus;
  all_reduce.per_step = job_.strategy.synchronisations();
  const double shrink = element_bytes(all_reduce.wire) / element;
  for (const Bucket& bucket : buckets_) {
    all_reduce.tensors = bucket.end - bucket.begin;
    all_reduce.gradient = bucket.bytes;
    all_reduce.message = bucket.bytes * shrink;
    add_exchange(all_reduce);
  }
  if (job_.strategy.sharding == Sharding::none) return;
  const Bytes all(element * parameters_);
  add_exchange({Collective::all_gather, tensors_, all, all, own, job_.gpus, false, 1, 0, 0, 0});
}

// Per unit all-gather, reduce-scatter and, with replicas, the all-reduce of what a rank keeps.
void StepModel::price_blocks() {
  const Strategy& strategy = job_.strategy;
  if (strategy.hybrid && link_->levels.empty()) {
    throw InputError("--strategy",
                     "'" + describe(strategy) +
                         "' shards inside a node and all-reduces between nodes, and the link " +
                         link_->name + " has no such levels; give --gpus " +
                         std::to_string(strategy.hybrid->replicas) + "x" +
                         std::to_string(strategy.hybrid->shards) + " and --inter-link");
  }
  blocks_ = blocks_of(network_);
  const double element = network_.gradient_element_bytes();
  const double k = strategy.micro_batches;
  Exchange unit;
  unit.wire = element < kGradientBytes ? DType::bf16 : DType::fp32;
  unit.ranks = strategy.shards(job_.gpus);
  const auto add = [&](double parameters, std::size_t tensors, double gathers) {
    unit.tensors = tensors;
    unit.gradient = unit.message = Bytes(element * parameters);
    unit.kind = Collective::all_gather;
    unit.per_step = k * gathers;
    add_exchange(unit);
    unit.kind = Collective::reduce_scatter;
    unit.per_step = k;
    add_exchange(unit);
    if (!strategy.hybrid) return;
    Exchange shard = unit;
    shard.kind = Collective::all_reduce;
    shard.message = unit.message / static_cast<double>(strategy.hybrid->shards);
    shard.ranks = strategy.hybrid->replicas;
    shard.between = true;
    add_exchange(shard);
  };
  for (const Block& block : blocks_.list)
    add(block.parameters, block.tensors, strategy.reshard ? 2 : 1);
  if (blocks_.root_tensors > 0) add(blocks_.root_parameters, blocks_.root_tensors, 1);
}

void StepModel::price_collectives() {
  if (job_.strategy.by_block()) {
    price_blocks();
  } else if (job_.strategy.bucketed()) {
    price_buckets();
  } else {
    const double element = network_.gradient_element_bytes();
    const DType own = element < kGradientBytes ? DType::bf16 : DType::fp32;
    const Bytes all(element * parameters_);
    for (const Collective kind : {Collective::all_gather, Collective::reduce_scatter}) {
      add_exchange({kind, tensors_, all, all, own, job_.gpus, false,
                    static_cast<double>(job_.strategy.micro_batches), 0, 0, 0});
    }
  }
  if (!network_.captured || !job_.strategy.bucketed()) return;
  // A broadcast moves no more than an all-reduce of as many bytes and waits no longer.
  for (const double bytes : network_.captured->broadcast_bytes) {
    broadcasts_ +=
        price(*link_, {Collective::all_reduce, DType::fp32, Bytes(bytes), job_.gpus}).time.value();
  }
}

}  // namespace ddpx
