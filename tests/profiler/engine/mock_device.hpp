// A device for one process: every kernel written as plainly as its definition, so that it is a
// reference for the real ones; every call noted, so that tests can read the schedule; and every
// access to memory checked against the streams' order, so that a missing event is found even though
// the mock itself runs everything at once.
//
// Arithmetic is double, rounded once to the element type of what is written. bf16 is played; fp16
// is noted and moves nothing.
//
// With more than one rank it plays the rank whose peers all hold what it holds: a sum over ranks is
// a multiple.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/engine/device.hpp"
#include "tests/profiler/engine/elements.hpp"

namespace ddpx::engine {

class MockDevice : public Device {
 public:
  explicit MockDevice(int ranks = 1, int rank = 0) : ranks_(ranks), rank_(rank) {}

  // "copy 64", "product weight_gradient 4x8x8", "all_reduce 128", "record compute", "wait
  // communication", in the order issued.
  std::vector<std::string> log;
  // Accesses of the two streams to the same memory that no event orders.
  std::vector<std::string> races;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return ranks_; }
  [[nodiscard]] Hardware hardware() const override {
    Hardware hardware;
    hardware.device.name = "mock";
    hardware.ranks = ranks_;
    return hardware;
  }
  [[nodiscard]] bool supports(DType dtype) const override {
    return dtype == DType::fp32 || dtype == DType::bf16;
  }

  Buffer allocate(std::size_t elements, DType dtype) override {
    const std::size_t size = Slice{nullptr, elements, dtype}.bytes() + 1;
    auto* memory = new std::byte[size]();
    return {memory, elements, dtype, [](std::byte* data) { delete[] data; }};
  }
  void upload(std::span<const float> from, Slice to) override {
    synchronize();
    for (std::size_t i = 0; i < from.size(); ++i) set(to, i, double{from[i]});
  }
  void download(Slice from, std::span<float> to) override {
    synchronize();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(get(from, i));
  }

  void product(const Product& work, Slice a, Slice b, Slice c) override {
    const auto rows = static_cast<std::size_t>(work.rows);
    const auto in = static_cast<std::size_t>(work.in);
    const auto out = static_cast<std::size_t>(work.out);
    issue("product " + std::string(name(work.pass)), c.elements, {a, b}, {c});
    const std::vector<double> x = values(a);
    const std::vector<double> y = values(b);
    const auto fill = [&](std::size_t height, std::size_t width, std::size_t n, auto left,
                          auto right) {
      for (std::size_t r = 0; r < height; ++r) {
        for (std::size_t k = 0; k < width; ++k) {
          double sum = 0;
          for (std::size_t i = 0; i < n; ++i) sum += left(r, i) * right(i, k);
          set(c, r * width + k, sum);
        }
      }
    };
    switch (work.pass) {
      case Pass::forward:
        fill(
            rows, out, in, [&](auto r, auto i) { return x[r * in + i]; },
            [&](auto i, auto k) { return y[k * in + i]; });
        break;
      case Pass::data_gradient:
        fill(
            rows, in, out, [&](auto r, auto i) { return x[r * out + i]; },
            [&](auto i, auto k) { return y[i * in + k]; });
        break;
      case Pass::weight_gradient:
        fill(
            out, in, rows, [&](auto r, auto i) { return x[i * out + r]; },
            [&](auto i, auto k) { return y[i * in + k]; });
        break;
    }
  }

