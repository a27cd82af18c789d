// Kernel records through CUPTI's activity API (NVIDIA, "CUPTI Documentation", Activity API): what
// ran on the GPU, with grid, registers, shared memory and times.
//
// CUPTI is loaded at run time and may be refused: without it (no library, no permission, another
// tool that has subscribed) measurements go on with CUDA events, grids are unknown and intervals
// widen. Every refusal is one line that says so.
//
// The order that works: open and start before the CUDA context and NCCL's communicators exist; the
// first start may take seconds, because CUPTI instruments the driver. Concurrent kernels are
// traced; CUPTI's other kind of kernel records would run kernels one after another and measure a
// machine that does not exist.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "profiler/cuda/kernel_records.hpp"

namespace ddpx::cuda {

// How every refusal ends.
inline const std::string kWithoutRecords = ": kernel grids are unknown and intervals widen";

// The address of a function of the library by its name, nullptr where it has none.
using CuptiSymbols = std::function<void*(const char*)>;

// Where CUPTI may lie, best first: the names that the loader finds by itself, then the toolkit at
// CUDA_HOME (CUDA_PATH, /usr/local/cuda), then the wheels of PyTorch in the virtual environment.
// The version of `cuda_major` comes before others.
struct CuptiPlaces {
  int cuda_major = 0;
  std::vector<std::string> cuda_homes;
  std::vector<std::string> site_packages;
};
[[nodiscard]] CuptiPlaces cupti_places(int cuda_major);  // from the environment
[[nodiscard]] std::vector<std::string> cupti_candidates(const CuptiPlaces& places);

// One at a time in a process, as CUPTI has it.
class Tracer {
 public:
  // A tracer, or in one line why there is none and what is lost.
  [[nodiscard]] static std::variant<std::unique_ptr<Tracer>, std::string> load(
      const CuptiPlaces& places);
  [[nodiscard]] static std::variant<std::unique_ptr<Tracer>, std::string> open(
      CuptiSymbols symbols);

  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  ~Tracer();

  // nullopt once records are taken; else why not, in one line.
  [[nodiscard]] std::optional<std::string> start();

  // All records since start, after the caller has waited for the device (records of work that still
  // runs have no times). Tracing is off afterwards and can be started again.
  [[nodiscard]] Trace stop();

  // Takes CUPTI out of the process, so that later timings have none of its cost. The caller has
  // waited for the device. This tracer does not start again; another one may be opened.
  void detach();

 private:
  class Session;
  explicit Tracer(std::unique_ptr<Session> session);
  std::unique_ptr<Session> session_;
};

}  // namespace ddpx::cuda
