// One collective as a state machine over messages between neighbours: the ring algorithm (Patarasuk
// and Yuan 2009), whose N-1 steps each send one N-th of the buffer; an all-reduce is a
// reduce-scatter followed by an all-gather. It moves the least bytes possible.
//
// Why not MPI's own: Open MPI's non-blocking all-reduce sends the whole buffer to one rank and back
// when it is in place or there are fewer than four ranks (coll/libnbc), and its blocking one cannot
// be left alone while this core computes. As a state machine it goes on whenever somebody calls
// advance(), and it sums fp16 and bf16 in a known order: part c starts at rank c+1 and each next
// rank adds its own, rounding once per addition.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "model/operation.hpp"
#include "profiler/cpu/communicator.hpp"

namespace ddpx::cpu {

// What a collective works on. All-reduce: `whole`, in place. All-gather: `shard` into `whole`.
// Reduce-scatter: `whole` into `shard`. The shards are equal, 1/ranks of `whole`, and do not
// overlap it.
struct CollectiveBuffers {
  Collective kind = Collective::all_reduce;
  DType dtype = DType::fp32;
  std::span<std::byte> whole;
  std::span<std::byte> shard;
};

class Ring {
 public:
  // `scratch` is grown as needed and may be used again by the next ring. Both must outlive this.
  Ring(const Communicator& communicator, const CollectiveBuffers& buffers,
       std::vector<std::byte>& scratch);

  // Goes on as far as it can without waiting; true once the collective is done.
  bool advance();
  // Pieces of messages sent or received so far: what tells a slow link from a dead one.
  [[nodiscard]] std::size_t moved() const { return moved_; }

 private:
  void post();
  void finish_step();
  [[nodiscard]] std::span<std::byte> part(int index) const;
  [[nodiscard]] bool gathering() const;

  const Communicator& communicator_;
  CollectiveBuffers buffers_;
  std::vector<std::byte>& scratch_;
  int ranks_;
  int steps_;
  int step_ = 0;
  bool posted_ = false;
  Requests messages_;
  std::size_t moved_ = 0;
  std::span<std::byte> incoming_;  // what is being received and then added
  std::span<std::byte> partial_;   // reduce-scatter: the sum so far, sent next
};

}  // namespace ddpx::cpu
