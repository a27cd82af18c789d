// Kernel records of a piece of work, where CUPTI gives them. The tracer is opened at the first use:
// what is timed before has none of its cost.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "profiler/cuda/cupti.hpp"
#include "profiler/cuda/site.hpp"

namespace ddpx::cuda {

class Records {
 public:
  // Without `wanted` none are taken, and the note says that it was asked for.
  explicit Records(bool wanted = true) : wanted_(wanted) {}
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;
  // Runs `work` and waits for it. nullopt: no rank has records, and a note on the site says why,
  // once; `work` is then not run. Records that were lost are counted in a note. Collective.
  [[nodiscard]] std::optional<Trace> of(const std::function<void()>& work, Site& site);
  // Takes the tracer out of the process: what is timed from here on has none of its cost. The next
  // use opens it again.
  void detach();
  ~Records() { detach(); }

 private:
  // nullopt when it traces, else why it does not.
  std::optional<std::string> start();

  std::unique_ptr<Tracer> tracer_;
  bool wanted_;
  bool refused_ = false;
};

}  // namespace ddpx::cuda
