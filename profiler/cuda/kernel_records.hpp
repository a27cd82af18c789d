// Kernels as a GPU ran them, and what follows from them: the grid of a product's main kernel (the
// wave contention of model/contention.hpp needs it), how long a kernel had a collective beside it,
// and a measured step as a Timeline. Records are values, so all of it is tested without a GPU.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/timeline.hpp"
#include "profiler/measurement.hpp"

namespace ddpx::cuda {

struct Kernel {
  std::string name;
  std::array<int, 3> grid{1, 1, 1};
  std::array<int, 3> block{1, 1, 1};
  std::array<int, 3> cluster{1, 1, 1};  // blocks; 1 x 1 x 1 below compute capability 9.0
  std::optional<int> max_active_clusters;
  int registers_per_thread = 0;
  int static_shared_bytes = 0;
  int dynamic_shared_bytes = 0;
  int device = 0;
  int stream = 0;
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint32_t correlation = 0;

  [[nodiscard]] double blocks() const;
  [[nodiscard]] Seconds duration() const;
};

// A copy or a memory set by the GPU.
struct Transfer {
  std::string name;  // "copy host to device", "set", ...
  double bytes = 0;
  int device = 0;
  int stream = 0;
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
};

struct Trace {
  std::vector<Kernel> kernels;  // by start
  std::vector<Transfer> transfers;
  // Records the tracer had no room for, and those it delivered without times.
  std::uint64_t dropped = 0;
  std::uint64_t untimed = 0;
};

// Every kernel of NCCL has it in its name (ncclDevKernel_..., ncclKernel_...). The algorithm that
// the name goes on with is the entry's and often not the one that ran: nccl_log.hpp tells that.
[[nodiscard]] bool is_collective(const Kernel& kernel);

// NCCL launches one block per channel (src/enqueue.cc); nullopt for other kernels.
[[nodiscard]] std::optional<int> channels_of(const Kernel& kernel);

// Does the kernel distribute its tiles over a grid that just fills the GPU? From compute capability
// 9.0 on libraries have such kernels; they take a whole multiprocessor each and launch as many
// blocks as there are multiprocessors, rounded down to whole clusters, or as many clusters as fit.
// On older parts the same grid is chance (128 tiles on the 128 multiprocessors of an RTX 4090).
// Two H200: nvjet kernels of grid 2 x 66 on 132, cluster 1 x 2, slowed by 1.34 to 1.37 beside 24
// channels, where one wave turned into two would take 2.
[[nodiscard]] bool is_persistent(const Kernel& kernel, const Device& device);

struct MainKernel {
  KernelRecord record;
  double share = 0;  // of the time of all kernels that are no collective
  int launches = 0;
};

// The kernel that did most of the work of repeated runs of one operation: of kernels alike in name,
// grid, block and memory, those with the longest time together. Transpose, split-K and epilogue
// kernels that a library adds are not it. nullopt without kernels.
[[nodiscard]] std::optional<MainKernel> main_kernel(std::span<const Kernel> kernels,
                                                    const Device& device);

// Seconds of the kernels of each of `runs` runs in a row that launch alike, without what lies
// between them: a host that records may come late with the next. Empty where the number of kernels
// is no multiple of theirs.
[[nodiscard]] std::vector<double> run_times(std::span<const Kernel> kernels, int runs);

// Share of `kernel`'s time during which a collective ran on its device; collectives that overlap
// each other count once. 0 for a kernel without duration.
[[nodiscard]] double share_beside(const Kernel& kernel, std::span<const Kernel> others);

// Median time of the kernels that are alike `product`, in seconds; nullopt where there are none.
[[nodiscard]] std::optional<Seconds> time_of(const KernelRecord& product, const Trace& trace);

// A product repeated while collectives followed each other, as their kernels ran.
struct SideBySide {
  // Median of the product's kernels over those that began beside a collective and had it for the
  // whole of their time, or nearly; over all that began beside one where there are none.
  Seconds product;
  double share = 0;                 // of these kernels' time, the mean
  std::vector<double> collectives;  // seconds of each, waiting for other ranks included
};

// nullopt where no kernel alike `product` began beside a collective.
[[nodiscard]] std::optional<SideBySide> side_by_side(const KernelRecord& product,
                                                     const Trace& trace);

// Seconds of each collective's kernel, in order.
[[nodiscard]] std::vector<double> collective_times(const Trace& trace);

// Of the first of NCCL's kernels among the records; nullopt where there is none.
[[nodiscard]] std::optional<int> channels_of(const Trace& trace);

// Time in which at least one kernel or transfer ran.
[[nodiscard]] Seconds busy_time(const Trace& trace);

// Median idle time from one kernel or transfer to the next of the stream that has most of them,
// collectives left out, of gaps too short to be a wait for another stream; nullopt where there are
// few.
[[nodiscard]] std::optional<Seconds> usual_gap(const Trace& trace);

// One device's records from the earliest on: collectives are communication, all else computes.
[[nodiscard]] Timeline timeline_of(const Trace& trace, int device);

}  // namespace ddpx::cuda
