#include "profiler/cpu/backend.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <thread>

#include "model/error.hpp"
#include "profiler/cpu/libraries.hpp"
#include "profiler/cpu/processor.hpp"

namespace ddpx::cpu {
namespace {

// A sample spans at least this, so that the clock (tens of nanoseconds) and the barrier's skew (a
// microsecond) do not show.
constexpr double kShortestSample = 200e-6;
constexpr int kMostRuns = 2000;
// Window in which a product and a collective run side by side.
constexpr double kShortestWindow = 10e-3;
constexpr double kProductsPerWindow = 4;
constexpr int kMostBeside = 64;
// Pause before a rested collective: as long as it takes itself, within these bounds.
constexpr double kShortestPause = 2e-3;
constexpr double kLongestPause = 50e-3;

bool rested(const Operation& operation) {
  const auto* call = std::get_if<CollectiveCall>(&operation);
  return call != nullptr && call->rested;
}

double seconds_of(CollectiveQueue::Clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

double now() { return seconds_of(CollectiveQueue::Clock::now()); }

}  // namespace

CpuBackend::CpuBackend(Pulse& pulse)
    : pulse_(pulse),
      communicator_(Communicator::world()),
      queue_(
          [this]() -> const Communicator& {
            // Before the queue's thread starts, which inherits the core.
            take_core(communicator_.place_on_host().rank);
            return communicator_;
          }(),
          pulse) {
  const Communicator::Place place = communicator_.place_on_host();
  hardware_.device = describe_core();
  hardware_.ranks = communicator_.size();
  hardware_.link = link_between(communicator_.size(), place.ranks);
  hardware_.context = library_context();
}

bool CpuBackend::supports(const Operation& operation) const {
  return Workload::supports(operation, communicator_.size());
}

Bytes CpuBackend::working_set(const Operation& operation) const {
  return Workload::working_set(operation);
}

void CpuBackend::meet() {
  const WaitingForPeers waiting(pulse_);
  communicator_.barrier();
}

double CpuBackend::timed(Ready& ready, int runs) {
  meet();
  pulse_.waiting(ready.workload->needs_peers());
  const double start = now();
  for (int i = 0; i < runs; ++i) ready.workload->run();
  const double seconds = now() - start;
  pulse_.waiting(false);
  pulse_.tick();
  return seconds / runs;
}

CpuBackend::Ready CpuBackend::prepared(const Operation& operation) {
  Ready ready;
  ready.what = describe(operation);
  ready.workload = std::make_unique<Workload>(operation, queue_, communicator_.size());
  static_cast<void>(timed(ready, 1));  // cold caches, first touch of buffers
  ready.seconds = timed(ready, 1);
  communicator_.maximum(std::span(&ready.seconds, 1));
  ready.runs = static_cast<int>(
      std::clamp(std::ceil(kShortestSample / ready.seconds), 1.0, double{kMostRuns}));
  if (ready.runs > 1) static_cast<void>(timed(ready, ready.runs));
  return ready;
}

std::vector<double> CpuBackend::sample(const Operation& operation, int n) {
  if (current_.what != describe(operation)) {
    current_ = {};  // its memory goes before the next is taken
    current_ = prepared(operation);
  }
  std::vector<double> seconds;
  for (int i = 0; i < n; ++i) {
    if (rested(operation)) {
      const double pause = std::clamp(current_.seconds, kShortestPause, kLongestPause);
      std::this_thread::sleep_for(std::chrono::duration<double>(pause));
      seconds.push_back(timed(current_, 1));
    } else {
      seconds.push_back(timed(current_, current_.runs));
    }
  }
  communicator_.maximum(seconds);
  return seconds;
}

BesideTimes CpuBackend::visit(Ready& product, Ready& collective, int runs) {
  BesideTimes times;
  times.product_alone = timed(product, std::max(product.runs, 3));
  times.collective_alone = timed(collective, std::max(collective.runs, 3));
  meet();
  const double start = now();
  const CollectiveQueue::Ticket last_collective = collective.workload->start(runs);
  double last = start;
  int products = 0;
  while (products == 0 || !queue_.done(last_collective)) {
    product.workload->run();
    last = now();
    ++products;
    pulse_.tick();
  }
  const double end = seconds_of(queue_.end_of(last_collective));
  // The product in which the collectives ended ran partly alone.
  const double alone = std::max(0.0, last - end);
  const double done = products - std::min(0.9, alone / times.product_alone);
  times.product_beside = (last - start - alone) / done;
  times.collective_beside = (end - start) / runs;
  std::array<double, 4> slowest{times.product_alone, times.product_beside, times.collective_alone,
                                times.collective_beside};
  communicator_.maximum(slowest);
  return {slowest[0], slowest[1], slowest[2], slowest[3]};
}

std::vector<BesideTimes> CpuBackend::sample_beside(const Operation& work,
                                                   const CollectiveCall& call, int n) {
  current_ = {};
  Ready first = prepared(work);
  Ready second = prepared(call);
  // One visit shows how long a collective takes beside products, which may be many times as long as
  // alone.
  const BesideTimes look = visit(first, second, 1);
  const double window = std::max(kShortestWindow, kProductsPerWindow * look.product_beside);
  const int runs = static_cast<int>(
      std::clamp(std::ceil(window / look.collective_beside), 1.0, double{kMostBeside}));
  std::vector<BesideTimes> visits;
  for (int i = 0; i < n; ++i) visits.push_back(visit(first, second, runs));
  return visits;
}

}  // namespace ddpx::cpu
