// One optimizer step of data-parallel training, term by term.
//
//   T_step = max(T_host, T_gpu)
//
// T_gpu walks two streams. The compute stream runs K forwards and backwards, the optimizer at the
// end; the communication stream runs the buckets' all-reduces in order, bucket b from max(ready_b,
// end_(b-1)). Sharded by block, the communication stream gathers each block's parameters one block
// ahead and scatters its gradients when they are complete. Products that run while a collective
// holds multiprocessors are slowed by their waves (contention.hpp). Every term and its evidence:
// docs/model.md.
#pragma once

#include <array>
#include <string_view>

#include "model/blocks.hpp"
#include "model/strategy.hpp"
#include "model/timeline.hpp"
#include "model/work_scale.hpp"

namespace ddpx {

// Where a step's time goes. The terms of a step add up to it.
enum class Term {
  forward,                // of the last micro-batch
  backward,               // of the last micro-batch, alone
  accumulation,           // earlier micro-batches and adding their gradients
  contention,             // what products lose beside collectives
  copies,                 // into buckets, and out of them where that is exposed
  compression,            // the compression hook's casts
  exposed_communication,  // compute waits
  optimizer,
  framework,  // what sharing takes besides (FrameworkCost)
  host,       // the host is slower than the device by this much
  imbalance,  // waiting for the slowest rank
  loader,     // waiting for data
};
inline constexpr std::size_t kTerms = 12;
[[nodiscard]] std::string_view name(Term term);

// Sources of uncertainty that a Shift moves, in standard errors.
enum class Source { compute, memory, link, host, contention, hook, clock };
inline constexpr std::size_t kSources = 7;
[[nodiscard]] std::string_view name(Source source);

// Bytes of one gradient element: gradients are fp32, also under autocast. A captured network says
// its own (Network::gradient_element_bytes).
inline constexpr double kGradientBytes = 4;

// One collective of a step as it is priced: a bucket's all-reduce, a unit's all-gather.
struct Exchange {
  Collective kind = Collective::all_reduce;
  std::size_t tensors = 0;
  Bytes gradient{};  // of the parameters it is about, uncompressed
  Bytes message{};   // as handed to the collective, nccl-tests' convention
  DType wire = DType::fp32;
  int ranks = 2;
  bool between = false;  // the nodes, one rank of each; else all ranks, or those of one node
  double per_step = 1;   // how often in one optimizer step
  double time = 0;       // seconds alone
  double relative_error = 0;
  double least = 0;  // CollectivePrice::least
};

struct Shift {
  std::array<double, kSources> z{};
  [[nodiscard]] double of(Source source) const { return z[static_cast<std::size_t>(source)]; }
};

enum class BoundBy { compute, communication, host, loader };
[[nodiscard]] std::string_view name(BoundBy bound);

struct Step {
  std::array<Seconds, kTerms> terms{};
  Seconds communication_busy{};  // a collective is running
  Seconds host{};                // what the host takes to issue the step, hidden or not

  [[nodiscard]] Seconds total() const;
  [[nodiscard]] Seconds term(Term t) const { return terms[static_cast<std::size_t>(t)]; }
  // Share of the step in which compute waits for communication.
  [[nodiscard]] double communication_share() const;
  [[nodiscard]] double communication_busy_share() const;
  // What the step would have to be rid of to get faster: the largest of device work, exposed
  // communication, host and loader.
  [[nodiscard]] BoundBy bound_by() const;
};

// Prices everything once, then answers for any shift of the constants. Cheap enough to be built per
// forecast: one matrix-product lookup per distinct shape, one collective price per bucket. Keeps
// references to machine, link and network.
class StepModel {
 public:
  // Throws InputError for a job that makes no sense or a dtype the machine has not measured.
  StepModel(Kept<Machine> machine, Kept<Link> link, Kept<Network> network, const Job& job);
  // The same with the machine's products of the job's dtype looked up already, for several models
  // of one machine.
  // `scale` in place of what the machine's one-GPU steps say of the work.
  StepModel(Kept<Machine> machine, const ProductTable& products, Kept<Link> link,
            Kept<Network> network, const Job& job, std::optional<WorkScale> scale = {});

  // Whether over() can answer for `job` over `link`: the same work on each of several GPUs.
  [[nodiscard]] bool shares_work(const Link& link, const Job& job) const;
  // The same work over another link, on another count or with other micro-batches: prices what
  // is exchanged anew and nothing else. Keeps a reference to the link; the one before is let go.
  void over(Kept<Link> link, const Job& job);

  [[nodiscard]] Step run(const Shift& shift = {}) const;
  // Whether moving a source can move this step at all; a false saves its walk.
  [[nodiscard]] bool depends_on(Source source) const;
  // The same step with every span, for drawing.
  [[nodiscard]] Timeline timeline(const Shift& shift = {}) const;

  [[nodiscard]] std::span<const Bucket> buckets() const { return buckets_; }
  // Every collective of a step, in no order of time: buckets, or unit by unit (the root last).
  [[nodiscard]] std::span<const Exchange> exchanges() const { return collectives_; }
  // What the collectives of a step take in a row where every wire runs at its peak: no step over
  // the link is shorter, whatever else is faster than forecast.
  [[nodiscard]] Seconds least_exchange() const;
  [[nodiscard]] const WorkScale& work_scale() const { return scale_; }
  // Whether a shape, a message size or a rank count lies outside what was measured.
  [[nodiscard]] bool extrapolated() const { return extrapolated_; }

