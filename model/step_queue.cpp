#include "model/step_queue.hpp"

#include <algorithm>
#include <cmath>

namespace ddpx {

StepModel::Queue::Queue(Context& context, std::size_t collectives)
    : context_(context),
      waits_(context.model.machine_.device.multiprocessors > 0 && context.model.channels_ > 0),
      all_(collectives) {}

void StepModel::Queue::begin(double time, double slowdown, double delay) {
  // The link has been idle since the step before, or since the collective before.
  const double free = begun_ == 0 ? -context_.optimizer() : end();
  all_[begun_].start = time;
  all_[begun_].alone = context_.collective_after(time - free, begun_);
  const double length = all_[begun_].alone * slowdown + delay;
  all_[begun_].memory_share = context_.memory_share(begun_, length);
  all_[begun_].end = time + length;
  ++begun_;
}

void StepModel::Queue::launch() {
  all_[launched_++].ready = context_.now;
  if (!waits_) {
    begin(std::max(context_.now, begun_ == 0 ? context_.now : end()), context_.collective_slowdown,
          context_.collective_delay);
  }
}

void StepModel::Queue::begin_until(double time) {
  while (begun_ < launched_) {
    const double at = begun_ == 0 ? all_[0].ready : std::max(all_[begun_].ready, end());
    if (at > time) return;
    begin(at, context_.collective_slowdown, 0);
  }
}

double StepModel::Queue::slowdown_beside(const Work& work) const {
  return 1.0 + context_.beside_memory * work.memory_share;
}

// When a collective that is ready `ready` after the product's beginning has room in it.
double StepModel::Queue::room_for(double ready, double kernel, const Work& work) const {
  if (!work.grid) {
    // It comes at any moment of a kernel that has room after a share r of its time: r^2 / 2 of the
    // kernel on average.
    return ready + 0.5 * context_.room_in_unknown * context_.room_in_unknown * kernel;
  }
  const double began = std::floor(ready / kernel) * kernel;
  const Seconds room = room_after(*work.grid, context_.model.machine_.device.multiprocessors,
                                  context_.model.channels_, Seconds(kernel));
  return std::max(ready, began + room.value());
}

double StepModel::Queue::beside_product(double alone, const Work& work) {
  const StepModel& model = context_.model;
  const int multiprocessors = model.machine_.device.multiprocessors;
  if (!waits_) return beside_collective(Seconds(alone), context_.fluid, left()).value();
  const double now = context_.now;
  begin_until(now);
  const double slowdown = slowdown_beside(work);
  const double running = std::max(0.0, left().value());
  const Seconds beside(running * slowdown);
  const double length = (work.grid ? beside_collective(Seconds(alone), *work.grid, multiprocessors,
                                                       model.channels_, beside)
                                   : beside_collective(Seconds(alone), context_.fluid, beside))
                            .value();
  if (running > 0)
    all_[begun_ - 1].end += std::min(beside.value(), length) * (1.0 - 1.0 / slowdown);
  // Collectives that come later find room in one of the kernels this work is made of.
  const double kernel = length / std::max(1.0, work.kernels);
  while (begun_ < launched_) {
    const double ready = std::max(all_[begun_].ready, end()) - now;
    const double at = room_for(ready, kernel, work);
    if (!(at < length)) break;
    begin(now + at, context_.collective_slowdown, 0);
    const double slowed = std::min(all_[begun_ - 1].alone * slowdown, length - at);
    all_[begun_ - 1].end += slowed * (1.0 - 1.0 / slowdown);
  }
  return length;
}

double StepModel::Queue::beside_memory_bound(double alone) {
  std::size_t first = begun_;
  while (first > 0 && all_[first - 1].end > context_.now) --first;
  return context_.beside_collectives(alone, std::span(all_).subspan(first, begun_ - first));
}

void StepModel::Queue::products_are_over() {
  const double now = context_.now;
  for (std::size_t i = 0; i < begun_; ++i) {
    if (all_[i].end <= now) continue;
    const double delay = waits_ ? 0.0 : context_.collective_delay;
    const double stretch = context_.collective_slowdown + delay / all_[i].alone;
    const double slow_from = std::max(all_[i].start, now);
    // One that starts after the products starts when the one before it has ended.
    if (all_[i].start > now && i > 0) all_[i].start = std::max(now, all_[i - 1].end);
    all_[i].end = std::max(all_[i].start, now) + (all_[i].end - slow_from) / stretch;
  }
  while (begun_ < launched_)
    begin(begun_ == 0 ? all_[0].ready : std::max(all_[begun_].ready, end()), 1.0, 0.0);
}

}  // namespace ddpx
