#include "cli/program.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>

#include "io/provenance.hpp"
#include "model/error.hpp"
#include "text/page.hpp"

namespace ddpx {

namespace {

// COLUMNS, else what the terminal says; 0 where neither does.
std::size_t terminal_columns() {
  if (const char* text = std::getenv("COLUMNS")) {
    std::size_t columns = 0;
    const char* const end = text + std::strlen(text);
    const auto [stop, error] = std::from_chars(text, end, columns);
    if (error == std::errc() && stop == end && columns > 0) return columns;
  }
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

int run_program(std::string_view name, const std::function<ExitCode()>& body) {
  std::signal(SIGINT, [](int) { std::_Exit(static_cast<int>(ExitCode::interrupted)); });
  // A file that grows past the user's limit (ulimit -f) fails like one on a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  if (const std::size_t given = terminal_columns()) use_columns(given);
  const auto fail = [&](ExitCode code, const char* what) {
    std::cerr << name << ": " << what << "\n";
    return static_cast<int>(code);
  };
  try {
    return static_cast<int>(body());
  } catch (const UnmetError& error) {
    return fail(ExitCode::unmet, error.what());
  } catch (const InputError& error) {
    return fail(ExitCode::bad_input, error.what());
  } catch (const DeviceError& error) {
    return fail(ExitCode::device, error.what());
  } catch (const std::bad_alloc&) {
    return fail(ExitCode::device, "out of memory");
  } catch (const std::exception& error) {
    return fail(ExitCode::device, error.what());
  }
}

std::string version_text(std::string_view program) {
  return std::string(program) + " " + io::version() + "\n";
}

}  // namespace ddpx
