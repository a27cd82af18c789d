// Products that were only run under kernel records, as if they had been timed.
#pragma once

#include <map>
#include <optional>

#include "model/estimate.hpp"
#include "profiler/measurement.hpp"

namespace ddpx {

// What products take in a row of their kind: gap x their kernels + factor x what these take by
// their records. A row has the gaps between its kernels, and clocks that a long row pulls down. Of
// each dtype of which enough products were both timed and recorded, by least squares on relative
// error, neither below zero.
class RecordedProducts {
 public:
  explicit RecordedProducts(const Measurements& measurements);

  // The product's time in a row: as it was timed, else by its records; nullopt where too few of its
  // dtype were timed too.
  [[nodiscard]] std::optional<Estimate<Seconds>> time_of(const ProductSample& sample) const;

 private:
  struct Scale {
    Seconds gap{};
    double factor = 1;
    double error = 0;  // relative, of what that makes of a record
  };
  [[nodiscard]] double kernels_of(const ProductSample& sample) const;

  int compute_capability_;
  std::map<DType, Scale> scales_;
};

}  // namespace ddpx
