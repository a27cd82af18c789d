#include "model/price.hpp"

#include "model/error.hpp"

namespace ddpx {

Rent rent(const Prices& prices, const NodeLayout& layout, const std::string& link) {
  if (prices.machines.empty()) return {prices.per_gpu_hour * layout.gpus(), ""};
  const MachinePrice* cheapest = nullptr;
  for (const MachinePrice& machine : prices.machines) {
    const bool fits = machine.gpus >= layout.gpus_per_node &&
                      (!machine.link || *machine.link == link || layout.gpus() == 1);
    if (fits && (cheapest == nullptr || machine.per_hour < cheapest->per_hour)) cheapest = &machine;
  }
  if (cheapest == nullptr) {
    throw InputError("--price", "names no machine of " + std::to_string(layout.gpus_per_node) +
                                    " GPUs or more" + (layout.gpus() == 1 ? "" : " over " + link) +
                                    "; add one to the file or leave that plan out");
  }
  return {cheapest->per_hour * layout.nodes, cheapest->name};
}

double cost_of(double samples, double samples_per_s, double per_hour) {
  constexpr double kHour = 3600;
  return samples / samples_per_s / kHour * per_hour;
}

}  // namespace ddpx
