// How a rank tells whoever watches it that it moves on, and when it waits for its peers: of ranks
// that all stand still, the one that is not waiting is the one to name.
#pragma once

namespace ddpx {

class Pulse {
 public:
  Pulse() = default;
  Pulse(const Pulse&) = delete;
  Pulse& operator=(const Pulse&) = delete;
  virtual ~Pulse() = default;

  // Some work is done: a sample, a step.
  virtual void tick() {}
  // The rank goes into, or comes out of, a call that needs its peers.
  virtual void waiting(bool /*for_peers*/) {}
};

class WaitingForPeers {
 public:
  explicit WaitingForPeers(Pulse& pulse) : pulse_(pulse) { pulse_.waiting(true); }
  WaitingForPeers(const WaitingForPeers&) = delete;
  WaitingForPeers& operator=(const WaitingForPeers&) = delete;
  ~WaitingForPeers() { pulse_.waiting(false); }

 private:
  Pulse& pulse_;
};

}  // namespace ddpx
