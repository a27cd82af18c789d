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
  // Runs `work` and waits for it. nullopt: no records, and a note on the site says why, once.
  [[nodiscard]] std::optional<Trace> of(const std::function<void()>& work, Site& site);

  // Records that were lost so far.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  std::optional<Trace> refused(const std::string& why, Site& site);

  std::unique_ptr<Tracer> tracer_;
  bool refused_ = false;
  std::uint64_t lost_ = 0;
};

}  // namespace ddpx::cuda
