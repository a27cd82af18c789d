// A device for one process: every kernel written as plainly as its definition, so that it is a
// reference for the real ones; every call noted, so that tests can read the schedule; and every
// access to memory checked against the streams' order, so that a missing event is found even though
// the mock itself runs everything at once.
//
// With more than one rank it plays the rank whose peers all hold what it holds: a sum over ranks is
// a multiple.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/engine/device.hpp"

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
  [[nodiscard]] bool supports(DType dtype) const override { return dtype == DType::fp32; }

  Buffer allocate(std::size_t elements, DType dtype) override {
    const std::size_t size = Slice{nullptr, elements, dtype}.bytes() + 1;
    auto* memory = new std::byte[size]();
    return {memory, elements, dtype, [](std::byte* data) { delete[] data; }};
  }
  void upload(std::span<const float> from, Slice to) override {
    synchronize();
    std::copy(from.begin(), from.end(), floats(to));
  }
  void download(Slice from, std::span<float> to) override {
    synchronize();
    std::copy_n(floats(from), to.size(), to.begin());
  }

  void product(const Product& work, Slice a, Slice b, Slice c) override {
    const auto rows = static_cast<std::size_t>(work.rows);
    const auto in = static_cast<std::size_t>(work.in);
    const auto out = static_cast<std::size_t>(work.out);
    issue("product " + std::string(name(work.pass)), c.elements, {a, b}, {c});
    const auto dot = [](std::size_t n, auto left, auto right) {
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i) sum += double{left(i)} * double{right(i)};
      return static_cast<float>(sum);
    };
    const float* x = floats(a);
    const float* y = floats(b);
    float* z = floats(c);
    const auto fill = [&](std::size_t height, std::size_t width, std::size_t n, auto left,
                          auto right) {
      for (std::size_t r = 0; r < height; ++r) {
        for (std::size_t k = 0; k < width; ++k) {
          z[r * width + k] = dot(
              n, [&](std::size_t i) { return left(r, i); },
              [&](std::size_t i) { return right(i, k); });
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
      const float value = floats(rows)[i] + floats(bias)[i % bias.elements];
      floats(rows)[i] = relu && value < 0 ? 0 : value;
    }
  }
  void relu_backward(Slice gradient, Slice activation) override {
    issue("relu_backward", gradient.elements, {gradient, activation}, {gradient});
    for (std::size_t i = 0; i < gradient.elements; ++i) {
      if (floats(activation)[i] <= 0) floats(gradient)[i] = 0;
    }
  }
  void bias_gradient(Slice gradient, Slice sum) override {
    issue("bias_gradient", sum.elements, {gradient}, {sum});
    std::vector<double> sums(sum.elements);
    for (std::size_t i = 0; i < gradient.elements; ++i)
      sums[i % sum.elements] += double{floats(gradient)[i]};
    for (std::size_t i = 0; i < sum.elements; ++i) floats(sum)[i] = static_cast<float>(sums[i]);
  }
  void cross_entropy(Slice logits, Slice labels, float weight, bool fresh, Slice loss,
                     Slice gradient) override {
    issue("cross_entropy", logits.elements, {logits, labels, loss}, {loss, gradient});
    const std::size_t classes = logits.elements / labels.elements;
    double total = fresh ? 0 : double{floats(loss)[0]};
    for (std::size_t r = 0; r < labels.elements; ++r) {
      const float* row = floats(logits) + r * classes;
      double sum = 0;
      for (std::size_t i = 0; i < classes; ++i) sum += std::exp(double{row[i]});
      const auto label = static_cast<std::size_t>(floats(labels)[r]);
      total += double{weight} * (std::log(sum) - double{row[label]});
      for (std::size_t i = 0; i < classes; ++i) {
        const double p = std::exp(double{row[i]}) / sum - (i == label ? 1 : 0);
        floats(gradient)[r * classes + i] = static_cast<float>(double{weight} * p);
      }
    }
    floats(loss)[0] = static_cast<float>(total);
  }
  void copy(Slice from, Slice to) override {
    issue("copy", to.elements, {from}, {to});
    std::memcpy(to.data, from.data, to.bytes());
  }
  void copy_scaled(Slice from, float factor, Slice to) override {
    issue("copy_scaled", to.elements, {from}, {to});
    for (std::size_t i = 0; i < to.elements; ++i) floats(to)[i] = factor * floats(from)[i];
  }
  // Half precision is not played: casts and scales are noted and move nothing.
  void scale(Slice values, float /*factor*/) override {
    issue("scale", values.elements, {values}, {values});
  }
  void add(Slice from, Slice to) override {
    issue("add", to.elements, {from, to}, {to});
    for (std::size_t i = 0; i < to.elements; ++i) floats(to)[i] += floats(from)[i];
  }
  void cast(Slice from, Slice to) override { issue("cast", to.elements, {from}, {to}); }
  void sgd(Slice parameters, Slice gradients, float rate) override {
    issue("sgd", parameters.elements, {parameters, gradients}, {parameters});
    for (std::size_t i = 0; i < parameters.elements; ++i)
      floats(parameters)[i] -= rate * floats(gradients)[i];
  }

  void collective(Collective kind, Slice from, Slice to) override {
    issue(std::string(name(kind)), std::max(from.elements, to.elements), {from}, {to},
          Stream::communication);
    if (from.dtype != DType::fp32) return;
    const auto ranks = static_cast<float>(ranks_);
    if (kind == Collective::all_gather) {
      for (std::size_t i = 0; i < to.elements; ++i) floats(to)[i] = floats(from)[i % from.elements];
      return;
    }
    const std::size_t begin =
        kind == Collective::reduce_scatter ? static_cast<std::size_t>(rank_) * to.elements : 0;
    for (std::size_t i = 0; i < to.elements; ++i) floats(to)[i] = ranks * floats(from)[begin + i];
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
  void barrier() override {}
  void maximum(std::span<double> /*values*/) override {}

  static float* floats(Slice slice) { return reinterpret_cast<float*>(slice.data); }

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
