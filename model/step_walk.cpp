// The walk over a step's two streams: see step.hpp.
#include <algorithm>
#include <cmath>

#include "model/step_queue.hpp"

namespace ddpx {
namespace {

// The compression hook casts (4 B read, 2 B written) and divides in place (2 + 2):
// default_hooks.py.
constexpr double kCompressBytes = 10;
// Adding a micro-batch's gradient reads both and writes one.
constexpr double kAccumulateBytes = 12;
// FSDP copies the unsharded parameters and gradients once in and once out around each collective: 4
// passes of the gradient's bytes.
constexpr double kFsdpCopyPasses = 4;

void add(Step& step, Term term, double seconds) {
  step.terms[static_cast<std::size_t>(term)] += Seconds(seconds);
}

}  // namespace

// A collective of `seconds` that compute waits for from its beginning.
void StepModel::exposed(Context& c, Step& step, const char* what, double seconds) const {
  const double start = c.now + c.handover();
  step.communication_busy += Seconds(seconds);
  add(step, Term::exposed_communication, seconds + 2 * c.handover());
  c.now = start + seconds + c.handover();
  c.span(Stream::communication, what, 0, start, c.now);
}

// The last backward with its buckets: DistributedDataParallel in the steady state.
void StepModel::synchronised(Context& c, Step& step) const {
  const bool half = job_.strategy.compression.has_value();
  Queue queue(c, buckets_.size());
  std::size_t launched = 0;
  std::size_t tensor = 0;
  const auto run = [&](double alone, double stretched, Term term) {
    add(step, term, alone);
    add(step, Term::contention, std::max(0.0, stretched - alone));
    c.now += stretched;
  };
  const auto run_memory = [&](double alone, Term term) {
    run(alone, queue.beside_memory(alone), term);
  };
  const auto launch_complete = [&](std::size_t tensors) {
    for (; launched < buckets_.size() && buckets_[launched].end <= tensors; ++launched) {
      if (half) {
        run_memory(c.traffic(kCompressBytes / kGradientBytes * buckets_[launched].bytes.value(), 2),
                   Term::compression);
      }
      queue.launch(launched);
    }
  };
  // Copies into a bucket that is not full yet and the next layer's memory-bound work are one piece:
  // the queue's answer does not depend on where it is cut.
  double copies = 0;
  const auto run_memory_with_copies = [&](double alone) {
    const double stretched = queue.beside_memory(copies + alone);
    add(step, Term::copies, copies);
    add(step, Term::backward, alone);
    add(step, Term::contention, std::max(0.0, stretched - copies - alone));
    c.now += stretched;
    copies = 0;
  };
  // DeepSpeed's stage 2 reduces on the stream that computes (overlap_comm is false by default).
  const bool overlap = job_.strategy.overlap && job_.strategy.sharding != Sharding::zero2;
  for (std::size_t i = layers_.size(); i-- > 0;) {
    const LayerWork& layer = layers_[i];
    const Shape& shape = shapes_[layer.shape];
    const double start = c.now;
    run_memory_with_copies(c.between_backward(shape.backward));
    for (const Work& work : shape.backward.products) {
      if (work.seconds <= 0) continue;
      const double alone = c.product(work);
      run(alone, queue.beside_product(alone, work), Term::backward);
      run(c.longer_gaps(work), c.longer_gaps(work), Term::backward);
    }
    c.span(Stream::compute, "backward", i, start, c.now);
    if (layer.tensors == 0) continue;
    copies += c.traffic(2 * layer.gradient_bytes, static_cast<int>(layer.tensors));
    tensor += layer.tensors;
    const bool completes =
        overlap && launched < buckets_.size() && buckets_[launched].end <= tensor;
    if (!completes && c.timeline == nullptr) continue;
    run_memory_with_copies(0);
    if (overlap) launch_complete(tensor);
  }
  run_memory_with_copies(0);
  launch_complete(tensor);
  queue.settle(buckets_.size());
  const double backward_end = c.now;
  double serial_end = backward_end;
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    serial_end += queue.alone(b);
    step.communication_busy += Seconds(queue.end(b) - queue.start(b));
    c.span(Stream::communication, "all-reduce", b, queue.start(b), queue.end(b));
  }
  if (half && !buckets_.empty()) {
    // A Python hook keeps only part of the overlap: between this and none at all.
    const double kept =
        std::clamp(machine_.hook_overlap.shifted(c.shift.of(Source::hook)), 0.0, 1.0);
    const double last = queue.end(buckets_.size() - 1);
    const double late = (1.0 - kept) * (serial_end - std::max(backward_end, last));
    for (std::size_t b = 0; b < buckets_.size(); ++b) queue.end(b) += late;
  }
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    const double wait = queue.end(b) > c.now ? queue.end(b) + c.handover() - c.now : 0.0;
    add(step, Term::exposed_communication, wait);
    c.now += wait;
    const double start = c.now;
    const double bytes = buckets_[b].bytes.value();
    if (half && !python_hook())
      run_memory(c.traffic(kDecompressBytes / kGradientBytes * bytes, 1), Term::compression);
    // ZeRO's stage 2 keeps its part where it was reduced.
    if (!job_.strategy.bucket_view && job_.strategy.sharding != Sharding::zero2) {
      run_memory(c.traffic(2 * bytes, static_cast<int>(buckets_[b].end - buckets_[b].begin)),
                 Term::copies);
    }
    c.span(Stream::compute, "copy-out", b, start, c.now);
  }
}

