// What --run and --run-torch look at before minutes are spent on measuring.
#pragma once

#include <string>

#include "validation/options.hpp"
#include "validation/row_request.hpp"

namespace ddpx {

// Where the measured steps go: --runs, else the user's data directory. Throws InputError.
[[nodiscard]] std::string path_for(const MeasureOptions& options);

// Minutes of measuring must not end at a file that cannot be written. Throws InputError.
void check_writable(const std::string& path);

// What the comparison will need is looked for: the machine, and every row's link. Throws
// InputError.
void check_comparable(const ValidateOptions& options, const RowRequest& request);

}  // namespace ddpx
