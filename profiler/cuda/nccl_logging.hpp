// NCCL's own log for a short while: how it says that it runs a collective. Writing costs the host a
// line per call, so it is on only after all timing.
#pragma once

#include <memory>
#include <string>

namespace ddpx::cuda {

class NcclLogging {
 public:
  // From here on NCCL writes INIT and TUNING to a file of its own, which goes with this object, and
  // then writes nothing again. nullptr: the user has NCCL_DEBUG set, whose log is not to be taken
  // away, or this NCCL reads its switches once.
  [[nodiscard]] static std::unique_ptr<NcclLogging> start();
  NcclLogging(const NcclLogging&) = delete;
  NcclLogging& operator=(const NcclLogging&) = delete;
  ~NcclLogging();

  // What it has written since the last call. It holds this host's name: nothing of it is kept but
  // what read_nccl_log() finds.
  [[nodiscard]] std::string fresh();

 private:
  NcclLogging(std::string path, void (*reset)());

  std::string path_;
  void (*reset_)();
  std::size_t read_ = 0;
};

}  // namespace ddpx::cuda
