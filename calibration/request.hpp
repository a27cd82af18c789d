// What the options ask to be measured, as values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/options.hpp"
#include "profiler/backend.hpp"
#include "profiler/launch.hpp"
#include "profiler/plan.hpp"

namespace ddpx {

struct MeasureRequest {
  std::string backend;
  int ranks = 2;
  Library library = Library::mpi;
  Transport transport = Transport::automatic;
  std::optional<int> channels;      // NCCL's, at most
  std::optional<std::string> link;  // name for what joins the ranks
  bool only_link = false;
  int processes = 1;  // fresh process sets, one after the other
  BackendOptions device;
  PlanOptions plan;
};

// Throws InputError naming the flag, the value and what is accepted.
[[nodiscard]] MeasureRequest measure_request(const CalibrateOptions& options);

}  // namespace ddpx
