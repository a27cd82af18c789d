// Raw measurements: what was timed, never what follows from it. A measurements file is written once
// and not edited; every machine can be fitted again from it with no device. Published measurements
// of others enter the same way, with their source.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/machine.hpp"
#include "model/strategy.hpp"

namespace ddpx {

// The kernel that did most of a product's work, from kernel records.
struct KernelRecord {
  std::string name;
  double blocks = 0;  // grid x * y * z
  int threads = 0;    // per block
  int registers_per_thread = 0;
  int shared_bytes = 0;
  bool persistent = false;
};

// A sample that was taken and is not used, and why.
struct DroppedSample {
  double seconds = 0;
  std::string reason;
};

// Timed, run under kernel records, or both.
struct ProductSample {
  Product product;
  std::vector<double> seconds;
  std::optional<KernelRecord> kernel;
  std::vector<DroppedSample> dropped{};
  // Of a run's kernels, without the gaps after each, which `seconds` hold.
  std::vector<double> recorded_seconds{};
};

// How NCCL says that it ran a collective.
struct CollectiveRun {
  std::string algorithm;  // "RING", "TREE", "NVLS", ...
  std::string protocol;   // "LL", "LL128", "SIMPLE"
  int channels = 0;       // 0: it does not say
};

struct CollectiveSample {
  std::string link;
  CollectiveCall call;
  std::vector<double> seconds;
  std::string tool;  // "nccl-tests", "torch", ...: torch's small messages carry host time
  std::vector<DroppedSample> dropped{};
  std::optional<CollectiveRun> reported{};
  int process_set = 0;         // of several that measured the link
  std::optional<int> hosts{};  // that the ranks were on; nullopt: not known
};

struct CopySample {
  Bytes bytes{};  // copied; traffic is twice that
  std::vector<double> seconds;
  std::vector<DroppedSample> dropped{};
  Bytes working_set{};  // that the copies went round; 0: not known
};

struct OptimizerSample {
  OptimizerStep step;
  std::vector<double> seconds;
  std::vector<DroppedSample> dropped{};
  Bytes working_set{};  // as of CopySample
};

// The cost of starting one small piece of work.
struct LaunchSample {
  std::vector<double> seconds;
  std::vector<DroppedSample> dropped{};
};

// The device's idle time from one kernel of a step to the next, the host being ahead.
struct GapSample {
  bool collectives = false;  // whether the step has some
  double seconds = 0;        // the median, of the slowest rank
};

// A product and a collective at the same time, each alone and beside the other, all four measured
// within one visit so that they share its conditions. The measured table of contention of devices
// that have no wave structure.
struct BesideSample {
  std::string link;
  Product product;
  CollectiveCall call;
  std::vector<double> product_alone_seconds;
  std::vector<double> product_beside_seconds;
  std::vector<double> collective_alone_seconds;
  std::vector<double> collective_beside_seconds;
  // Share of the product's time for which the collective was beside it, by kernel records: then the
  // times are those of kernels, without waits for room and gaps. 0: timed from outside.
  double kernel_share = 0;
};

// The same of a copy: memory-bound kernels lose to what the collective takes of the memory.
struct CopyBesideSample {
  std::string link;
  Copy copy;
  CollectiveCall call;
  std::vector<double> copy_alone_seconds;
  std::vector<double> copy_beside_seconds;
  std::vector<double> collective_alone_seconds;
  std::vector<double> collective_beside_seconds;
  double kernel_share = 0;
};

// The native engine's kernels between products.
struct ElementwiseSample {
  Elementwise work;
  std::vector<double> seconds;
  std::vector<DroppedSample> dropped{};
};

enum class Clocks { burst, sustained };
[[nodiscard]] inline std::string_view name(Clocks clocks) {
  return clocks == Clocks::burst ? "burst" : "sustained";
}

// A whole optimizer step, on one GPU or shared between several. Of the latter, steps that the host
// bounds say what sharing costs it (calibration/fit_host.hpp); the model is never fitted on others.
struct StepSample {
  std::string network;  // as for --network
  double batch = 0;
  int micro_batches = 1;
  DType dtype = DType::fp32;
  Optimizer optimizer = Optimizer::sgd;
  Engine engine = Engine::torch;
  Clocks clocks = Clocks::burst;
  std::vector<double> seconds;
  std::string note;
  int gpus = 1;
  Strategy strategy{};  // on several GPUs; its micro_batches are the member above
};

// One rank's device while all of them work at the same time, each on its own.
struct RankLoad {
  std::vector<double> seconds;           // of one product; each of a window of them in a row
  std::vector<DroppedSample> dropped{};  // windows in which something slowed a burst
  // At the end, still at work; nullopt where the driver does not say.
  std::optional<double> clock_mhz{};
  std::optional<double> memory_mhz{};
  std::optional<double> power_w{};
  std::optional<double> power_limit_w{};
  std::optional<double> celsius{};
  std::string slowed_by{};  // in any window, in words
};

struct LoadSample {
  Product product;
  Clocks clocks = Clocks::burst;
  std::vector<RankLoad> ranks;
};

// Two ranks that send each other `bytes` at the same time, the others idle. `first` < `second`.
struct PairSample {
  int first = 0;
  int second = 1;
  Bytes bytes{};
  std::vector<double> seconds;
};

// A constant taken from elsewhere, because these measurements cannot give it. `constant` is a field
// name of the machine file.
struct Prior {
  std::string constant;
  double value = 0;
  double relative_error = 0;
  std::string source;
};

// What a measured link is, beside its samples.
struct LinkDescription {
  std::string name;
  std::string title;
  Topology topology = Topology::pcie;
  bool topology_assumed = false;  // as Link's
  int channels = 0;
  double peak_bytes_per_s = 0;
  std::string source;
};

struct Measurements {
  std::string name;
  std::string source;
  Device device;
  std::vector<std::pair<std::string, std::string>>
      context;  // host, driver, library versions, environment switches
  std::vector<LinkDescription> links;
  std::vector<ProductSample> products;
  std::vector<CollectiveSample> collectives;
  std::vector<CopySample> copies;
  std::vector<OptimizerSample> optimizers;
  std::vector<LaunchSample> launches;
  std::vector<BesideSample> besides;
  std::vector<CopyBesideSample> copy_besides;
  std::vector<ElementwiseSample> elementwise;
  std::vector<PairSample> pairs;
  std::vector<LoadSample> loads;
  std::vector<StepSample> steps;
  std::vector<GapSample> gaps;
  std::vector<Prior> priors;
  std::vector<std::string> notes;
};

}  // namespace ddpx
