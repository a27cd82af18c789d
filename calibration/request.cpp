#include "calibration/request.hpp"

#include <algorithm>

#include "model/error.hpp"
#include "model/quantity.hpp"
#include "profiler/backends.hpp"
#include "profiler/plan_grid.hpp"

namespace ddpx {
namespace {

constexpr int kMostRanks = 256;
constexpr int kMostChannels = 64;  // NCCL has no more
constexpr int kMostProcesses = 100;

[[noreturn]] void refuse(const char* flag, const std::string& value, const std::string& accepted) {
  throw InputError(flag, "'" + value + "' is unknown; accepted: " + accepted);
}

std::vector<double> whole_numbers(const char* flag, const std::optional<std::string>& list,
                                  int most) {
  std::vector<double> values;
  if (!list) return values;
  for (const std::string& word : parse_list(flag, *list))
    values.push_back(parse_count(flag, word, 1, most));
  return values;
}

template <class Enum>
std::vector<Enum> names(const char* flag, const std::optional<std::string>& list,
                        std::optional<Enum> (*from)(std::string_view), const char* accepted) {
  std::vector<Enum> values;
  if (!list) return values;
  for (const std::string& word : parse_list(flag, *list)) {
    const auto value = from(word);
    if (!value) refuse(flag, word, accepted);
    values.push_back(*value);
  }
  return values;
}

}  // namespace

MeasureRequest measure_request(const CalibrateOptions& options) {
  constexpr int kWidest = 65536;
  constexpr int kLargestBatch = 1'000'000;
  if (options.quick && options.full)
    throw InputError("--full", "contradicts --quick; drop one of them");
  MeasureRequest request;
  request.backend = backend_named(options.backend.value_or("auto"), "--backend");
  request.library = library_of(request.backend);
  const bool gpus = request.library == Library::nccl;
  if (gpus) request.ranks = std::max(1, visible_gpus());
  if (gpus && !options.dry_run && visible_gpus() == 0 && !rank_place()) {
    throw InputError("--backend",
                     "'cuda' needs a GPU, and none is visible here (nvidia-smi -L, "
                     "CUDA_VISIBLE_DEVICES); give --backend cpu");
  }
  if (options.ranks) request.ranks = parse_count("--ranks", *options.ranks, 1, kMostRanks);
  request.transport = transport_from(options.transport.value_or("auto"), request.library);
  if (options.channels) {
    if (!gpus) throw InputError("--channels", "is NCCL's, and this measures CPU ranks; drop it");
    request.channels = parse_count("--channels", *options.channels, 1, kMostChannels);
  }
  if (options.no_cupti && !gpus)
    throw InputError("--no-cupti", "is of GPUs, and this measures CPU ranks; drop it");
  request.device.kernel_records = !options.no_cupti;
  request.link = options.link;
  request.only_link = options.only_link;
  if (options.processes) {
    if (!options.only_link)
      throw InputError("--processes", "is of links, which --only-link measures alone; add that");
    request.processes = parse_count("--processes", *options.processes, 1, kMostProcesses);
  }
  PlanOptions& plan = request.plan;
  plan.gpus = gpus;
  plan.effort = options.full ? Effort::full : Effort::quick;
  if (options.budget) plan.budget = parse_time("--budget", *options.budget);
  // A budget says how long; without --quick the full list is thinned to it.
  if (options.budget && !options.quick) plan.effort = Effort::full;
  if (options.processes)
    plan.budget = plan.budget.value_or(standard_budget(plan.effort)) / request.processes;
  plan.widths = whole_numbers("--widths", options.widths, kWidest);
  plan.batches = whole_numbers("--batches", options.batches, kLargestBatch);
  plan.dtypes = names("--dtypes", options.dtypes, &dtype_from, "fp32, tf32, bf16, fp16");
  plan.collectives = names("--collectives", options.collectives, &collective_from,
                           "all_reduce, all_gather, reduce_scatter");
  plan.compute = !options.only_link;
  if (request.ranks < 2) {
    const auto needs_ranks = [](const char* flag, bool given) {
      if (given) throw InputError(flag, "has no effect on one rank; give --ranks 2 or more");
    };
    needs_ranks("--transport", options.transport.has_value());
    needs_ranks("--channels", options.channels.has_value());
    needs_ranks("--collectives", options.collectives.has_value());
    needs_ranks("--link", options.link.has_value());
    needs_ranks("--only-link", options.only_link);
  }
  if (options.only_link && (options.widths || options.batches))
    throw InputError(options.widths ? "--widths" : "--batches",
                     "has no effect with --only-link, which times no products");
  return request;
}

}  // namespace ddpx
