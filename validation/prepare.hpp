// What --run and --run-torch look at before minutes are spent on measuring.
#pragma once

#include <optional>
#include <string>

#include "validation/options.hpp"
#include "validation/row_request.hpp"

namespace ddpx {

// Where the measured steps go: --runs, else the user's data directory. Throws InputError.
[[nodiscard]] std::string path_for(const MeasureOptions& options);

// Minutes of measuring must not end at a file that cannot be written: `runs`, where the measured
// steps go, and the reports asked for. Throws InputError.
void check_writable(const ValidateOptions& options, const std::string& runs);

// Says on standard error what the answer will have to be read with.
void warn(const ValidateOptions& options);

// What to say where a machine of GPUs will be compared with steps of processor cores, because this
// host shows no GPU. nullopt where the two are alike, or where nothing is measured here.
[[nodiscard]] std::optional<std::string> unlike_this_host(const ValidateOptions& options);

// What the comparison will need is looked for: the machine, and every row's link. Throws
// InputError.
void check_comparable(const ValidateOptions& options, const RowRequest& request);

}  // namespace ddpx