// One FSDP unit around the whole model: the all-gather has nothing to hide behind and the
// reduce-scatter starts after the last gradient.
void StepModel::one_unit(Context& c, Step& step) const {
  exposed(c, step, "all-gather", c.collective_after(c.optimizer(), 0));
  double backward = 0;
  for (const LayerWork& layer : layers_) {
    const Shape& shape = shapes_[layer.shape];
    backward += c.backward(shape);
  }
  add(step, Term::backward, backward);
  c.span(Stream::compute, "backward", 0, c.now, c.now + backward);
  c.now += backward;
  const double copies = c.traffic(kFsdpCopyPasses * kGradientBytes * parameters_, 4);
  add(step, Term::copies, copies);
  c.now += copies;
  exposed(c, step, "reduce-scatter", c.collective_after(backward + copies, 1));
}

void StepModel::gather_updated(Context& c, Step& step, double idle) const {
  exposed(c, step, "all-gather", c.collective_after(idle, buckets_.size()));
}

void StepModel::micro_batch(Context& c, Step& step, bool shared) const {
  if (shared && job_.strategy.by_block()) return by_block(c, step);
  if (shared) {
    add(step, Term::exposed_communication, broadcasts_);
    step.communication_busy += Seconds(broadcasts_);
    c.now += broadcasts_;
  }
  double forward = 0;
  double backward = 0;
  for (const LayerWork& layer : layers_) {
    const Shape& shape = shapes_[layer.shape];
    forward += c.forward(shape);
    if (!shared) backward += c.backward(shape);
  }
  c.span(Stream::compute, "forward", 0, c.now, c.now + forward);
  add(step, Term::forward, forward);
  c.now += forward;
  if (shared && job_.strategy.bucketed()) return synchronised(c, step);
  if (shared) return one_unit(c, step);
  add(step, Term::backward, backward);
  c.span(Stream::compute, "backward", 0, c.now, c.now + backward);
  c.now += backward;
}

// All alike, so that one stands for all. What sharing adds to each counts as what it is; their
// compute and the sum of their gradients are accumulation.
void StepModel::earlier(Context& c, Step& step) const {
  const double times = job_.strategy.micro_batches - 1;
  if (times < 1) return;
  const bool shared = c.exchange && job_.gpus > 1 && job_.strategy.synchronisations() > 1;
  Step one;
  Context alone = c;
  alone.timeline = nullptr;
  alone.burst = alone.credit = 0;
  micro_batch(alone, one, shared);
  add_earlier(c, step, one);
  const double end = c.now + step.total().value();
  c.span(Stream::compute, "earlier micro-batches", static_cast<std::size_t>(times), c.now, end);
  c.now = end;
}

void StepModel::add_earlier(const Context& c, Step& step, const Step& one) const {
  const double times = job_.strategy.micro_batches - 1;
  // A rank that keeps a share of the gradients adds up no more than that.
  const Sharding sharding = job_.strategy.sharding;
  const bool share = sharding != Sharding::none && sharding != Sharding::zero1;
  const double kept = parameters_ / (share ? job_.strategy.shards(job_.gpus) : 1);
  double compute = (one.term(Term::forward) + one.term(Term::backward)).value();
  // Elementwise work as the update's, which whole steps say the same of.
  compute += c.scaled_traffic(kAccumulateBytes * kept, static_cast<double>(tensors_));
  for (std::size_t t = 0; t < kTerms; ++t) {
    if (t == static_cast<std::size_t>(Term::forward) ||
        t == static_cast<std::size_t>(Term::backward))
      continue;
    step.terms[t] += one.terms[t] * times;
  }
  add(step, Term::accumulation, compute * times);
  step.communication_busy += one.communication_busy * times;
}

Step StepModel::simulate(const Shift& shift, const Walk& walk, Timeline* timeline) const {
  Step step;
  Context c(*this, shift, walk, timeline);
  const bool shared = job_.gpus > 1 && job_.strategy.sync && walk.exchange;
  // Where every micro-batch shares its gradients and nothing is drawn, the last is as the others.
  const bool alike =
      shared && job_.strategy.synchronisations() > 1 && timeline == nullptr && c.burst == 0;
  if (!alike) earlier(c, step);
  micro_batch(c, step, shared);
  if (alike) add_earlier(c, step, Step(step));
  const double optimizer = c.optimizer();
  c.span(Stream::compute, "optimizer", 0, c.now, c.now + optimizer);
  add(step, Term::optimizer, optimizer);
  c.now += optimizer;
  if (shared && job_.strategy.bucketed() && job_.strategy.sharding != Sharding::none)
    gather_updated(c, step, optimizer);
  if (slowest_ > 0) {
    const double compute =
        (step.term(Term::forward) + step.term(Term::backward) + step.term(Term::accumulation))
            .value();
    add(step, Term::imbalance, slowest_ * compute);
  }
  if (shared && machine_.framework) {
    const FrameworkCost& cost = *machine_.framework;
    const Seconds most = cost.most * (step.term(Term::forward) + step.term(Term::backward));
    const Seconds time = std::min(cost.time.shifted(shift.of(Source::host)), most);
    add(step, Term::framework, job_.strategy.synchronisations() * time.value());
  }
  if (const HostTime host = host_time(); host.seconds > 0) {
    const double seconds = host.seconds * std::max(0.05, 1.0 + shift.of(Source::host) * host.error);
    step.host = Seconds(seconds);
    add(step, Term::host, std::max(0.0, seconds - step.total().value()));
    c.span(Stream::host, "host", 0, 0, seconds);
  }
  if (job_.loader) {
    const double fed = job_.samples_per_step() / job_.loader->rate(job_.gpus);
    add(step, Term::loader, std::max(0.0, fed - step.total().value()));
  }
  return step;
}

}  // namespace ddpx
