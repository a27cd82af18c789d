// Throughput on several GPU counts as benchmark suites print it: a table whose head names a column
// for each count (GPU1, GPU2) and whose lines are a benchmark each. Where the head has a Plan, a
// line that names none (DDP, FSDP) is of copies that run side by side: it says nothing of sharing.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ddpx {

struct RateTable {
  std::string benchmark;              // the one that is trained on several GPUs
  std::string plan;                   // empty where the head has none
  std::map<int, std::string> rates;   // samples per second of all GPUs together, by count
  std::vector<std::string> left_out;  // benchmarks without a plan
};

// Throws InputError at `place` with line and value where there is no such head, where no line or
// more than one is of a plan, or where a line's numbers do not fit the head.
[[nodiscard]] RateTable rate_table(std::string_view place, std::string_view text);

}  // namespace ddpx
