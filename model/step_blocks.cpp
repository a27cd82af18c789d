// The walk over a micro-batch whose parameters are sharded by block (FSDP2, ZeRO-3, HSDP).
//
// Forward: the all-gather of block i+1 runs while block i computes, two gathered blocks at a time.
// Backward: the same in reverse order when blocks were resharded; a block's reduce-scatter starts
// when its gradients are complete, and the next block's copy into its input waits for it. One
// communicator, so all-gathers and reduce-scatters run in the order they are issued; the
// all-reduces between replicas have their own. The root is gathered first, kept, and scattered
// last. Source: torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py.
#include <algorithm>
#include <vector>

#include "model/step_context.hpp"

namespace ddpx {

struct StepModel::BlockWalk {
  const StepModel& m;
  Context& c;
  Step& step;

  struct Running {
    std::size_t exchange = 0;
    double alone = 0;
    double start = 0;
    double end = 0;
    double memory_share = 0;
  };
  std::vector<Running> queue{};

  void add(Term term, double seconds) const {
    step.terms[static_cast<std::size_t>(term)] += Seconds(seconds);
  }
  [[nodiscard]] double left() const {
    return queue.empty() ? 0 : std::max(0.0, queue.back().end - c.now);
  }
  // Collectives per unit: gather, scatter and, with replicas, the all-reduce.
  [[nodiscard]] std::size_t first_of(std::size_t unit) const {
    return unit * (m.job_.strategy.hybrid ? 3 : 2);
  }

  std::size_t launch(std::size_t exchange, double ready) {
    const double free = queue.empty() ? -c.optimizer() : queue.back().end;
    const double start = std::max(ready, free);
    const double alone = c.collective_after(start - free, exchange);
    const double length = alone * c.collective_slowdown + c.collective_delay;
    queue.push_back({exchange, alone, start, start + length, c.memory_share(exchange, length)});
    return queue.size() - 1;
  }

  // Compute stops for collective `i`: until it ends nothing runs beside the queue.
  void wait(std::size_t i) {
    if (queue[i].end <= c.now) return;
    double free = c.now;
    for (std::size_t j = 0; j < queue.size(); ++j) {
      Running& r = queue[j];
      if (r.end <= c.now) continue;
      const double length = r.end - r.start;
      const double done = std::max(0.0, c.now - r.start) / length;
      if (r.start > c.now) r.start = free;
      r.end = free + (1.0 - done) * (j <= i ? r.alone : length);
      free = r.end;
    }
    add(Term::exposed_communication, queue[i].end - c.now);
    c.now = queue[i].end;
  }

  void run(double alone, double stretched, Term term) const {
    add(term, alone);
    add(Term::contention, stretched - alone);
    c.now += stretched;
  }
  void product(const Work& work, Term term) const {
    if (work.seconds <= 0) return;
    const Seconds alone(c.product(work));
    const int multiprocessors = m.machine_.device.multiprocessors;
    const Seconds stretched =
        work.grid && multiprocessors > 0
            ? beside_collective(alone, *work.grid, multiprocessors, m.channels_, Seconds(left()))
            : beside_collective(alone, c.fluid, Seconds(left()));
    run(alone.value(), stretched.value(), term);
  }
  void memory(double alone, Term term) {
    run(alone, c.beside_collectives(alone, std::span(queue)), term);
  }
  // Out of the gathered buffer into parameters, or of gradients into the scattered one.
  void copy(std::size_t exchange) {
    const Exchange& e = m.collectives_[exchange];
    memory(c.traffic(2 * e.gradient.value(), 1), Term::copies);
  }

