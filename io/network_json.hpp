// A network in a file, for models no generator describes: its layers in forward order, what each
// computes for one sample and the sizes of its parameter tensors in the order their gradients
// arrive.
#pragma once

#include <string>
#include <string_view>

#include "io/schema.hpp"
#include "model/network.hpp"

namespace ddpx::io {

// Throws InputError naming `place` and the path of what is wrong.
[[nodiscard]] Network network_from_json(std::string_view text, std::string_view place);
[[nodiscard]] std::string to_json(const Network& network, const Context& context);

}  // namespace ddpx::io
