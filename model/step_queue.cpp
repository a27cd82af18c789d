#include "model/step_queue.hpp"

#include <algorithm>
#include <cmath>

namespace ddpx {

StepModel::Queue::Queue(Context& context, std::size_t collectives)
    : context_(context),
      waits_(context.model.machine_.device.multiprocessors > 0 && context.model.channels_ > 0) {
  all_.reserve(collectives);
}

double StepModel::Queue::next() const {
  return std::max({all_[begun_].ready, begun_ == 0 ? 0.0 : end(), no_room_until_});
}

void StepModel::Queue::begin(double time, double slowdown, double delay) {
  // The link has been idle since the step before, or since the collective before.
  const double free = begun_ == 0 ? -context_.optimizer() : end();
  Entry& entry = all_[begun_];
  entry.start = time;
  entry.alone = context_.collective_after(time - free, entry.exchange);
  const double length = entry.alone * slowdown + delay;
  entry.memory = context_.memory_taken(entry.exchange, length);
  entry.end = time + length;
  ++begun_;
}

std::size_t StepModel::Queue::launch(std::size_t exchange) {
  const double looked_at = 0.5 * context_.model.job_.strategy.cycle.value();
  all_.push_back({exchange, context_.now + context_.handover() + looked_at});
  if (!waits_) begin(next(), context_.collective_slowdown, context_.collective_delay);
  return all_.size() - 1;
}

void StepModel::Queue::begin_until(double time) {
  while (begun_ < all_.size() && !(next() > time)) begin(next(), context_.collective_slowdown, 0);
}

double StepModel::Queue::slowdown_beside(const Work& work) const {
  return 1.0 + context_.beside_memory * work.memory_share +
         context_.beside_flops * (work.flops_rate / kFlopsUnit);
}

double StepModel::Queue::beside_product(double alone, const Work& work) {
  if (!waits_) return beside_collective(Seconds(alone), context_.fluid, left()).value();
  const double now = context_.now;
  begin_until(now);
  const double slowdown = slowdown_beside(work);
  const double running = std::max(0.0, left().value());
  const Seconds beside(running * slowdown);
  // Later collectives find room in the kernel itself, or in one of those that unknown work is made
  // of.
  BesideCollective kernel;
  if (work.shared) {
    kernel = work.shared->beside(Seconds(alone), beside);
  } else {
    kernel.time = beside_collective(Seconds(alone), context_.fluid, beside);
    // It comes at any moment of a kernel that has room after a share r of its time: r^2 / 2 of the
    // kernel on average.
    kernel.room = 0.5 * context_.room_in_unknown * context_.room_in_unknown /
                  std::max(1.0, work.kernels) * kernel.time;
  }
  double length = kernel.time.value();
  if (running > 0)
    all_[begun_ - 1].end += std::min(beside.value(), length) * (1.0 - 1.0 / slowdown);
  while (begun_ < all_.size()) {
    const double ready = next() - now;
    const double at =
        work.shared ? std::max(ready, kernel.room.value()) : ready + kernel.room.value();
    if (!(at < length)) break;
    begin(now + at, context_.collective_slowdown, 0);
    const double slowed = all_[begun_ - 1].alone * slowdown;
    // One that waited for a grid's last blocks takes nothing from it; of an unknown grid nobody
    // knows.
    if (!work.shared)
      length =
          at + beside_collective(Seconds(length - at), context_.fluid, Seconds(slowed)).value();
    all_[begun_ - 1].end += std::min(slowed, length - at) * (1.0 - 1.0 / slowdown);
  }
  no_room_until_ = now + length;
  return length;
}

double StepModel::Queue::beside_memory(double alone) {
  begin_until(context_.now);
  const double now = context_.now;
  while (ended_ < begun_ && !(all_[ended_].end > now)) ++ended_;
  double time = now;
  double left = alone;  // of the work
  double lost = 0;
  double late = 0;  // by which collectives are put off
  std::size_t i = ended_;
  for (; left > 0 && i < all_.size(); ++i) {
    if (i < begun_) {
      if (all_[i].start > now) all_[i].start += late;
      all_[i].end += late;
    } else if (next() < time + left) {
      begin(next(), context_.collective_slowdown, 0);
    } else {
      break;
    }
    Entry& entry = all_[i];
    const double pause = std::clamp(entry.start - time, 0.0, left);
    time += pause;
    left -= pause;
    const MemoryTaken& memory = entry.memory;
    const double running =
        std::min((entry.end - time) * memory.stretch, left * memory.work_stretch);
    time += running;
    left = std::max(0.0, left - running * (1.0 - memory.share));
    lost += running * memory.share;
    const double behind = running * (1.0 - memory.speed);
    entry.end += behind;
    late += behind;
  }
  for (; late > 0 && i < begun_; ++i) {
    all_[i].start += late;
    all_[i].end += late;
  }
  return alone + lost;
}

void StepModel::Queue::settle(std::size_t count) {
  const double now = context_.now;
  const double delay = waits_ ? 0.0 : context_.collective_delay;
  while (ended_ < begun_ && !(all_[ended_].end > now)) ++ended_;
  for (std::size_t i = ended_; i < begun_; ++i) {
    Entry& entry = all_[i];
    const double left = entry.end - std::max(entry.start, now);
    // One that starts later starts when it is ready and the one before it has ended.
    if (entry.start > now && i > 0) entry.start = std::max(entry.ready, all_[i - 1].end);
    const double stretch = i < count ? context_.collective_slowdown + delay / entry.alone : 1.0;
    entry.end = std::max(entry.start, now) + left / stretch;
  }
  while (begun_ < std::min(count, all_.size())) begin(next(), 1.0, 0.0);
}

}  // namespace ddpx
