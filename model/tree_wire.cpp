#include "model/tree_wire.hpp"

#include <algorithm>
#include <string>

#include "model/error.hpp"
#include "model/operation.hpp"

namespace ddpx {

double tree_sends(int hosts) {
  if (hosts < 2) throw InputError("hosts", std::to_string(hosts) + "; a tree needs at least two");
  if (hosts == 2) return 1.0;
  return hosts == 3 ? 1.5 : 2.0;
}

double most_over_wire(int hosts, int ranks) {
  return std::max(1.0, bus_factor(Collective::all_reduce, ranks) / tree_sends(hosts));
}

}  // namespace ddpx
