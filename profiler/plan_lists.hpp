// Sizes that a quick and a full calibration measure where the user names none.
#pragma once

#include <vector>

#include "profiler/plan.hpp"

namespace ddpx {

struct LayerSize {
  double in = 0;
  double out = 0;
};

struct PlanLists {
  std::vector<double> widths;
  std::vector<double> batches;
  std::vector<DType> dtypes = {DType::fp32};
  std::vector<double> message_bytes;
  std::vector<double> copy_bytes;
  std::vector<double> update_parameters;
  std::vector<Product> beside_products;
  std::vector<double> beside_bytes;
  std::vector<double> beside_copies;
  std::vector<Elementwise> between;  // products
  std::vector<LayerSize> recorded;   // layers whose products are only recorded
  std::vector<double> recorded_rows;
  StoppingOptions stopping;
};

// Of ranks on processor cores.
[[nodiscard]] PlanLists core_lists(Effort effort);

// A GPU's products are worth timing from the size on that fills it; its links reach further. On a
// further link of a machine that was calibrated already (`link_alone`) a few pairs say what
// products do to its collectives.
[[nodiscard]] PlanLists gpu_lists(Effort effort, bool link_alone);

}  // namespace ddpx
