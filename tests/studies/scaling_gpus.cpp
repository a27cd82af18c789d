// One-GPU throughput carried from one GPU type to another, on pairs of public series.
#include <fmt/format.h>

#include <cmath>

#include "model/estimate.hpp"
#include "model/gpu_type.hpp"
#include "nlohmann/json.hpp"
#include "tests/studies/scaling_gpus.hpp"
#include "tests/studies/sweeps.hpp"

namespace ddpx::study {

std::string gpus_text(const nlohmann::json& pairs) {
  Errors errors;
  std::string worst;
  double largest = 0;
  for (const auto& pair : pairs) {
    const GpuType& from = *find_gpu_type(pair.at("from").get<std::string>());
    const GpuType& to = *find_gpu_type(pair.at("to").get<std::string>());
    const double measured = pair.at("throughput_ratio");
    const double forecast =
        1.0 / step_ratio(from, to, *dtype_from(pair.at("precision").get<std::string>()));
    const double error = forecast / measured - 1.0;
    errors.add(error, std::abs(std::log1p(error)) <= kNormalQuantile90 * kGpuCarryError);
    if (std::abs(error) > std::abs(largest)) {
      largest = error;
      worst = fmt::format("{}, {} to {}", pair.at("series").get<std::string>(), from.name, to.name);
    }
  }
  return fmt::format(
      "\n## One-GPU throughput from one GPU to another\n\nThe same network, batch and precision on "
      "two GPUs of the table (`--gpu`): {} pairs of the same public series. Median error {}, 90th "
      "percentile {}, {} inside the 90 % interval. Worst: {:+.0f} %, {}. The weight of compute "
      "against "
      "memory (0.4) and the error were chosen with these pairs and others of workstation cards in "
      "view: there is one constant, and 0.2 to 0.6 change the median by less than 2 points.\n",
      errors.values.size(), percent(errors.quantile(0.5)), percent(errors.quantile(0.9)),
      percent(static_cast<double>(errors.covered) / static_cast<double>(errors.values.size())),
      100 * largest, worst);
}

}  // namespace ddpx::study
