// From raw measurements to a machine: least squares on *relative* error, so that a 10 us message
// counts as much as a 100 ms one.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/machine.hpp"
#include "profiler/measurement.hpp"

namespace ddpx {

// One measured value beside what the fitted constants give for it.
struct Residual {
  std::string what;
  double measured = 0;
  double fitted = 0;
  bool dropped = false;
  std::string reason;  // why it was dropped or flagged

  [[nodiscard]] double relative() const { return fitted / measured - 1.0; }
};

struct FitOptions {
  // A point further than this from what its neighbours say is flagged and left out.
  double misfit = 0.20;
  // What errors name: the file the measurements come from.
  std::string place = "measurements";
};

struct FitReport {
  std::vector<Residual> residuals;
  std::vector<std::string> notes;
};

// Minimum over protocol lines latency + bytes/bandwidth through measured points, on relative error.
// The points are split at the breakpoints that minimise the squared relative error; a further line
// is kept when it lowers the Bayesian information criterion. Standard errors come from each
// segment's covariance.
struct CurveFit {
  std::vector<ProtocolLine> lines;
  std::vector<CurvePoint> points;
  double residual = 0;  // root mean square relative residual of the lines
};
[[nodiscard]] CurveFit fit_curve(std::span<const CurvePoint> points,
                                 const FitOptions& options = {});

// Fits everything the measurements support; constants they cannot give come from their priors, and
// what has neither is an InputError that names the missing measurement.
[[nodiscard]] Machine fit_machine(const Measurements& measurements, const FitOptions& options,
                                  FitReport& report);

}  // namespace ddpx
