// The public sweeps in validation/links/sweeps.json, as the study of links uses them.
#pragma once

#include <string>
#include <vector>

#include "model/curve.hpp"

namespace ddpx::study {

struct Sweep {
  std::string name;
  std::string machine;
  std::string collective;  // as nccl-tests names it; "reduce" is none of ours
  int ranks = 0;
  int nodes = 1;
  std::string link;
  std::vector<CurvePoint> points;  // by ascending size

  // "NVLink inside a node": what errors are counted by.
  [[nodiscard]] std::string link_class() const;
  [[nodiscard]] CollectiveCall call(Bytes bytes = {}) const;
};

[[nodiscard]] std::vector<Sweep> read_sweeps(const std::string& path);

// The curve the programs would make of these points.
[[nodiscard]] Curve curve_of(const CollectiveCall& call, const std::vector<CurvePoint>& points);

// Log-log interpolation, its end segments continued: what the link model is held against.
[[nodiscard]] Seconds log_log(const std::vector<CurvePoint>& points, Bytes bytes);

// Relative errors of one group.
struct Errors {
  std::vector<double> values;  // signed
  std::size_t covered = 0;     // inside the 90 % interval

  void add(double error, bool inside = false) {
    values.push_back(error);
    covered += inside ? 1U : 0U;
  }
  void append(const Errors& more) {
    values.insert(values.end(), more.values.begin(), more.values.end());
    covered += more.covered;
  }
  [[nodiscard]] double mean() const;
  [[nodiscard]] double quantile(double q) const;  // of the absolute values
};

// Those of large and of small messages.
struct SizeErrors {
  Errors large;  // from 1 MiB on
  Errors small;
};

// "6.7 %".
[[nodiscard]] std::string percent(double fraction);

}  // namespace ddpx::study
