// A parameter that the callee keeps a reference to: an object that ends with the statement (a
// temporary) is refused when compiled, instead of dangling when used.
#pragma once

#include <functional>

namespace ddpx {

template <class T>
using Kept = std::reference_wrapper<const T>;

}  // namespace ddpx
