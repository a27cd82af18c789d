// From the words after --run to the rows to be measured.
#pragma once

#include <cstdint>
#include <vector>

#include "profiler/launch.hpp"
#include "validation/options.hpp"
#include "validation/run.hpp"

namespace ddpx {

struct RowRequest {
  std::vector<RunRow> rows;  // one-GPU rows among them
  int processes = 3;
  std::uint64_t seed = 1;
  // By the name of a row's link where --transport does not say: "tcp" goes over sockets, "shm" and
  // "host-memory" through memory, others as the library chooses.
  std::optional<Transport> transport;
};

// Throws InputError naming the flag, the value and what is accepted; also for a network or a job
// that the engine cannot run.
[[nodiscard]] RowRequest row_request(const ValidateOptions& options, Library library);

[[nodiscard]] Transport transport_of(const RowRequest& request, const RunRow& row);

}  // namespace ddpx