  void forward();
  void backward();
  void replicas();
};

void StepModel::BlockWalk::forward() {
  const std::vector<Block>& blocks = m.blocks_.list;
  const std::size_t root = first_of(blocks.size());
  std::size_t gathered = 0;
  if (m.blocks_.root_tensors > 0) {
    const std::size_t gather = launch(root, c.now);
    gathered = launch(first_of(0), c.now);
    wait(gather);
    copy(root);
  } else {
    gathered = launch(first_of(0), c.now);
  }
  std::size_t b = 0;
  for (std::size_t i = 0; i < m.layers_.size(); ++i) {
    if (b < blocks.size() && blocks[b].begin == i) {
      wait(gathered);
      if (b + 1 < blocks.size()) gathered = launch(first_of(b + 1), c.now);
      copy(first_of(b));
      ++b;
    }
    const Shape& shape = m.shapes_[m.layers_[i].shape];
    const double start = c.now;
    memory(c.traffic(shape.forward_traffic, shape.forward_kernels), Term::forward);
    product(shape.forward, Term::forward);
    c.span(Stream::compute, "forward", i, start, c.now);
  }
}

void StepModel::BlockWalk::backward() {
  const std::vector<Block>& blocks = m.blocks_.list;
  const bool again = m.job_.strategy.reshard;
  std::size_t gathered = 0;
  std::size_t b = blocks.size();
  std::size_t scattered = queue.size();  // of the block after the present one
  bool scatters = false;
  if (again) gathered = launch(first_of(b - 1), c.now);
  for (std::size_t i = m.layers_.size(); i-- > 0;) {
    if (b > 0 && blocks[b - 1].end == i + 1 && again) {
      wait(gathered);
      copy(first_of(b - 1));
      if (b > 1) gathered = launch(first_of(b - 2), c.now);
    }
    const Shape& shape = m.shapes_[m.layers_[i].shape];
    const double start = c.now;
    memory(c.traffic(shape.backward_traffic, shape.backward_kernels) + shape.backward_memory,
           Term::backward);
    for (const Work& work : shape.backward) product(work, Term::backward);
    c.span(Stream::compute, "backward", i, start, c.now);
    if (b == 0 || blocks[b - 1].begin != i) continue;
    --b;
    if (scatters) wait(scattered);
    copy(first_of(b) + 1);
    scattered = launch(first_of(b) + 1, c.now);
    scatters = true;
  }
  if (m.blocks_.root_tensors > 0) {
    wait(scattered);
    copy(first_of(blocks.size()) + 1);
    scattered = launch(first_of(blocks.size()) + 1, c.now);
  }
  wait(scattered);
  for (const Running& r : queue) {
    const Exchange& e = m.collectives_[r.exchange];
    c.span(Stream::communication,
           e.kind == Collective::all_gather ? "all-gather" : "reduce-scatter",
           r.exchange / first_of(1), r.start, r.end);
  }
  if (m.job_.strategy.hybrid) {
    replicas();
  } else {
    for (const Running& r : queue) step.communication_busy += Seconds(r.end - r.start);
  }
}

// Shards are all-reduced between the nodes as they come out of their reduce-scatters.
void StepModel::BlockWalk::replicas() {
  std::vector<Running> all = queue;
  double free = 0;
  for (const Running& r : queue) {
    if (m.collectives_[r.exchange].kind != Collective::reduce_scatter) continue;
    const double start = std::max(free, r.end);
    free = start + c.collective(r.exchange + 1);
    all.push_back({r.exchange + 1, free - start, start, free});
    c.span(Stream::between, "all-reduce", r.exchange / first_of(1), start, free);
  }
  add(Term::exposed_communication, std::max(0.0, free - c.now));
  c.now = std::max(c.now, free);
  // Busy is the time in which any of them runs.
  std::sort(all.begin(), all.end(),
            [](const Running& a, const Running& b) { return a.start < b.start; });
  double covered = all.front().start;
  for (const Running& r : all) {
    step.communication_busy += Seconds(std::max(0.0, r.end - std::max(r.start, covered)));
    covered = std::max(covered, r.end);
  }
}

void StepModel::by_block(Context& c, Step& step) const {
  BlockWalk walk{*this, c, step};
  walk.forward();
  walk.backward();
}

}  // namespace ddpx