  void add_bias(Slice rows, Slice bias, bool relu) override {
    issue("add_bias", rows.elements, {rows, bias}, {rows});
    for (std::size_t i = 0; i < rows.elements; ++i) {
      const double value = get(rows, i) + get(bias, i % bias.elements);
      set(rows, i, relu && value < 0 ? 0 : value);
    }
  }
  void relu_backward(Slice gradient, Slice activation) override {
    issue("relu_backward", gradient.elements, {gradient, activation}, {gradient});
    for (std::size_t i = 0; i < gradient.elements; ++i) {
      if (get(activation, i) <= 0) set(gradient, i, 0);
    }
  }
  void bias_gradient(Slice gradient, Slice sum) override {
    issue("bias_gradient", sum.elements, {gradient}, {sum});
    std::vector<double> sums(sum.elements);
    for (std::size_t i = 0; i < gradient.elements; ++i) sums[i % sum.elements] += get(gradient, i);
    for (std::size_t i = 0; i < sum.elements; ++i) set(sum, i, sums[i]);
  }
  void cross_entropy(Slice logits, Slice labels, float weight, bool fresh, Slice loss,
                     Slice gradient) override {
    issue("cross_entropy", logits.elements, {logits, labels, loss}, {loss, gradient});
    const std::size_t classes = logits.elements / labels.elements;
    double total = fresh ? 0 : get(loss, 0);
    for (std::size_t r = 0; r < labels.elements; ++r) {
      const auto logit = [&](std::size_t i) { return get(logits, r * classes + i); };
      double sum = 0;
      for (std::size_t i = 0; i < classes; ++i) sum += std::exp(logit(i));
      const auto label = static_cast<std::size_t>(get(labels, r));
      total += double{weight} * (std::log(sum) - logit(label));
      std::vector<double> made(classes);
      for (std::size_t i = 0; i < classes; ++i)
        made[i] = double{weight} * (std::exp(logit(i)) / sum - (i == label ? 1 : 0));
      for (std::size_t i = 0; i < classes; ++i) set(gradient, r * classes + i, made[i]);
    }
    set(loss, 0, total);
  }
  void copy(Slice from, Slice to) override {
    issue("copy", to.elements, {from}, {to});
    std::memcpy(to.data, from.data, to.bytes());
  }
  void copy_scaled(Slice from, float factor, Slice to) override {
    issue("copy_scaled", to.elements, {from}, {to});
    for (std::size_t i = 0; i < to.elements; ++i) set(to, i, double{factor} * get(from, i));
  }
  void scale(Slice scaled, float factor) override {
    issue("scale", scaled.elements, {scaled}, {scaled});
    if (scaled.dtype == DType::fp16) return;
    for (std::size_t i = 0; i < scaled.elements; ++i)
      set(scaled, i, double{factor} * get(scaled, i));
  }
  void add(Slice from, Slice to) override {
    issue("add", to.elements, {from, to}, {to});
    for (std::size_t i = 0; i < to.elements; ++i) set(to, i, get(to, i) + get(from, i));
  }
  void cast(Slice from, Slice to) override {
    issue("cast", to.elements, {from}, {to});
    if (from.dtype == DType::fp16 || to.dtype == DType::fp16) return;
    for (std::size_t i = 0; i < to.elements; ++i) set(to, i, get(from, i));
  }
  void sgd(Slice parameters, Slice gradients, float rate) override {
    issue("sgd", parameters.elements, {parameters, gradients}, {parameters});
    for (std::size_t i = 0; i < parameters.elements; ++i)
      set(parameters, i, get(parameters, i) - double{rate} * get(gradients, i));
  }
  void adamw(Slice parameters, Slice gradients, const Moments& state, const AdamW& rule) override {
    issue("adamw", parameters.elements, {parameters, gradients, state.first, state.second},
          {parameters, state.first, state.second, state.count});
    const double t = get(state.count, 0) + 1;
    set(state.count, 0, t);
    for (std::size_t i = 0; i < parameters.elements; ++i) {
      const double g = get(gradients, i);
      const double m = rule.first_decay * get(state.first, i) + (1 - rule.first_decay) * g;
      const double v = rule.second_decay * get(state.second, i) + (1 - rule.second_decay) * g * g;
      set(state.first, i, m);
      set(state.second, i, v);
      const double mean = m / (1 - std::pow(rule.first_decay, t));
      const double square = v / (1 - std::pow(rule.second_decay, t));
      set(parameters, i,
          get(parameters, i) * (1 - rule.rate * rule.weight_decay) -
              rule.rate * mean / (std::sqrt(square) + rule.epsilon));
    }
  }

