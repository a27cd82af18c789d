// Fully sharded data parallel by block (FSDP2's fully_shard; docs/model.md, term 9): a block is one
// linear layer with its activation. Between steps a rank keeps its shard of every block, and of
// gradients and optimizer state the shard only. What model/step_blocks.cpp prices:
//
//   forward, block i:   wait for its all-gather; issue block i+1's; copy what was gathered into the
//                       parameters; compute
//   backward, block i:  the same, block i-1 next, where parameters were freed after forward
//                       (reshard), else they are still there; compute; wait for the
//                       reduce-scatter of the block after it; copy the gradients, divided by the
//                       number of ranks, into its input; reduce-scatter
//
// Two blocks are gathered at a time, and one reduce-scatter has its input; parameters are those of
// one block with reshard and of all without. Every micro-batch does all of it.
#pragma once

#include <array>

#include "profiler/engine/sharing.hpp"

namespace ddpx::engine {

class FsdpBlocks : public Sharing {
 public:
  FsdpBlocks(Device& device, const Layout& layout, bool reshard);

  [[nodiscard]] Weights of_layer(std::size_t layer) override;
  [[nodiscard]] Weights to_update() const override {
    return {shards_.all(), gradient_shards_.all()};
  }
  void load(std::size_t begin, std::span<const float> values) override;
  [[nodiscard]] std::vector<float> parameters() override;

  [[nodiscard]] bool starts_afresh() const override { return true; }
  [[nodiscard]] bool by_layer() const override { return true; }
  void before_forward(const Turn& turn) override;
  void before_forward_of(std::size_t layer, const Turn& turn) override;
  void before_backward_of(std::size_t layer, const Turn& turn) override;
  void after_backward_of(std::size_t layer, const Turn& turn) override;
  void after_backward(const Turn& turn) override;

 private:
  struct Block {
    Tensor tensors;  // in the flat order
    Tensor shard;    // in the shards of all blocks
  };

  void gather(std::size_t block, Trace* trace);
  void await(std::size_t number, Event event, Trace* trace);
  void copy_out(std::size_t block, Trace* trace);
  void collect(const Turn& turn);
  [[nodiscard]] Slice gathered(std::size_t block) const;
  [[nodiscard]] Slice parameters_of(std::size_t block) const;

  Device& device_;
  bool reshard_;
  float share_;  // 1 / ranks
  std::vector<Block> blocks_;
  Buffer shards_;
  Buffer gradient_shards_;
  Buffer parameters_;               // of one block, or of all
  Buffer gradients_;                // of one block
  std::array<Buffer, 2> gathered_;  // by the block's parity
  Buffer scattering_;
  Buffer scattered_;                      // of a later micro-batch, before it is added
  std::optional<std::size_t> in_flight_;  // block whose gradients are under way
  Event issued_;
  std::array<Event, 2> arrived_;
  Event summed_;
};

}  // namespace ddpx::engine
