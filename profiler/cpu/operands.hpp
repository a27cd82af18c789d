// Memory that measured operations work on. Operands go round a ring of as many layers as a usual
// network has: one operand used again and again would stay in the cache, and products would look up
// to three times faster than in a step.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace ddpx::cpu {

class Operands {
 public:
  // Layers of the ring for parts of `floats` each: eight, or fewer where they would take more than
  // 256 MiB.
  [[nodiscard]] static std::size_t layers_for(std::size_t floats);

  // `layers` parts of `floats` random values from -1 to 1 (never denormal, which are slow), every
  // part aligned to a cache line. What an earlier call gave is overwritten.
  void prepare(std::size_t layers, std::size_t floats);
  [[nodiscard]] std::size_t layers() const { return layers_; }
  [[nodiscard]] std::span<float> layer(std::size_t index);

 private:
  struct Free {
    void operator()(float* memory) const;
  };
  std::unique_ptr<float, Free> memory_;
  std::size_t capacity_ = 0;
  std::size_t layers_ = 0;
  std::size_t floats_ = 0;
  std::size_t stride_ = 0;
};

}  // namespace ddpx::cpu
