// A step's collectives on their stream: launched in order, begun one after the other. For the walks
// alone.
//
// On a GPU a launched collective begins when its channels find multiprocessors
// (BesideCollective::room): at once beside memory-bound kernels, which end soon, but only late in a
// product that was running when it came. Beside products it is slowed by the memory bandwidth that
// these take. On processor cores there is no room to wait for; what a collective loses there is a
// measured factor and delay (SharedCore).
#pragma once

#include <cstddef>
#include <vector>

#include "model/step_context.hpp"

namespace ddpx {

class StepModel::Queue {
 public:
  // Room for that many collectives; more may come.
  Queue(Context& context, std::size_t collectives);

  // Exchange `exchange` of the model is ready at the walk's time. Returns its place in the queue.
  std::size_t launch(std::size_t exchange);
  // Begins, in order, what waits and can begin by `time`.
  void begin_until(double time);
  // Time for which collectives that have begun go on.
  [[nodiscard]] Seconds left() const { return Seconds(end() - context_.now); }
  // Length of a product of `alone` that begins now, with what has begun beside it; begins what
  // finds room within it, and lengthens the collectives by what it takes of the memory. What finds
  // none begins after it.
  [[nodiscard]] double beside_product(double alone, const Work& work);
  // Length of memory-bound work of `alone` that begins now; begins what comes while it runs. It and
  // the collectives beside it share the memory (memory_taken()) and end later by what each loses;
  // cutting the work in two changes nothing.
  [[nodiscard]] double beside_memory(double alone);
  // No product runs from now until the first `count` have ended: what is left of them goes at its
  // own speed.
  void settle(std::size_t count);

  [[nodiscard]] std::size_t size() const { return all_.size(); }
  [[nodiscard]] std::size_t exchange(std::size_t i) const { return all_[i].exchange; }
  [[nodiscard]] double start(std::size_t i) const { return all_[i].start; }
  [[nodiscard]] double& end(std::size_t i) { return all_[i].end; }
  // Nothing beside it.
  [[nodiscard]] double alone(std::size_t i) const { return all_[i].alone; }

 private:
  struct Entry {
    std::size_t exchange = 0;
    double ready = 0;
    double start = 0;
    double end = 0;
    double alone = 0;
    MemoryTaken memory{};
  };
  [[nodiscard]] double end() const { return begun_ == 0 ? 0.0 : all_[begun_ - 1].end; }
  // When the next that has not begun can.
  [[nodiscard]] double next() const;
  void begin(double time, double slowdown, double delay);
  [[nodiscard]] double slowdown_beside(const Work& work) const;

  Context& context_;
  bool waits_;  // for room
  std::size_t begun_ = 0;
  std::size_t ended_ = 0;     // before memory-bound work that began, at least so many had
  double no_room_until_ = 0;  // what found no room in a product begins after it
  std::vector<Entry> all_;
};

}  // namespace ddpx
