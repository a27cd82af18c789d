#include "profiler/plan_grid.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "model/error.hpp"
#include "profiler/plan_lists.hpp"

namespace ddpx {
namespace {

// The output layer of the MLP generator (model/network.hpp).
constexpr double kClasses = 64;
// Sizes of all-reduces after a pause; both efforts time the same sizes without one.
constexpr std::array kRestedBytes{262144.0, 1048576.0, 4194304.0};

// NCCL moves a message in rounds of a chunk per channel and rank, and a bucket is a round number of
// weights and a little more, its biases, which take a round of their own: two H200 over host memory
// take 616 us for 16 MiB and 641 for 16 KiB more. So GPUs time these sizes twice, the second time
// with this share more.
constexpr double kFirstInRounds = 262144;
constexpr double kLastInRounds = 268435456;
constexpr double kBiases = 1.0 / 4096;

// 5 ms of an H200's fp32: what takes longer would take the time of many others.
constexpr Flops kMostRecorded{2.5e11};

// At least that, and a whole number of elements of every type, and of the 16 B that NCCL moves at a
// time, on each rank.
Bytes evenly(double bytes, int ranks) {
  const double unit = 16.0 * ranks;
  return Bytes(std::ceil(bytes / unit) * unit);
}

void check_axis(const char* flag, const std::vector<double>& values) {
  for (double v : values) {
    if (v >= 1 && std::isfinite(v) && v == std::floor(v)) continue;
    char problem[96];
    std::snprintf(problem, sizeof problem, "%g is no whole number above zero", v);
    throw InputError(flag, problem);
  }
}

std::vector<double> axis(const char* flag, const std::vector<double>& given,
                         const std::vector<double>& standard) {
  check_axis(flag, given);
  std::vector<double> values = given.empty() ? standard : given;
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

template <class T>
std::vector<T> chosen(const std::vector<T>& given, std::vector<T> standard) {
  return given.empty() ? std::move(standard) : given;
}

class Grid {
 public:
  Grid(const PlanOptions& options, int ranks, const Possible& possible)
      : options_(options),
        lists_(options.gpus ? gpu_lists(options.effort, !options.compute)
                            : core_lists(options.effort)),
        ranks_(ranks),
        possible_(possible) {}

  std::vector<Task> build() {
    if (options_.compute) {
      memory();
      products();
      recorded();
    }
    if (ranks_ > 1) {
      collectives();
      rested();
      // A further link of a machine: what products beside it do to its collectives is the link's.
      if (options_.compute || options_.gpus) beside();
      // They are counted in shares of the memory's bandwidth.
      if (!options_.compute && options_.gpus)
        add(Operation(Copy{Bytes(lists_.copy_bytes.back())}), 0);
    }
    return std::move(tasks_);
  }

 private:
  void add(const Work& work, int level) {
    if (!possible_(work)) return;
    tasks_.push_back({work, lists_.stopping, Seconds{}, level});
  }

  void memory() {
    add(Operation(Launch{}), 0);
    for (const Elementwise& work : lists_.between) add(Operation(work), 0);
    const auto copy_levels = refinement_levels(lists_.copy_bytes.size());
    for (std::size_t i = 0; i < lists_.copy_bytes.size(); ++i)
      add(Operation(Copy{Bytes(lists_.copy_bytes[i])}), copy_levels[i]);
    const auto update_levels = refinement_levels(lists_.update_parameters.size());
    for (std::size_t i = 0; i < lists_.update_parameters.size(); ++i) {
      for (const Optimizer optimizer : {Optimizer::sgd, Optimizer::adamw})
        add(Operation(OptimizerStep{optimizer, lists_.update_parameters[i]}), update_levels[i]);
    }
  }

  void products() {
    const auto widths = axis("--widths", options_.widths, lists_.widths);
    const auto batches = axis("--batches", options_.batches, lists_.batches);
    const auto width_levels = refinement_levels(widths.size());
    const auto batch_levels = refinement_levels(batches.size());
    for (DType dtype : chosen(options_.dtypes, lists_.dtypes)) {
      for (std::size_t w = 0; w < widths.size(); ++w) {
        for (std::size_t b = 0; b < batches.size(); ++b) {
          const int level = width_levels[w] + batch_levels[b];
          for (Pass pass : {Pass::forward, Pass::data_gradient, Pass::weight_gradient}) {
            add(Operation(Product{pass, dtype, batches[b], widths[w], widths[w]}), level);
            if (widths[w] != kClasses)
              add(Operation(Product{pass, dtype, batches[b], widths[w], kClasses}), level + 1);
          }
        }
      }
    }
  }

  // Where the user named no sizes: what lies between those that are timed.
  void recorded() {
    if (!options_.widths.empty() || !options_.batches.empty()) return;
    constexpr int kLast = 4;  // after what a short budget still times
    for (const DType dtype : chosen(options_.dtypes, lists_.dtypes)) {
      for (const LayerSize& layer : lists_.recorded) {
        for (const double rows : lists_.recorded_rows) {
          for (const Pass pass : {Pass::forward, Pass::data_gradient, Pass::weight_gradient}) {
            const Product product{pass, dtype, rows, layer.in, layer.out};
            if (product.flops() <= kMostRecorded && !timed(product)) add(Recorded{product}, kLast);
          }
        }
      }
    }
  }

  [[nodiscard]] bool timed(const Product& product) const {
    const auto in = [](const std::vector<double>& list, double value) {
      return std::find(list.begin(), list.end(), value) != list.end();
    };
    return product.in == product.out && in(lists_.widths, product.in) &&
           in(lists_.batches, product.rows);
  }

  void collectives() {
    std::vector<DType> usual{DType::fp32, DType::fp16};
    if (options_.gpus) usual.push_back(DType::bf16);
    const std::vector<DType> dtypes = chosen(options_.dtypes, usual);
    for (Collective kind :
         chosen(options_.collectives,
                {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter})) {
      for (DType dtype : dtypes) {
        // Only gradients travel compressed; parameters are gathered, and shards reduced, as they
        // are.
        const bool asked = !options_.dtypes.empty() && !options_.collectives.empty();
        if (kind != Collective::all_reduce && dtype != DType::fp32 && !asked) continue;
        // On a slow link the axis ends where one message takes too long.
        std::vector<CollectiveCall> calls;
        for (const double bytes : lists_.message_bytes) {
          calls.push_back({kind, dtype, evenly(bytes, ranks_), ranks_});
          if (options_.gpus && bytes >= kFirstInRounds && bytes <= kLastInRounds)
            calls.push_back({kind, dtype, evenly(bytes * (1 + kBiases), ranks_), ranks_});
        }
        std::erase_if(calls, [&](const CollectiveCall& c) { return !possible_(Operation(c)); });
        const auto levels = refinement_levels(calls.size());
        for (std::size_t i = 0; i < levels.size(); ++i) add(Operation(calls[i]), levels[i]);
      }
    }
  }

  // What a link saves up while it is idle: seen in messages that take longer than that.
  void rested() {
    const auto measured = [](const auto& list, auto value) {
      return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
    };
    if (options_.gpus || !measured(options_.collectives, Collective::all_reduce) ||
        !measured(options_.dtypes, DType::fp32))
      return;
    for (const double bytes : kRestedBytes) {
      add(Operation(CollectiveCall{Collective::all_reduce, DType::fp32, evenly(bytes, ranks_),
                                   ranks_, true}),
          0);
    }
  }

  void beside() {
    for (std::size_t p = 0; p < lists_.beside_products.size(); ++p) {
      for (std::size_t b = 0; b < lists_.beside_bytes.size(); ++b) {
        const CollectiveCall call{Collective::all_reduce, DType::fp32,
                                  evenly(lists_.beside_bytes[b], ranks_), ranks_};
        const int place = static_cast<int>(p + b);
        const int level = place == 1 ? 0 : 1 + place / 2;
        add(Beside{lists_.beside_products[p], call}, options_.compute ? level : place / 4);
      }
    }
    for (const double copied : lists_.beside_copies) {
      for (const double bytes : lists_.beside_bytes) {
        add(Beside{Copy{Bytes(copied)},
                   {Collective::all_reduce, DType::fp32, Bytes(bytes), ranks_}},
            0);
      }
    }
  }

  const PlanOptions& options_;
  PlanLists lists_;
  int ranks_;
  const Possible& possible_;
  std::vector<Task> tasks_;
};

}  // namespace

std::vector<Task> full_grid(const PlanOptions& options, int ranks, const Possible& possible) {
  return Grid(options, ranks, possible).build();
}

Seconds standard_budget(Effort effort) { return Seconds(effort == Effort::quick ? 45.0 : 300.0); }

std::vector<int> refinement_levels(std::size_t count) {
  std::vector<int> levels(count, 0);
  const auto halve = [&](const auto& self, std::size_t low, std::size_t high, int level) -> void {
    if (high - low < 2) return;
    const std::size_t middle = low + (high - low) / 2;
    levels[middle] = level;
    self(self, low, middle, level + 1);
    self(self, middle, high, level + 1);
  };
  if (count > 2) halve(halve, 0, count - 1, 1);
  return levels;
}

}  // namespace ddpx
