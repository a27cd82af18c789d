// What every main does around its work: one line on standard error for a failure, and the exit code
// that goes with its kind.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace ddpx {

// 0 answered; 1 a request that cannot be met or a tolerance exceeded; 2 a flag or a file; 3 a
// device or a rank; 130 interrupted.
enum class ExitCode { success = 0, unmet = 1, bad_input = 2, device = 3, interrupted = 130 };

// Runs `body` and returns the process's exit code, with pages as wide as the terminal that standard
// output is: COLUMNS where it is set to a number, else as the terminal says. SIGINT ends the
// process at once: files are written in one piece, so nothing is left half done.
[[nodiscard]] int run_program(std::string_view name, const std::function<ExitCode()>& body);

// "ddpx-predict 0.1.0 (8f2c1ab)" and what was built in: what --version prints.
[[nodiscard]] std::string version_text(std::string_view program);

}  // namespace ddpx
