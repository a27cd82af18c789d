// The model speaks of links, networks and machines by name; who asked gave them by flags.
#pragma once

#include "model/error.hpp"

namespace ddpx {

// "link pcie3: has ..." as "--link: 'pcie3' has ...": the flag that names what is refused, where
// the error is of something that has a name. Others stay as they are.
[[nodiscard]] InputError by_flag(const InputError& error);

}  // namespace ddpx
