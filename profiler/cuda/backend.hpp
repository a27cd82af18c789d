// GPUs: cuBLAS on each, NCCL between them.
//
// Times are the device's: work is queued behind a kernel that holds the stream until all of it is
// there, so that the host's speed does not show, and timed by events. A collective's time is that
// of queued collectives, as nccl-tests counts it.
#pragma once

#include <memory>
#include <string>

#include "profiler/backend.hpp"
#include "profiler/cuda/nvml.hpp"
#include "profiler/cuda/records.hpp"
#include "profiler/cuda/site.hpp"
#include "profiler/cuda/workload.hpp"
#include "profiler/pulse.hpp"

namespace ddpx::cuda {

class CudaBackend : public Backend {
 public:
  // Joins the other ranks of the job this process belongs to. `pulse` must outlive the backend.
  // Collective.
  explicit CudaBackend(Pulse& pulse, const BackendOptions& options = {});

  [[nodiscard]] Hardware hardware() const override { return site_.hardware(); }
  [[nodiscard]] bool supports(const Operation& operation) const override;
  [[nodiscard]] std::vector<double> sample(const Operation& operation, int n) override;
  [[nodiscard]] std::vector<BesideTimes> sample_beside(const Operation& work,
                                                       const CollectiveCall& call, int n) override;
  [[nodiscard]] std::optional<RecordedProduct> record(const Product& product) override;
  [[nodiscard]] std::optional<int> channels(const CollectiveCall& call) override;
  [[nodiscard]] std::vector<RankLoad> load(const Product& product, Clocks clocks,
                                           Seconds time) override;
  [[nodiscard]] std::vector<PairSample> pairs() override;
  [[nodiscard]] std::vector<std::optional<CollectiveRun>> reported(
      const std::vector<CollectiveCall>& calls) override;
  [[nodiscard]] std::string slowed_by() override;

 private:
  // The operation warmed up, and how many runs make one sample.
  struct Ready {
    std::string what;
    std::unique_ptr<Workload> workload;
    int runs = 1;
    double seconds = 0;  // of one run, roughly
  };

  Ready prepared(const Operation& operation);
  // Records of `runs` runs after one without.
  [[nodiscard]] std::optional<Trace> recorded(const Operation& operation, int runs);
  // Seconds of one of `runs` in a row.
  [[nodiscard]] double timed(Ready& ready, int runs);
  // The same, with an event between any two, as beside a collective.
  [[nodiscard]] double timed_apart(Ready& ready, int runs);
  // Queues `runs` collectives in a row with `products` beside them, marks around both.
  void issue_together(Ready& product, Ready& collective, int products, int runs);
  // `runs` collectives in a row, products beside them all along: by kernel records or, where there
  // are none on any rank, by events.
  [[nodiscard]] BesideTimes visit(Ready& product, Ready& collective, int runs);
  [[nodiscard]] std::optional<BesideTimes> recorded_visit(Ready& product, Ready& collective,
                                                          int products, int runs);
  // What NVML says of this rank's GPU now.
  [[nodiscard]] GpuState state() const;
  // `runs` exchanges of two ranks, in seconds of one; nullopt: data did not arrive in time.
  [[nodiscard]] std::optional<double> exchanged(int first, int second, Elements from, Elements to,
                                                int runs);
  void hold(int launches);
  [[nodiscard]] EventHandle& mark(std::size_t index);
  [[nodiscard]] double between(std::size_t from, std::size_t to);

  Site site_;
  Gpu& gpu_;
  Records records_;
  std::vector<EventHandle> marks_;
  Ready current_;
};

}  // namespace ddpx::cuda
