// Fully sharded data parallel with the whole model as one unit (docs/model.md, term 9). Between
// micro-batches a rank keeps its shard of the flat, padded parameters only. Before forward the
// shards are gathered and copied into place; after backward the gradients are copied, divided by
// the number of ranks in the same pass, and reduce-scattered; the optimizer updates the shard.
// Every micro-batch does both, as PyTorch does unless told otherwise. Nothing overlaps: there is
// one unit.
#pragma once

#include "profiler/engine/sharing.hpp"

namespace ddpx::engine {

class FsdpUnit : public Replicated {
 public:
  FsdpUnit(Device& device, const Layout& layout);

  [[nodiscard]] bool starts_afresh() const override { return true; }
  void before_forward(const Turn& turn) override;
  void after_backward(const Turn& turn) override;
  [[nodiscard]] Weights to_update() const override;
  void load(std::size_t begin, std::span<const float> values) override;
  [[nodiscard]] std::vector<float> parameters() override;

 private:
  // Runs a collective after the compute stream's work so far, and the compute stream after it.
  void collective_in_turn(Collective kind, Slice from, Slice to, Trace* trace);

  float share_;     // 1 / ranks
  Buffer staging_;  // whole: what was gathered, later what is scattered
  Buffer shard_;
  Buffer gradient_shard_;
  Buffer scattered_;  // of a later micro-batch, before it is added
  Event issued_;
  Event arrived_;
};

}  // namespace ddpx::engine
