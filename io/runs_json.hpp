// Measured steps as a file. Other engines' runs are converted to this and then judged like our own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "validation/run.hpp"

namespace ddpx::io {

// Throws InputError naming `place` and the path of what is wrong.
[[nodiscard]] Runs runs_from_json(std::string_view text, std::string_view place);

// The rows of a runs file as work still to be done, by the native engine: what each ran, without
// what was measured. "processes", "engine", and "link" need not be there.
[[nodiscard]] std::vector<RunRow> work_from_json(std::string_view text, std::string_view place);

// A row's "engine" is the file's origin. Imported runs are a PyTorch step unless a row was given
// another engine, which the format cannot say (std::logic_error).
[[nodiscard]] std::string to_json(const Runs& runs);

}  // namespace ddpx::io
