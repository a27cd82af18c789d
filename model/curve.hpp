// Time of one collective against its size, for one (collective, dtype, rank count) on one link.
//
// Two descriptions of the same measurements:
//  - protocol lines: NCCL chooses per size the cheapest of its protocols, each about latency +
//    bytes/bandwidth, so the curve is a minimum over lines (NCCL src/graph/tuning.cc). They carry
//    the standard errors and say what the link is;
//  - the measured points themselves, where they are dense. NCCL's choice is not always the cheapest
//    (two H200: 15 us at 1 MiB, 31 us at 2 MiB), and only points show that. Between two points the
//    time leans from their log-log interpolation towards a local line latency + bytes/bandwidth
//    through the three nearest points on either side (weighted least squares on relative error):
//    that is what a protocol does, while one bent piece per gap cuts its corner. Over public
//    sweeps, each size left out in turn, this is a quarter closer than either alone
//    (docs/results/links.md).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/estimate.hpp"
#include "model/operation.hpp"

namespace ddpx {

// A message from this size on takes mostly its transfer, and shows a bandwidth; what a smaller one
// takes is mostly latency, from which that of larger ones does not follow, not even roughly.
inline constexpr Bytes kShowsBandwidth{1 << 20};

struct ProtocolLine {
  Estimate<Seconds> latency;
  Estimate<BytesPerSecond> bandwidth;  // CollectiveCall's bytes per second, not bus bandwidth

  [[nodiscard]] Seconds at(Bytes bytes) const { return latency.value + bytes / bandwidth.value; }
};

struct CurvePoint {
  Bytes bytes{};
  Seconds time{};
  bool misfit = false;  // kept in the file, not used for pricing
  std::string reason;   // why it is a misfit
};

class Curve {
 public:
  Collective kind = Collective::all_reduce;
  DType dtype = DType::fp32;
  int ranks = 2;
  std::optional<int> hosts;  // that the ranks were on; nullopt: not known
  // One standard error of a priced time, as a fraction: repeat spread and the fit's residual.
  double relative_error = 0.02;
  // Of the smallest message's time, where that is not equally sure: then each counts with its share
  // of a time, the latency's and the rest's.
  std::optional<double> latency_error;
  // Made of a link inside a node that was not measured on so many ranks (two_level.hpp).
  bool carried = false;
  // How far the time between points leans: the distance in ln(bytes) over which a point's weight in
  // the local line falls to 1/e^2, and the share taken of the line.
  double reach = 0.8;
  double lean = 0.85;

  Curve() = default;
  Curve(CollectiveCall call, std::vector<ProtocolLine> lines, std::vector<CurvePoint> points);

  // Seconds for `bytes`. Below the smallest point the time is the lines', at most that point's;
  // above the largest it grows at the local line's bandwidth. With fewer than kDensePoints points
  // the lines decide.
  [[nodiscard]] Seconds at(Bytes bytes) const;
  // One standard error of at(bytes), as a fraction.
  [[nodiscard]] double error_at(Bytes bytes) const;
  // Whether `bytes` lies outside the measured sizes.
  [[nodiscard]] bool extrapolates(Bytes bytes) const;

  [[nodiscard]] std::span<const ProtocolLine> lines() const { return lines_; }
  [[nodiscard]] std::span<const CurvePoint> points() const { return points_; }
  // Largest bytes/time x bus factor over the points, or of the lines where there are no points.
  [[nodiscard]] BytesPerSecond peak_bus_bandwidth() const;
  // Time of the smallest message measured, by the lines where that point is a misfit.
  [[nodiscard]] Seconds smallest_time() const;
  // Whether a message is large enough to show a bandwidth; lines without points are a reading of
  // their author's, and do.
  [[nodiscard]] bool shows_bandwidth() const;
  // Of smallest_time() what its bytes do not take at the best rate measured. nullopt where they
  // take more than half of it, as in a sweep that starts at large sizes: noise and the protocol of
  // large messages are most of what is left.
  [[nodiscard]] std::optional<Seconds> latency() const;
  // Whether latency() has a value, without looking at every point where the largest message settles
  // it: in walks of many prices.
  [[nodiscard]] bool shows_latency() const;
  // The largest message that is no misfit; 0 where there is none.
  [[nodiscard]] Bytes largest() const;

 private:
  static constexpr std::size_t kDensePoints = 4;

  // Seconds = latency + bytes x slope, near `log_bytes`; `gap` is the index of the point above it.
  struct LocalLine {
    double latency = 0;
    double slope = 0;
  };
  [[nodiscard]] LocalLine local_line(double log_bytes, std::size_t gap) const;
  [[nodiscard]] Seconds from_lines(Bytes bytes) const;

  std::vector<ProtocolLine> lines_;
  std::vector<CurvePoint> points_;  // by ascending size
  std::vector<double> log_bytes_;   // of the points that are not misfits
  std::vector<double> log_seconds_;
};

}  // namespace ddpx
