// torch.optim.AdamW's settings, its defaults; update.hpp has the formula. In double, as Python has
// them: 1 - 0.999 in fp32 is off in the fifth digit.
#pragma once

namespace ddpx::engine {

struct AdamW {
  double rate = 1e-3;
  double first_decay = 0.9;
  double second_decay = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 1e-2;
};

// Elements of fp32 in which a device counts its updates, zero before the first: their number, and
// one that is the device's own.
inline constexpr int kAdamWCountElements = 2;

}  // namespace ddpx::engine