  void collective(Collective kind, Slice from, Slice to) override {
    issue(std::string(name(kind)), std::max(from.elements, to.elements), {from}, {to},
          Stream::communication);
    if (from.dtype != DType::fp32) return;
    if (kind == Collective::all_gather) {
      for (std::size_t i = 0; i < to.elements; ++i) set(to, i, get(from, i % from.elements));
      return;
    }
    const std::size_t begin =
        kind == Collective::reduce_scatter ? static_cast<std::size_t>(rank_) * to.elements : 0;
    for (std::size_t i = 0; i < to.elements; ++i) set(to, i, ranks_ * get(from, begin + i));
  }

  [[nodiscard]] std::optional<std::function<void()>> recorded(
      const std::function<void()>& work) override {
    log.push_back("recorded");
    return work;
  }

  Event create_event() override {
    events_.emplace_back();
    return {events_.size() - 1};
  }
  void record(Stream stream, Event event) override {
    log.push_back("record " + std::string(word(stream)));
    events_[event.index] = {clock_[index(stream)], time_};
  }
  void wait(Stream stream, Event event) override {
    log.push_back("wait " + std::string(word(stream)));
    Clock& clock = clock_[index(stream)];
    const Clock& other = events_[event.index].clock;
    for (std::size_t s = 0; s < clock.size(); ++s) clock[s] = std::max(clock[s], other[s]);
  }
  void synchronize() override {
    for (std::size_t s = 0; s < 2; ++s) {
      const std::size_t latest = std::max(clock_[0][s], clock_[1][s]);
      clock_[0][s] = clock_[1][s] = latest;
    }
  }
  // Time is the number of calls.
  Seconds elapsed(Event from, Event to) override {
    return Seconds(static_cast<double>(events_[to.index].time) -
                   static_cast<double>(events_[from.index].time));
  }
  [[nodiscard]] std::optional<double> busy_share(Seconds /*step*/,
                                                 const std::function<void()>& /*work*/) override {
    return std::nullopt;
  }
  [[nodiscard]] std::optional<Seconds> gap(const std::function<void()>& /*work*/) override {
    return std::nullopt;
  }
  void barrier() override {}
  void maximum(std::span<double> /*values*/) override {}

 private:
  using Clock = std::array<std::size_t, 2>;  // per stream: how much of it is known to be done
  struct Recorded {
    Clock clock{};
    std::size_t time = 0;
  };
  struct Access {
    std::string what;
    const std::byte* begin;
    const std::byte* end;
    bool writes;
    std::size_t stream;
    std::size_t tick;
  };

  static std::size_t index(Stream stream) { return stream == Stream::communication ? 1 : 0; }
  static std::string_view word(Stream stream) {
    return stream == Stream::communication ? "communication" : "compute";
  }

  void issue(const std::string& what, std::size_t elements, std::initializer_list<Slice> reads,
             std::initializer_list<Slice> writes, Stream stream = Stream::compute) {
    log.push_back(what + " " + std::to_string(elements));
    ++time_;
    const std::size_t s = index(stream);
    const std::size_t tick = ++clock_[s][s];
    for (const Slice& slice : reads)
      check({what, slice.data, slice.data + slice.bytes(), false, s, tick});
    for (const Slice& slice : writes)
      check({what, slice.data, slice.data + slice.bytes(), true, s, tick});
  }
  void check(const Access& access) {
    for (const Access& before : accesses_) {
      const bool overlap = before.begin < access.end && access.begin < before.end;
      if (before.stream == access.stream || !overlap || !(before.writes || access.writes)) continue;
      if (before.tick > clock_[access.stream][before.stream])
        races.push_back(before.what + " and " + access.what);
    }
    accesses_.push_back(access);
  }

  int ranks_;
  int rank_;
  std::array<Clock, 2> clock_{};
  std::vector<Recorded> events_;
  std::vector<Access> accesses_;
  std::size_t time_ = 0;
};

}  // namespace ddpx::engine
