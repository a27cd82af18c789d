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

#include "model/step_queue.hpp"

namespace ddpx {

struct StepModel::BlockWalk {
  const StepModel& m;
  Context& c;
  Step& step;

  Queue queue{c, m.collectives_.size()};

  void add(Term term, double seconds) const {
    step.terms[static_cast<std::size_t>(term)] += Seconds(seconds);
  }
  // Collectives per unit: gather, scatter and, with replicas, the all-reduce.
  [[nodiscard]] std::size_t first_of(std::size_t unit) const {
    return unit * (m.job_.strategy.hybrid ? 3 : 2);
  }

  // Compute stops for collective `i`: until it ends nothing runs beside the queue.
  void wait(std::size_t i) {
    queue.settle(i + 1);
    if (queue.end(i) <= c.now) return;
    const double end = queue.end(i) + c.handover();
    add(Term::exposed_communication, end - c.now);
    c.now = end;
  }

  void run(double alone, double stretched, Term term) const {
    add(term, alone);
    add(Term::contention, std::max(0.0, stretched - alone));
    c.now += stretched;
  }
  void product(const Work& work, Term term) {
    if (work.seconds <= 0) return;
    const double alone = c.product(work);
    run(alone, queue.beside_product(alone, work), term);
    run(c.longer_gaps(work), c.longer_gaps(work), term);
  }
  void memory(double alone, Term term) { run(alone, queue.beside_memory(alone), term); }
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
    const std::size_t gather = queue.launch(root);
    gathered = queue.launch(first_of(0));
    wait(gather);
    copy(root);
  } else {
    gathered = queue.launch(first_of(0));
  }
  std::size_t b = 0;
  for (std::size_t i = 0; i < m.layers_.size(); ++i) {
    if (b < blocks.size() && blocks[b].begin == i) {
      wait(gathered);
      if (b + 1 < blocks.size()) gathered = queue.launch(first_of(b + 1));
      copy(first_of(b));
      ++b;
    }
    const Shape& shape = m.shapes_[m.layers_[i].shape];
    const double start = c.now;
    for (const Work& work : shape.forward.products) product(work, Term::forward);
    memory(c.between_forward(shape.forward), Term::forward);
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
  if (again) gathered = queue.launch(first_of(b - 1));
  for (std::size_t i = m.layers_.size(); i-- > 0;) {
    if (b > 0 && blocks[b - 1].end == i + 1 && again) {
      wait(gathered);
      copy(first_of(b - 1));
      if (b > 1) gathered = queue.launch(first_of(b - 2));
    }
    const Shape& shape = m.shapes_[m.layers_[i].shape];
    const double start = c.now;
    memory(c.between_backward(shape.backward), Term::backward);
    for (const Work& work : shape.backward.products) product(work, Term::backward);
    c.span(Stream::compute, "backward", i, start, c.now);
    if (b == 0 || blocks[b - 1].begin != i) continue;
    --b;
    if (scatters) wait(scattered);
    copy(first_of(b) + 1);
    scattered = queue.launch(first_of(b) + 1);
    scatters = true;
  }
  if (m.blocks_.root_tensors > 0) {
    wait(scattered);
    copy(first_of(blocks.size()) + 1);
    scattered = queue.launch(first_of(blocks.size()) + 1);
  }
  wait(scattered);
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const Exchange& e = m.collectives_[queue.exchange(i)];
    c.span(Stream::communication,
           e.kind == Collective::all_gather ? "all-gather" : "reduce-scatter",
           queue.exchange(i) / first_of(1), queue.start(i), queue.end(i));
  }
  if (m.job_.strategy.hybrid) {
    replicas();
  } else {
    for (std::size_t i = 0; i < queue.size(); ++i)
      step.communication_busy += Seconds(queue.end(i) - queue.start(i));
  }
}

// Shards are all-reduced between the nodes as they come out of their reduce-scatters.
void StepModel::BlockWalk::replicas() {
  struct Busy {
    double start = 0;
    double end = 0;
  };
  std::vector<Busy> all;
  double free = 0;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    all.push_back({queue.start(i), queue.end(i)});
    const std::size_t exchange = queue.exchange(i);
    if (m.collectives_[exchange].kind != Collective::reduce_scatter) continue;
    const double start = std::max(free, queue.end(i));
    free = start + c.collective(exchange + 1);
    all.push_back({start, free});
    c.span(Stream::between, "all-reduce", exchange / first_of(1), start, free);
  }
  add(Term::exposed_communication, std::max(0.0, free - c.now));
  c.now = std::max(c.now, free);
  // Busy is the time in which any of them runs.
  std::sort(all.begin(), all.end(), [](const Busy& a, const Busy& b) { return a.start < b.start; });
  double covered = all.front().start;
  for (const Busy& busy : all) {
    step.communication_busy += Seconds(std::max(0.0, busy.end - std::max(busy.start, covered)));
    covered = std::max(covered, busy.end);
  }
}

void StepModel::by_block(Context& c, Step& step) const {
  BlockWalk walk{*this, c, step};
  walk.forward();
  walk.backward();
}

}  // namespace ddpx
