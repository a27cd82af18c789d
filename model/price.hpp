// What GPUs cost by the hour, and what a sample costs then:
//
//   cost per sample = price per hour / (3600 s x samples per second)
//
// Machines are rented whole: two GPUs on a machine of four cost what the four cost.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/two_level.hpp"

namespace ddpx {

// Per hour, of a GPU or of a machine.
inline constexpr double kLeastPrice = 1e-6;
inline constexpr double kMostPrice = 1e9;
inline constexpr std::string_view kAcceptedPrice = "a price per hour from 1e-6 to 1e9";

struct MachinePrice {
  std::string name;
  int gpus = 1;
  double per_hour = 0;              // of the whole machine
  std::optional<std::string> link;  // only for plans over this link; nullopt: any
};

struct Prices {
  std::string currency;  // empty: not stated
  double per_gpu_hour = 0;
  std::vector<MachinePrice> machines;  // when any, they decide and per_gpu_hour is not used
};

struct Rent {
  double per_hour = 0;
  std::string machine;  // empty where a GPU has a price of its own
};

// The cheapest machine with enough GPUs, once per node. Throws InputError where none is large
// enough.
[[nodiscard]] Rent rent(const Prices& prices, const NodeLayout& layout, const std::string& link);

// Of `samples` at a rate, for a price by the hour.
[[nodiscard]] double cost_of(double samples, double samples_per_s, double per_hour);

}  // namespace ddpx
