// The hardware seam: everything that needs a device, and nothing else. Above it all is arithmetic.
//
// A backend runs on every rank at once. What it returns is already the slowest rank's and the same
// on all ranks, so that whatever is decided from it (stop, go on, leave out) is decided alike
// everywhere and the ranks cannot come apart. For the same reason no rank's own clock decides
// anything: a bound on time is a bound on the sum of samples.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/error.hpp"
#include "model/machine.hpp"
#include "profiler/measurement.hpp"

namespace ddpx {

struct Hardware {
  Device device;
  int ranks = 1;
  std::optional<LinkDescription> link;  // how the ranks reach each other; none for one rank
  std::vector<std::pair<std::string, std::string>> context;  // libraries, switches
  std::vector<std::string> notes{};  // what the user should know of this machine
};

// One visit to a product (or a copy) and a collective that run at the same time: seconds of one
// product and of one collective, each alone and beside the other.
struct BesideTimes {
  double product_alone = 0;
  double product_beside = 0;
  double collective_alone = 0;
  double collective_beside = 0;
  // Share of the product's time for which the collective was beside it, by kernel records: then all
  // times are those of kernels, without waits for room and gaps. 0: timed from outside.
  double share = 0;
};

struct BackendOptions {
  bool kernel_records = true;  // from CUPTI, on GPUs; false: CUDA events alone
};

// The kernel that does most of a product's work, and every run's time (ProductSample); without
// either where a rank's records are no use.
struct RecordedProduct {
  std::optional<KernelRecord> kernel;
  std::vector<double> seconds;
};

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  [[nodiscard]] virtual Hardware hardware() const = 0;
  [[nodiscard]] virtual bool supports(const Operation& operation) const = 0;

  // Memory that repeats of the operation go round; 0 where that is not known.
  [[nodiscard]] virtual Bytes working_set(const Operation& /*operation*/) const { return {}; }

  // `n` samples (n >= 1) in seconds, warmed up; collectives follow each other without a pause
  // unless they are `rested`. Throws DeviceError for an operation that is not supported.
  [[nodiscard]] virtual std::vector<double> sample(const Operation& operation, int n) = 0;
  [[nodiscard]] virtual std::vector<BesideTimes> sample_beside(const Operation& work,
                                                               const CollectiveCall& call,
                                                               int n) = 0;

  // A few runs of the product by this rank's kernel records; nullopt on all ranks where none keeps
  // any. Asked after all timing: recording may cost a little.
  [[nodiscard]] virtual std::optional<RecordedProduct> record(const Product& /*product*/) {
    return std::nullopt;
  }
  // The channels of a collective, by its kernel's record.
  [[nodiscard]] virtual std::optional<int> channels(const CollectiveCall& /*call*/) {
    return std::nullopt;
  }
  // Every rank by itself runs the product for `time`, all at once. Empty where ranks cannot be told
  // apart.
  [[nodiscard]] virtual std::vector<RankLoad> load(const Product& /*product*/, Clocks /*clocks*/,
                                                   Seconds /*time*/) {
    return {};
  }
  // Every two ranks, one pair after the other; empty where that is not measured. Throws LinkHung
  // for a pair whose data does not arrive in time; the backend is then of no further use.
  [[nodiscard]] virtual std::vector<PairSample> pairs() { return {}; }
  // How the communication library says that it runs each of `calls`; empty where it does not.
  [[nodiscard]] virtual std::vector<std::optional<CollectiveRun>> reported(
      const std::vector<CollectiveCall>& /*calls*/) {
    return {};
  }
  // What slows the device at this moment, on any rank, in words ("power cap"); empty where nothing
  // does or nobody knows.
  [[nodiscard]] virtual std::string slowed_by() { return {}; }
};

// Data between two ranks did not arrive.
class LinkHung : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

// "fp32 forward 64 x 512 -> 512", "fp16 all_reduce of 262144 B": for people.
[[nodiscard]] std::string describe(const Operation& operation);

}  // namespace ddpx
