// The words of --diagnose as values. Of request.cpp.
#pragma once

#include <string>
#include <vector>

#include "predict/request.hpp"

namespace ddpx {

struct MeasuredRun {
  std::vector<StepPoint> points;  // ascending counts
  RankTimes ranks;
  // A collective seen in a trace.
  std::optional<Bytes> message;
  std::optional<Seconds> took;
  bool by_rate = false;            // a step was given in samples per second
  std::vector<std::string> notes;  // of the file it was read from
  bool for_n_gpus = false;         // a word of n GPUs, which --gpus counts
};

// --diagnose, --rank-compute, --rank-wall, --rank-data. Samples per second (rN=) become steps of
// `job`'s samples. Throws InputError.
[[nodiscard]] MeasuredRun measured_run(const Options& options, const Resolvers& resolvers, Job job);

// Throws InputError where a flag cannot change what --diagnose says of `run`, or is missing.
void check_diagnosis(const Options& options, const MeasuredRun& run);

}  // namespace ddpx
