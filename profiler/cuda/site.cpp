#include "profiler/cuda/site.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

#include "profiler/cuda/system.hpp"

namespace ddpx::cuda {
namespace {

// Looking costs the host a microsecond or so; a peer that is gone is noticed within one pause.
constexpr int kLooksAtOnce = 2000;
constexpr std::chrono::microseconds kPause{200};

}  // namespace

Site::Site(Pulse& pulse)
    : pulse_(pulse),
      place_(rank_place().value_or(RankPlace{})),
      meeting_(place_),
      notes_([this] {
        std::vector<std::string> notes = look_before(place_);
        // Or a rank that is ahead would look like somebody else's process on its GPU.
        meeting_.barrier();
        return notes;
      }()),
      gpu_(place_),
      communicator_(meeting_),
      hardware_(describe(gpu_, place_)) {
  hardware_.notes = notes_;
  pulse_.tick();
}

void Site::barrier() {
  const WaitingForPeers waiting(pulse_);
  meeting_.barrier();
}

void Site::maximum(std::span<double> values) {
  const WaitingForPeers waiting(pulse_);
  meeting_.maximum(values);
}

void Site::broadcast(std::span<std::byte> bytes) {
  const WaitingForPeers waiting(pulse_);
  meeting_.broadcast(bytes);
}

std::vector<double> Site::gathered(std::span<const double> values) {
  std::vector<double> all(static_cast<std::size_t>(ranks()) * values.size(),
                          -std::numeric_limits<double>::infinity());
  std::copy(
      values.begin(), values.end(),
      all.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(rank()) * values.size()));
  maximum(all);
  return all;
}

void Site::finish() {
  static_cast<void>(finish_within(Seconds(std::numeric_limits<double>::infinity())));
}

bool Site::finish_within(Seconds patience) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const WaitingForPeers waiting(pulse_);
  for (cudaStream_t stream : {gpu_.compute(), gpu_.communication()}) {
    for (int looks = 0;; ++looks) {
      const cudaError_t status = cudaStreamQuery(stream);
      if (status == cudaSuccess) break;
      if (status != cudaErrorNotReady) check(status, "work on the GPU");
      static_cast<void>(cudaGetLastError());
      if (looks < kLooksAtOnce) continue;
      communicator_.check_peers();
      if (std::chrono::duration<double>(Clock::now() - start).count() > patience.value())
        return false;
      std::this_thread::sleep_for(kPause);
    }
  }
  pulse_.tick();
  return true;
}

}  // namespace ddpx::cuda
