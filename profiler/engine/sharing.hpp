// How ranks share gradients: the part of a step that differs between strategies. The trainer calls
// these hooks at fixed points of every micro-batch; everything is issued, nothing waits on the
// host.
#pragma once

#include <memory>

#include "model/strategy.hpp"
#include "profiler/engine/layout.hpp"
#include "profiler/engine/trace.hpp"

namespace ddpx::engine {

// The flat buffers, in Layout's order. `parameters` and `gradients` may end in padding.
struct Weights {
  Slice parameters;
  Slice gradients;
};

class Sharing {
 public:
  Sharing() = default;
  Sharing(const Sharing&) = delete;
  Sharing& operator=(const Sharing&) = delete;
  virtual ~Sharing() = default;

  virtual void before_forward(Trace* /*trace*/) {}
  // Every gradient of the micro-batch starts at zero: what has been accumulated so far is
  // elsewhere.
  [[nodiscard]] virtual bool starts_afresh() const { return false; }
  // The gradient of tensor `arrival` is complete in this rank, in the step's last micro-batch.
  virtual void arrived(std::size_t /*arrival*/, Trace* /*trace*/) {}
  // The micro-batch's backward is over. `first` and `last` of the step.
  virtual void after_backward(bool /*first*/, bool /*last*/, Trace* /*trace*/) {}
  // What the optimizer updates, and with what.
  [[nodiscard]] virtual Weights to_update() const = 0;
  // The whole parameters, wherever they are kept between steps, back in the trainer's buffer; and
  // from there.
  virtual void gather_parameters() {}
  virtual void scatter_parameters() {}
};

// No gradient is shared: one rank, or synchronisation switched off.
class Independent : public Sharing {
 public:
  explicit Independent(Weights weights) : weights_(weights) {}
  [[nodiscard]] Weights to_update() const override { return weights_; }

 private:
  Weights weights_;
};

// The strategy's own, for `device.ranks()` ranks.
[[nodiscard]] std::unique_ptr<Sharing> make_sharing(Device& device, const Layout& layout,
                                                    const Strategy& strategy, Weights weights);

// Elements of the flat buffers so that they divide into equal shards.
[[nodiscard]] std::size_t padded_parameters(const Layout& layout, const Strategy& strategy,
                                            int ranks);

}  // namespace ddpx::engine
