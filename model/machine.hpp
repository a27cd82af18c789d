// A calibrated machine: every constant the step needs, each with its standard error and what it
// rests on.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/contention.hpp"
#include "model/kept.hpp"
#include "model/kernel_costs.hpp"
#include "model/link.hpp"
#include "model/network_spec.hpp"

namespace ddpx {

struct Device {
  std::string name;
  int multiprocessors = 0;     // 0: no wave structure (a CPU core)
  int compute_capability = 0;  // 75, 80, 90, ...
  Bytes memory{};
  // What a bare family name means on this machine: "nvlink4" for nvlink, "pcie3" for pcie.
  std::string nvlink_generation;
  std::string pcie_generation;
};

// A measured product: its time alone and, where kernel records gave it, the grid of its longest
// kernel.
struct ProductPoint {
  Product product;
  Estimate<Seconds> time;
  std::optional<KernelGrid> grid;
};

// Host cost of a training framework, fitted to steps the device does not bound:
//   T_host = K (step + h) + (K-1) extra + [synced] (sync + s + per bucket), h and s per parameter
//   tensor; by block: fsdp_block + fsdp_launch (collectives - 2) + fsdp_per_tensor tensors. AdamW's
//   update takes more operations on every tensor than SGD's.
struct HostCosts {
  Estimate<Seconds> step_per_tensor;    // forward, backward and optimizer of one micro-batch
  Estimate<Seconds> extra_micro_batch;  // per micro-batch after the first
  Estimate<Seconds> sync_per_tensor;    // DDP's hooks and copies
  Estimate<Seconds> per_bucket;         // launching a bucket's collective
  Estimate<Seconds> hook_per_bucket;    // a compression hook
  Estimate<Seconds> fsdp;               // FSDP's own work in a step, of one unit
  // Each of FSDP's collectives beyond one unit's two; nullopt: what launching a bucket's costs.
  std::optional<Estimate<Seconds>> fsdp_launch;
  // What does not grow with the network's tensors; nullopt: nothing was found.
  std::optional<Estimate<Seconds>> step{};
  std::optional<Estimate<Seconds>> sync{};
  std::optional<Estimate<Seconds>> hook{};
  std::optional<Estimate<Seconds>> fsdp_block{};       // by block; nullopt: what one unit's costs
  std::optional<Estimate<Seconds>> fsdp_per_tensor{};  // by block; nullopt: nothing
  // What an update by AdamW takes longer than one by SGD; nullopt: nothing was found. By block
  // parameters are DTensors, on which each of its operations costs more: so much on top.
  std::optional<Estimate<Seconds>> adamw_per_tensor{};
  std::optional<Estimate<Seconds>> fsdp_adamw_per_tensor{};
  // What a micro-batch with 16-bit products takes longer: each tensor's casts, there and back.
  // nullopt: nothing was found.
  std::optional<Estimate<Seconds>> autocast_per_tensor{};
  // How far a fresh process moves all of these together, one standard error as a fraction.
  double spread = 0;
};

// What sharing gradients takes the framework of every synchronised backward, beside what copies and
// collectives are priced at: hooks, small kernels, buffers' broadcast, waiting to be scheduled. Of
// a model that only its step is known of; where the host is calibrated its own terms say it.
struct FrameworkCost {
  Estimate<Seconds> time;
  double most = 1;  // as a share of one forward and backward: a short step has few tensors
};

enum class Engine { native, torch };
inline constexpr std::array kEngines{Engine::native, Engine::torch};

// A whole one-GPU step that was measured: the yardstick of speedup for exactly this job, whatever
// the model says of it.
struct MeasuredStep {
  std::string network;  // Network::name
  double batch = 0;
  DType dtype = DType::fp32;
  Optimizer optimizer = Optimizer::sgd;
  Engine engine = Engine::torch;
  Estimate<Seconds> time;
};

// Memory traffic per second of work that goes round `working_set` bytes again and again. A
// processor core's caches make it depend on them; a GPU's training steps mostly exceed its cache.
struct MemoryPoint {
  Bytes working_set{};
  BytesPerSecond bandwidth{};
};

struct Machine {
  std::string name;
  Device device;
  std::vector<ProductPoint> products;
  // By pass and dtype, where enough products have kernels that are known.
  std::vector<KernelCosts> kernel_costs;
  std::vector<MeasuredStep> one_gpu_steps;
  Estimate<BytesPerSecond> copy_bandwidth;  // memory traffic: reads plus writes
  Estimate<BytesPerSecond> optimizer_bandwidth;
  // By ascending working set, where they were measured; the two above are then those of the
  // largest.
  std::vector<MemoryPoint> copy_points;
  std::vector<MemoryPoint> optimizer_points;
  // The same of AdamW's update where it was measured: it takes roots and divides, which on a
  // processor core is arithmetic. nullopt: taken as the optimizer's.
  std::optional<Estimate<BytesPerSecond>> adamw_bandwidth;
  std::vector<MemoryPoint> adamw_points;
  // The same of the native engine's kernels between products (bias and activation forward, their
  // gradients backward) where they were measured: both or neither. nullopt: taken as a copy's.
  std::optional<Estimate<BytesPerSecond>> forward_bandwidth;
  std::optional<Estimate<BytesPerSecond>> backward_bandwidth;
  // What a kernel takes beside its traffic or its flops: its start, and the device's idle time
  // until the next of the same stream. Times of products have theirs in them.
  Estimate<Seconds> kernel_gap;
  // How much longer the idle time is in a step with collectives, between all kernels, beside a
  // collective or not. By Engine; nullopt: no longer.
  std::array<std::optional<Estimate<Seconds>>, 2> longer_gap;
  std::array<std::optional<HostCosts>, 2> host;  // by Engine
  // A part limited by power runs products faster when it mostly waits and slower when it never
  // does, both relative to the short one-GPU runs the products come from: `boost` is their time at
  // the full clock (below 1), `sustained` their time after a long run without pause (above 1).
  // nullopt: not known, taken as 1.
  std::optional<Estimate<double>> boost;
  // Time over which the power is averaged that the limit bounds. nullopt: longer than any step.
  std::optional<Estimate<Seconds>> power_window;
  std::optional<Estimate<double>> sustained;
  // Slowdown of memory-bound kernels beside a collective; nullopt: derived from the share of memory
  // bandwidth the collective takes.
  std::optional<Estimate<double>> memory_beside;
  // What a collective takes of the rank's own core, for links that it was not measured on; CPU
  // ranks only.
  std::optional<SharedCore> shared_core;
  // How much later every kernel begins on a GPU whose process has run a Python hook: its callbacks
  // run on streams of a pool, and the gaps between kernels grow with the streams in use.
  std::optional<Estimate<Seconds>> hook_gap;
  // Share of backward's overlap that a Python compression hook keeps.
  Estimate<double> hook_overlap{1.0, 0.0, ""};
  // Spread of compute between ranks (standard deviation over mean): the step waits for the slowest.
  double rank_spread = 0;
  // Spread of the work of one sample. A rank's step holds many, so that this share of the spread
  // falls with their root; 0: the work of every sample is the same, or nothing is known of it.
  double sample_spread = 0;
  std::optional<FrameworkCost> framework;  // nullopt: nothing but what is calibrated
  // What remains after all terms: one standard error of a step, fitted on steps the model was not
  // fitted on, or a prior.
  double residual = 0.02;
  std::vector<Link> links;
  std::string measurements;  // name of the raw file
  std::string measurements_hash;
  std::vector<std::string> notes;  // borrowed priors, dropped points, limits
  // Where it was fitted: program version, host, switches.
  std::vector<std::pair<std::string, std::string>> context;

