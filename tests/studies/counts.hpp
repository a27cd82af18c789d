// Tables of one machine's collectives at several GPU counts, each carried to every larger one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/carry_over.hpp"
#include "tests/studies/sweeps.hpp"

namespace ddpx::study {

using ByCount = std::map<int, const Sweep*>;
using Tables = std::map<std::string, std::map<Collective, ByCount>>;  // by machine

[[nodiscard]] Tables tables_of(const std::vector<Sweep>& sweeps);

// Whether the switch adds up (NVLS): an all-reduce of eight GPUs from Hopper on, which no count of
// two or four shows.
[[nodiscard]] bool by_switch(const std::string& machine, Collective kind, int ranks);

// A measured time beside what carried_time() makes of a smaller count.
struct CountRow {
  Count from;
  Count to;
  Bytes bytes{};
  Seconds measured{};
  Seconds latency{};  // of the smallest message on `from`
  Seconds moved{};    // of carried_volume() x bytes on `from`
  double curve_error = 0;

  [[nodiscard]] CarriedTime carried(const CarryOver& carry) const {
    return carried_time(carry, from, to, latency, moved);
  }
};
[[nodiscard]] std::vector<CountRow> rows_of(const std::string& machine, const Tables& tables,
                                            const CarryOver& carry);
// The same without those that the switch may add up.
[[nodiscard]] std::vector<CountRow> ring_rows_of(const std::string& machine, const Tables& tables,
                                                 const CarryOver& carry);

// `carry` with the standard errors at which 90 % intervals hold nine in ten rows, every machine
// counting alike: `protocol_error` those that latency and protocol decide, `error` the others.
[[nodiscard]] CarryOver with_errors(const std::vector<std::vector<CountRow>>& machines,
                                    CarryOver carry);

// What with_errors() finds for the shipped NVLink constants on every machine of `sweeps` and on all
// of them together, and what the shipped errors cover there.
[[nodiscard]] std::string count_errors(const std::vector<Sweep>& sweeps);

}  // namespace ddpx::study
