// ResNet-18 (He et al. 2016; torchvision): 11,689,512 parameters, as a test network for buckets.
// Layers in the order torchvision registers them, the reverse of which is the order gradients
// arrive in.
#pragma once

#include <string>

#include "model/network.hpp"

namespace ddpx::test {

inline Network resnet18() {
  Network network;
  network.name = "resnet18";
  const auto conv = [&](const std::string& name, double in, double out, double kernel) {
    Layer layer;
    layer.name = name;
    layer.tensors = {out * in * kernel * kernel};
    layer.forward_seconds_per_sample = 1e-5;
    layer.backward_seconds_per_sample = 2e-5;
    network.layers.push_back(layer);
    Layer norm;
    norm.name = name + ".bn";
    norm.tensors = {out, out};
    network.layers.push_back(norm);
  };
  conv("conv1", 3, 64, 7);
  double in = 64;
  for (int stage = 1; stage <= 4; ++stage) {
    const double out = 64 * (1 << (stage - 1));
    for (int block = 0; block < 2; ++block) {
      const std::string name = "layer" + std::to_string(stage) + "." + std::to_string(block);
      conv(name + ".conv1", in, out, 3);
      conv(name + ".conv2", out, out, 3);
      if (in != out) conv(name + ".downsample", in, out, 1);
      in = out;
    }
  }
  Layer fc;
  fc.name = "fc";
  fc.tensors = {1000, 512.0 * 1000};
  network.layers.push_back(fc);
  return network;
}

}  // namespace ddpx::test
