// A training step played through event by event: two streams, a queue of collectives, thread blocks
// placed one by one. It shares no code with the model, so that the model's intervals can be judged
// by it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <functional>
#include <limits>
#include <queue>
#include <vector>

namespace ddpx::test {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

// What a machine, its link and one network come down to, as plain numbers.
struct World {
  int layers = 8;
  double elements = 1e6;  // parameters of a layer
  double forward = 1e-3, data_gradient = 1e-3, weight_gradient = 1e-3;
  int blocks = 0;  // of a gradient kernel; 0: slows by its share
  int multiprocessors = 0;
  int channels = 0;
  double copy_seconds_per_byte = 0;
  double update_seconds_per_byte = 0;
  double latency = 1e-5, seconds_per_byte = 1e-9;
  double collective_beside = 1;  // a collective's time beside products over its time alone
  double memory_beside = 1;
  double host_per_layer = 0, host_per_sync = 0;
  int layers_per_bucket = 1;
  int micro_batches = 1;
};

// Plays one step on `gpus` (1 or 2).
class Play {
 public:
  Play(const World& world, int gpus) : w_(world), shared_(gpus > 1) {}

  double run() {
    const double backward = w_.layers * w_.weight_gradient + (w_.layers - 1) * w_.data_gradient;
    const double bytes = 4 * w_.elements;
    for (int k = 0; k + 1 < w_.micro_batches; ++k) {
      now_ += w_.layers * w_.forward + backward +
              12 * w_.elements * w_.layers * w_.copy_seconds_per_byte;
    }
    now_ += w_.layers * w_.forward;
    int waiting = 0;  // layers whose gradients the open bucket holds
    for (int layer = w_.layers; layer-- > 0;) {
      if (layer > 0) product(w_.data_gradient);
      product(w_.weight_gradient);
      if (!shared_) continue;
      memory(2 * bytes);
      if (++waiting == w_.layers_per_bucket || layer == 0) {
        launch(waiting * bytes);
        waiting = 0;
      }
    }
    products_left_ = false;
    for (std::size_t b = 0; shared_ && b < sizes_.size(); ++b) {
      while (finished_ <= b) pass(queue_.front());
      memory(2 * sizes_[b]);
    }
    now_ += 12 * w_.elements * w_.layers * w_.update_seconds_per_byte;
    double host = w_.micro_batches * w_.layers * w_.host_per_layer;
    if (shared_) host += w_.layers * w_.host_per_sync;
    return std::max(now_, host);
  }

 private:
  [[nodiscard]] double pace() const { return products_left_ ? w_.collective_beside : 1.0; }
  // Lets `seconds` go by in which the collective at the queue's head advances by `advance`.
  void pass(double seconds, double advance) {
    now_ += seconds;
    while (!queue_.empty() && advance > 0) {
      const double step = std::min(advance, queue_.front());
      queue_.front() -= step;
      advance -= step;
      if (queue_.front() <= 1e-15) {
        queue_.pop_front();
        ++finished_;
      }
    }
  }
  void pass(double seconds) { pass(seconds, seconds); }
  void launch(double bytes) {
    queue_.push_back(w_.latency + bytes * w_.seconds_per_byte);
    sizes_.push_back(bytes);
  }
  // Without a grid it runs beside whatever does. Else its blocks go to free multiprocessors one by
  // one, before those of a collective that comes later; that begins when it finds enough of them.
  void product(double alone) {
    if (w_.multiprocessors == 0 || w_.blocks == 0) return pass(alone, alone / pace());
    constexpr double kSame = 1e-12;
    const double block = alone / std::ceil(static_cast<double>(w_.blocks) / w_.multiprocessors);
    std::priority_queue<double, std::vector<double>, std::greater<>> ends;
    bool running = !queue_.empty();
    int free = w_.multiprocessors - (running ? w_.channels : 0);
    int left = w_.blocks;
    double time = 0;
    for (;;) {
      for (; left > 0 && free > 0; --left, --free) ends.push(time + block);
      if (left == 0 && !running && !queue_.empty() && free >= w_.channels) {
        running = true;
        free -= w_.channels;
      }
      if (ends.empty() && left == 0) break;
      const double block_ends = ends.empty() ? kNever : ends.top();
      const double collective_ends = running ? time + queue_.front() * pace() : kNever;
      if (collective_ends <= block_ends) {
        time = collective_ends;
        queue_.pop_front();
        ++finished_;
        running = false;
        free += w_.channels;
        continue;
      }
      if (running) queue_.front() -= (block_ends - time) / pace();
      time = block_ends;
      for (; !ends.empty() && ends.top() <= time * (1 + kSame); ends.pop()) ++free;
    }
    now_ += time;
  }
  // A copy and the collective beside it take memory from each other.
  void memory(double bytes) {
    double left = bytes * w_.copy_seconds_per_byte;
    while (left > 0) {
      const double collective = queue_.empty() ? kNever : queue_.front();
      const double slow = queue_.empty() ? 1.0 : w_.memory_beside;
      const double until_copied = left * slow;
      const double until_reduced = collective * slow * pace();
      const double time = std::min(until_copied, until_reduced);
      left -= time / slow;
      if (until_copied <= until_reduced) left = 0;
      if (queue_.empty()) {
        now_ += time;
      } else {
        pass(time, until_reduced <= until_copied ? collective : time / slow / pace());
      }
    }
  }

  const World& w_;
  bool shared_;
  bool products_left_ = true;
  double now_ = 0;
  std::deque<double> queue_;  // seconds left of each collective, alone
  std::vector<double> sizes_;
  std::size_t finished_ = 0;
};

}  // namespace ddpx::test
