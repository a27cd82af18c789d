// CPU ranks: Open MPI between them, OpenBLAS on one core each.
#pragma once

#include <memory>
#include <string>

#include "profiler/backend.hpp"
#include "profiler/cpu/communicator.hpp"
#include "profiler/cpu/workload.hpp"
#include "profiler/pulse.hpp"

namespace ddpx::cpu {

class CpuBackend : public Backend {
 public:
  // Starts MPI. `pulse` must outlive the backend.
  explicit CpuBackend(Pulse& pulse);

  [[nodiscard]] Hardware hardware() const override { return hardware_; }
  [[nodiscard]] bool supports(const Operation& operation) const override;
  [[nodiscard]] Bytes working_set(const Operation& operation) const override;
  [[nodiscard]] std::vector<double> sample(const Operation& operation, int n) override;
  [[nodiscard]] std::vector<BesideTimes> sample_beside(const Operation& work,
                                                       const CollectiveCall& call, int n) override;

 private:
  // The operation warmed up, and how many runs make one sample long enough for the clock.
  struct Ready {
    std::string what;
    std::unique_ptr<Workload> workload;
    int runs = 1;
    double seconds = 0;  // of one run, roughly
  };

  Ready prepared(const Operation& operation);
  [[nodiscard]] double timed(Ready& ready, int runs);
  // `runs` collectives in a row, products beside them all along.
  [[nodiscard]] BesideTimes visit(Ready& product, Ready& collective, int runs);
  void meet();  // barrier

  Pulse& pulse_;
  Communicator communicator_;
  CollectiveQueue queue_;
  Hardware hardware_;
  Ready current_;
};

}  // namespace ddpx::cpu
