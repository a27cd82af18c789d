// How much a step can lose to waves: what beginning to end beside a collective would cost every
// product, and a product's time for each collective that waits for room.
#pragma once

#include <algorithm>

#include "model/step.hpp"

namespace ddpx::test {

inline Seconds lost_in_waves(const Machine& machine, const Link& link, const Network& network,
                             const Job& job) {
  const int multiprocessors = machine.device.multiprocessors;
  if (multiprocessors == 0 || link.channels == 0) return {};
  const double even = fluid_slowdown(multiprocessors, link.channels);
  const ProductTable products(machine, job.dtype);
  double lost = 0;
  double longest = 0;
  for (const Layer& layer : network.layers) {
    for (const LayerProduct& p : layer.products) {
      for (const Pass pass : {Pass::forward, Pass::data_gradient, Pass::weight_gradient}) {
        const ProductPrice price = products.price(
            {pass, job.dtype, p.rows_per_sample * job.samples_per_micro_batch(), p.in, p.out});
        const double slowdown =
            price.grid ? wave_slowdown(*price.grid, multiprocessors, link.channels) : even;
        lost += p.count * price.time.value() * (std::max(slowdown, even) - 1);
        longest = std::max(longest, price.time.value() * std::max(slowdown, even));
      }
    }
  }
  double collectives = 0;
  const StepModel model(machine, link, network, job);
  for (const Exchange& e : model.exchanges()) collectives += e.per_step;
  return Seconds(lost * job.strategy.micro_batches + collectives * longest);
}

}  // namespace ddpx::test
