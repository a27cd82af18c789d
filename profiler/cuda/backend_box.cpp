// What shows only where all GPUs are looked at: each one's speed while all work, every pair's link,
// and how NCCL says that it runs its collectives.
#include <algorithm>
#include <array>
#include <cmath>

#include "profiler/cuda/backend.hpp"
#include "profiler/cuda/loads.hpp"
#include "profiler/cuda/nccl_log.hpp"
#include "profiler/cuda/nccl_logging.hpp"
#include "profiler/screen.hpp"

namespace ddpx::cuda {
namespace {

// Long enough for a window's own beginning and end not to matter, short enough for a clock that
// changes to show.
constexpr double kWindow = 0.1;
constexpr int kMostInWindow = 400;

constexpr std::size_t kPairBytes = std::size_t{64} << 20;
constexpr int kPairSamples = 3;
constexpr int kPairRuns = 4;
// The slowest transport (TCP, 1 GB/s) needs a twentieth of it. Whoever watches the ranks takes 8 s
// without news for a hang of its own.
constexpr Seconds kPairPatience{5.0};
// All pairs of more ranks take too long; neighbours are what a ring uses.
constexpr int kMostRanksInPairs = 16;

constexpr std::size_t kWordLength = 24;
struct SentRun {
  std::array<char, kWordLength> algorithm{};
  std::array<char, kWordLength> protocol{};
  int channels = 0;
};

void put(const std::string& word, std::array<char, kWordLength>& text) {
  std::copy_n(word.begin(), std::min(word.size(), kWordLength - 1), text.begin());
}

}  // namespace

std::vector<RankLoad> CudaBackend::load(const Product& product, Clocks clocks, Seconds time) {
  current_ = {};
  Ready ready = prepared(product);
  const int runs =
      static_cast<int>(std::clamp(std::ceil(kWindow / ready.seconds), 1.0, double{kMostInWindow}));
  std::vector<LoadWindow> windows;
  GpuState now;
  for (double spent = 0; spent < time.value();) {
    hold(runs);
    check(cudaEventRecord(mark(1).get(), gpu_.compute()), "recording an event");
    for (int i = 0; i < runs; ++i) ready.workload->issue();
    check(cudaEventRecord(mark(2).get(), gpu_.compute()), "recording an event");
    // Some of them are still to come: clocks and power are those of work.
    now = state();
    site_.finish();
    windows.push_back({between(1, 2) / runs, now.throttle_reasons.value_or(0)});
    double slowest = windows.back().seconds;
    site_.maximum(std::span(&slowest, 1));
    spent += slowest * runs;
  }
  const std::vector<double> own = packed(windows, now);
  const std::vector<double> all = site_.gathered(own);
  std::vector<RankLoad> loads;
  for (std::size_t at = 0; at < all.size(); at += own.size())
    loads.push_back(unpacked(std::span(all).subspan(at, own.size()), clocks));
  return loads;
}

std::optional<double> CudaBackend::exchanged(int first, int second, Elements from, Elements to,
                                             int runs) {
  double seconds = 0;
  double hung = 0;
  if (site_.rank() == first || site_.rank() == second) {
    const int peer = site_.rank() == first ? second : first;
    check(cudaEventRecord(mark(1).get(), gpu_.communication()), "recording an event");
    for (int i = 0; i < runs; ++i)
      site_.communicator().exchange(peer, from, to, gpu_.communication());
    check(cudaEventRecord(mark(2).get(), gpu_.communication()), "recording an event");
    if (site_.finish_within(kPairPatience)) {
      seconds = between(1, 2) / runs;
    } else {
      hung = 1;
    }
  }
  std::array<double, 2> slowest{seconds, hung};
  site_.maximum(slowest);
  return slowest[1] > 0 ? std::nullopt : std::optional(slowest[0]);
}

std::vector<PairSample> CudaBackend::pairs() {
  std::vector<PairSample> pairs;
  if (site_.ranks() == 1) return pairs;
  const Memory sent = allocate_memory(kPairBytes);
  const Memory taken = allocate_memory(kPairBytes);
  const Elements from{sent.get(), kPairBytes / sizeof(float), DType::fp32};
  const Elements to{taken.get(), kPairBytes / sizeof(float), DType::fp32};
  for (int first = 0; first < site_.ranks(); ++first) {
    for (int second = first + 1; second < site_.ranks(); ++second) {
      if (site_.ranks() > kMostRanksInPairs && second != first + 1) continue;
      PairSample pair{first, second, Bytes(static_cast<double>(kPairBytes)), {}};
      for (int i = 0; i <= kPairSamples; ++i) {
        const auto seconds = exchanged(first, second, from, to, i == 0 ? 1 : kPairRuns);
        if (!seconds) {
          site_.communicator().abort();
          throw LinkHung("GPUs " + std::to_string(first) + " and " + std::to_string(second) +
                         ": nothing arrived between them for 5 s; where they use P2P, look at ACS "
                         "and IOMMU, or go through host memory with --transport shm");
        }
        if (i > 0) pair.seconds.push_back(*seconds);  // the first makes the connection
      }
      pairs.push_back(std::move(pair));
    }
  }
  return pairs;
}

std::vector<std::optional<CollectiveRun>> CudaBackend::reported(
    const std::vector<CollectiveCall>& calls) {
  current_ = {};
  // NCCL's rank 0 alone says it.
  const auto logging = site_.rank() == 0 ? NcclLogging::start() : nullptr;
  std::vector<SentRun> sent(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!supports(calls[i])) continue;
    Workload work(calls[i], gpu_, site_.communicator());
    work.issue();
    site_.finish();
    if (!logging) continue;
    const NcclLog log = read_nccl_log(logging->fresh());
    if (log.choices.empty()) continue;
    const NcclChoice& choice = log.choices.back();
    put(choice.algorithm, sent[i].algorithm);
    put(choice.protocol, sent[i].protocol);
    sent[i].channels = choice.channels.value_or(0);
  }
  site_.broadcast(std::as_writable_bytes(std::span(sent)));
  std::vector<std::optional<CollectiveRun>> runs;
  for (const SentRun& run : sent) {
    runs.emplace_back();
    if (run.algorithm.front() != '\0')
      runs.back() = {run.algorithm.data(), run.protocol.data(), run.channels};
  }
  return runs;
}

}  // namespace ddpx::cuda
