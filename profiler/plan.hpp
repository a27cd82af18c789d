// What to measure, in which order, and how long it will take. A plan is a value made from options
// and a first look at the device's speed; the same on every rank, because the look is.
//
// Each axis (width, batch, message size) is refined by halving: its ends and middle come first,
// then what lies between. A budget cuts the list where its time is used up, so that a shorter
// calibration is a coarser one, not one with a corner missing.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "profiler/backend.hpp"
#include "profiler/measure.hpp"

namespace ddpx {

// A product or a copy, and a collective at the same time.
struct Beside {
  Operation work;
  CollectiveCall call;
};

// A product that is run a few times under kernel records and not timed.
struct Recorded {
  Product product;
};

using Work = std::variant<Operation, Beside, Recorded>;
[[nodiscard]] std::string describe(const Work& work);

struct Task {
  Work work;
  StoppingOptions stopping;
  Seconds estimate{};
  int level = 0;  // of refinement: 0 cannot be left out
};

enum class Effort { quick, full };

struct PlanOptions {
  Effort effort = Effort::quick;
  std::optional<Seconds> budget{};  // default: the effort's
  // Empty: the effort's own.
  std::vector<double> widths{};
  std::vector<double> batches{};
  std::vector<DType> dtypes{};
  std::vector<Collective> collectives{};
  bool gpus = false;    // sizes that fill a GPU; false: those of a CPU core
  bool compute = true;  // false: collectives alone, on a further link
};

// Coarse speeds, good to a factor of two or so, that time estimates rest on.
struct Rates {
  FlopsPerSecond products{};
  BytesPerSecond memory{};  // traffic
  BytesPerSecond bus{};
  Seconds latency{};  // of a collective
  std::string origin;
};

// What one core and shared memory usually give; for a plan without a device.
[[nodiscard]] Rates usual_rates();
// A second or less of measuring.
[[nodiscard]] Rates first_look(Backend& backend);
[[nodiscard]] Seconds estimate(const Rates& rates, const Operation& operation);

struct MeasurementPlan {
  std::vector<Task> tasks;  // in the order to be done: the coarse grid first
  std::size_t left_out = 0;
  Seconds budget{};
  Seconds estimate{};
  std::string rates_origin;
};

using Supports = std::function<bool(const Operation&)>;

// Throws InputError for options that make no sense or leave nothing to measure.
[[nodiscard]] MeasurementPlan make_plan(const PlanOptions& options, int ranks,
                                        const Supports& supports, const Rates& rates);

// The plan for people: what, how many, how long.
[[nodiscard]] std::string plan_text(const MeasurementPlan& plan);

}  // namespace ddpx
