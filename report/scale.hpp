// An axis: which values it spans, where its ticks stand and what they say.
#pragma once

#include <string>
#include <vector>

#include "report/chart.hpp"

namespace ddpx::report {

struct Tick {
  double value = 0;
  std::string text;
};

// Maps values to pixels, linearly or by their logarithm.
class AxisScale {
 public:
  // Spans `values` (those that can be drawn), and what the axis insists on. Ends lie on or beyond
  // the outermost ticks of a linear axis and a little beyond the data of a logarithmic one. Never
  // empty: without a drawable value it spans 0 to 1 (1 to 10).
  AxisScale(const Axis& axis, const std::vector<double>& values);

  [[nodiscard]] bool drawable(double value) const;
  // Position between `begin` (the lower end) and `end` (the upper), held inside them.
  [[nodiscard]] double at(double value, double begin, double end) const;
  [[nodiscard]] const std::vector<Tick>& ticks() const { return ticks_; }
  [[nodiscard]] double low() const { return low_; }
  [[nodiscard]] double high() const { return high_; }

 private:
  void span_linear(const Axis& axis);
  void span_logarithmic(const Axis& axis);
  void label(const std::vector<double>& values, AxisUnit unit);

  bool logarithmic_ = false;
  double low_ = 0;
  double high_ = 1;
  std::vector<Tick> ticks_;
};

}  // namespace ddpx::report
