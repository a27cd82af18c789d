#include "profiler/cuda/site.hpp"

#include <chrono>
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

void Site::finish() {
  const WaitingForPeers waiting(pulse_);
  for (cudaStream_t stream : {gpu_.compute(), gpu_.communication()}) {
    for (int looks = 0;; ++looks) {
      const cudaError_t status = cudaStreamQuery(stream);
      if (status == cudaSuccess) break;
      if (status != cudaErrorNotReady) check(status, "work on the GPU");
      static_cast<void>(cudaGetLastError());
      if (looks < kLooksAtOnce) continue;
      communicator_.check_peers();
      std::this_thread::sleep_for(kPause);
    }
  }
  pulse_.tick();
}

}  // namespace ddpx::cuda
