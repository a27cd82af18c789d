// Measurements of a machine whose every constant is known, with noise.
#pragma once

#include <random>
#include <vector>

#include "profiler/measurement.hpp"

namespace ddpx::test {

// The known machine behind the fake measurements.
inline constexpr double kForwardRate = 40e12;
inline constexpr double kBackwardRate = 45e12;
inline constexpr double kCopyBandwidth = 3e12;
inline constexpr double kOptimizerBandwidth = 2.5e12;
inline constexpr double kLatency = 12e-6;
inline constexpr double kBandwidth = 50e9;

class FakeSource {
 public:
  explicit FakeSource(unsigned seed, double noise = 0.01) : engine_(seed), noise_(noise) {}

  std::vector<double> samples(double truth, int n = 15) {
    std::vector<double> values;
    for (int i = 0; i < n; ++i) values.push_back(truth * (1 + noise_ * normal_(engine_)));
    return values;
  }

  Measurements measurements() {
    Measurements m;
    m.name = "fake";
    m.device.multiprocessors = 100;
    m.device.compute_capability = 90;
    m.links.push_back({"fast", "", Topology::nvlink, false, 8, 0, "fake"});
    for (double bytes = 4096; bytes <= 3e8; bytes *= 2) {
      const double time = kLatency + bytes / kBandwidth;
      m.collectives.push_back({"fast",
                               {Collective::all_reduce, DType::fp32, Bytes(bytes), 2},
                               samples(time),
                               "queued"});
    }
    for (double width : {1024.0, 2048.0, 4096.0}) {
      for (Pass pass : {Pass::forward, Pass::data_gradient, Pass::weight_gradient}) {
        const Product product{pass, DType::fp32, 256, width, width};
        const double rate = pass == Pass::forward ? kForwardRate : kBackwardRate;
        m.products.push_back({product, samples(product.flops().value() / rate),
                              KernelRecord{"k", 300, 256, 128, 0, false}});
      }
    }
    m.copies.push_back({Bytes(1e8), samples(2e8 / kCopyBandwidth)});
    m.optimizers.push_back({{Optimizer::sgd, 1e7}, samples(12e7 / kOptimizerBandwidth)});
    m.priors.push_back({"kernel_gap_s", 1e-6, 0.3, "test"});
    m.priors.push_back({"residual", 0.02, 0, "test"});
    return m;
  }

 private:
  std::mt19937_64 engine_;
  std::normal_distribution<double> normal_;
  double noise_;
};

}  // namespace ddpx::test