  // What prices an update.
  [[nodiscard]] const Estimate<BytesPerSecond>& update_bandwidth(Optimizer optimizer) const;
  [[nodiscard]] std::span<const MemoryPoint> update_points(Optimizer optimizer) const;
  [[nodiscard]] const HostCosts* host_costs(Engine engine) const;
  // longer_gap of that engine moved by `z` standard errors, or nothing.
  [[nodiscard]] Seconds longer_gap_of(Engine engine, double z = 0) const;
  [[nodiscard]] const Link* find_link(std::string_view link_name) const;
  // Both spreads of compute between ranks, for a step of `samples` on each.
  [[nodiscard]] double spread(double samples) const;
};

[[nodiscard]] std::string_view name(Engine engine);
[[nodiscard]] std::optional<Engine> engine_from(std::string_view word);

// Interpolated over the logarithms, constant beyond the ends; `usual` where there is no point.
[[nodiscard]] BytesPerSecond bandwidth_at(std::span<const MemoryPoint> points, Bytes working_set,
                                          BytesPerSecond usual);

// What a product costs alone and how sure that is.
struct ProductPrice {
  Seconds time{};
  double relative_error = 0;
  std::optional<KernelGrid> grid;
  bool extrapolated = false;
};

// Prices products from the measured points of one dtype. A measured shape has its own time and
// grid. Another shape is priced by what the library's kernels cost where the machine knows
// (kernel_costs.hpp), which gives the grid too. Elsewhere it transfers *efficiency*, not time: the
// rate of its nearest points (inverse squared distance over the logarithms of rows, in and out),
// with an error that grows with the distance; where kernel records tell the tiles of the nearest,
// the geometric mean of that and of the better of their kernels carried over (tiles.hpp,
// docs/model.md).
class ProductTable {
 public:
  ProductTable(Kept<Machine> machine, DType dtype);
  [[nodiscard]] const Machine& machine() const { return machine_; }
  // Throws InputError when the machine has no product of that dtype. (A captured network brings its
  // own times and asks for none.)
  [[nodiscard]] ProductPrice price(const Product& product) const;

  // A one-GPU step that the machine timed, over what the model has it take (work_scale.hpp).
  struct StepRatio {
    const MeasuredStep* step;
    SpecSizes sizes;
    double log_batch;  // to base 2, as the sizes
    double log_ratio;
  };
  // Those of generated networks in this dtype that the device bounds. As unsafe as the entries.
  [[nodiscard]] const std::vector<StepRatio>& step_ratios() const;

 private:
  struct Entry {
    double log_rows, log_in, log_out;
    double log_seconds_per_flop;
    const ProductPoint* point;
  };
  [[noreturn]] void refuse() const;

  const Machine& machine_;
  DType dtype_;
  bool any_ = false;
  [[nodiscard]] const std::vector<Entry>& entries(Pass pass) const;

  std::array<std::vector<const ProductPoint*>, 3> points_;  // by Pass
  // Made at the first shape that was not measured: four logarithms a point would be most of a
  // forecast that needs none. Not safe to share between threads.
  mutable std::array<std::vector<Entry>, 3> entries_;
  mutable std::array<std::optional<KernelPrices>, 3> kernels_;  // alike
  // The last shapes carried over, for the next model of the same network; as unsafe.
  [[nodiscard]] ProductPrice carried(const Product& product) const;
  // nullptr where the costs of that pass are not known.
  [[nodiscard]] const KernelPrices* kernels(Pass pass) const;
  [[nodiscard]] ProductPrice by_kernels(const KernelPrices& kernels, const Product& product) const;
  mutable std::vector<std::pair<Product, ProductPrice>> recent_;
  mutable std::size_t oldest_ = 0;
  mutable std::optional<std::vector<StepRatio>> ratios_;
};

}  // namespace ddpx
