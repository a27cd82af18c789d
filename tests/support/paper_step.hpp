// The step most tests of the walk begin with: three layers, every product a second.
#pragma once

#include "model/step.hpp"
#include "tests/support/tiny_machine.hpp"

namespace ddpx::test {

// Three layers: forward 3 s, backward 5 s (the first layer has no data gradient), each gradient 2
// MB.
inline const Network& three_layers() {
  static const Network kNetwork = plain_layers(3, 2e6);
  return kNetwork;
}

// The same, each layer a block that FSDP gathers alone.
inline Network three_blocks() {
  Network network = three_layers();
  for (std::size_t i = 0; i < network.layers.size(); ++i)
    network.layers[i].block = static_cast<int>(i);
  return network;
}

inline Machine three_layer_machine() { return machine_for(three_layers(), 1); }

inline Step step(const Machine& machine, const Link& link, const Job& job,
                 const Network& network = three_layers()) {
  return StepModel(machine, link, network, job).run();
}

inline double term(const Step& step, Term t) { return step.term(t).value(); }
inline double total(const Step& step) { return step.total().value(); }

}  // namespace ddpx::test