 private:
  // Device work of one layer in one direction: products, then memory-bound kernels and gaps.
  struct Work {
    double seconds = 0;                  // alone
    double variance_weight = 0;          // relative error of `seconds`
    std::optional<SharedKernel> shared;  // of a known grid, beside this job's collectives
    double kernels = 0;                  // that it is made of
    double bytes = 0;                    // that it moves in all, and flops
    double flops = 0;
    // Beside a collective, so slowed by it: share of the memory's bandwidth, and its rate.
    double memory_share = 0;
    FlopsPerSecond flops_rate{};
  };
  struct LayerWork {
    std::size_t shape = 0;  // index into shapes_
    std::size_t tensors = 0;
    double gradient_bytes = 0;
  };
  // One direction of a layer.
  struct Way {
    std::vector<Work> products;  // priced ones, then recorded ones
    double memory = 0;           // seconds of recorded kernels that wait for memory
    double traffic = 0;          // bytes of biases and activations
    double casts = 0;            // bytes of casts
    int kernels = 0;
    // Kernels of a captured layer beside its launches; its times hold their gaps on one GPU.
    double given = 0;
  };
  struct Shape {
    Way forward{std::vector<Work>(1)};
    Way backward{std::vector<Work>(2)};  // data gradient, weight gradient
  };
  struct Context;
  class Queue;
  struct BlockWalk;

  std::size_t shape_of(const Layer& layer, const ProductTable& products);
  void add_given_times(const Layer& layer, double samples, Shape& shape) const;
  void add_launches(std::span<const KernelLaunch> launches, double samples, bool counted,
                    double seconds, Way& way) const;
  void check_captured();
  void check_channels() const;
  void join();
  void price_collectives();
  void fill_buckets();
  void price_buckets();
  void price_blocks();
  void add_exchange(Exchange exchange);
  [[nodiscard]] const Link& link_of(const Exchange& exchange) const;
  [[nodiscard]] Bytes working_set() const;
  // Whether gradients go through a hook of Python's on a GPU, whose callbacks have streams of their
  // own.
  [[nodiscard]] bool python_hook() const;
  // Nothing where no collective holds multiprocessors.
  [[nodiscard]] std::optional<SharedKernel> shared_kernel(const KernelGrid& grid,
                                                          const WaveCost& cost) const;
  void set_rates(Work& work) const;
  // How a step is walked: products at `clock` times their calibrated time, all work at `scale`
  // times its parts' (work_scale.hpp), and with `exchange` or without.
  struct Walk {
    double clock = 1;
    double scale = 1;
    bool exchange = true;
  };
  Step simulate(const Shift& shift, const Walk& walk, Timeline* timeline) const;
  // The clock settled; and what exchanges with others takes no less than the same work alone.
  struct Settled {
    Walk walk;
    Step step;
  };
  Settled settled(const Shift& shift) const;
  double settled_clock(const Shift& shift, double scale) const;
  double scale_of(const Shift& shift) const;
  double scale_alone(const Shift& shift) const;  // of one GPU's step
  // What the host takes for the step, and its relative error; zero where nothing is known of it.
  struct HostTime {
    double seconds = 0;
    double error = 0;
  };
  [[nodiscard]] HostTime host_time() const;
  // Forward and backward of one micro-batch; gradients are shared in it or not.
  void micro_batch(Context& context, Step& step, bool shared) const;
  // The micro-batches before the last one.
  void earlier(Context& context, Step& step) const;
  void add_earlier(const Context& context, Step& step, const Step& one) const;
  void synchronised(Context& context, Step& step) const;
  void exposed(Context& c, Step& step, const char* what, double seconds) const;
  void one_unit(Context& context, Step& step) const;
  void by_block(Context& context, Step& step) const;
  // ZeRO with replicated parameters: every rank hands out the part it updated.
  void gather_updated(Context& context, Step& step, double idle) const;

  const Machine& machine_;
  const Link* link_;
  const Network& network_;
  Job job_;
  int channels_ = 0;
  std::vector<LayerWork> layers_;  // forward order
  std::vector<Shape> shapes_;
  std::vector<const Layer*> shape_layers_;
  std::vector<Bucket> buckets_;
  // Per bucket, then ZeRO's all-gather; FSDP: all-gather, reduce-scatter and, of HSDP, all-reduce
  // of each unit.
  std::vector<Exchange> collectives_;
  Blocks blocks_;  // of per-block sharding
  WorkScale scale_;
  double broadcasts_ = 0;  // seconds before a synchronised forward
  double parameters_ = 0;
  double given_rate_ = 0;  // kernels of a captured network beside its launches, per second
  Bytes working_set_{};    // touched once or more in every step
  std::size_t tensors_ = 0;
  double slowest_ = 0;  // how much longer the slowest rank computes, as a fraction
  bool work_extrapolated_ = false;
  bool extrapolated_ = false;
};

// Expected maximum of N independent standard normal values: how many standard deviations the
// slowest of N ranks lies above the mean. The integral of the largest order statistic at powers of
// two, a straight line in log N between them: 1.2 % low at N = 3, within 0.6 % elsewhere.
[[nodiscard]] double expected_maximum(int n);

}  // namespace ddpx
