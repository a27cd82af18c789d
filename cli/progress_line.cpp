#include "cli/progress_line.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

namespace ddpx {
namespace {

// A line longer than the terminal would wrap, and could not be rewritten.
int terminal_width() {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col : 80;
}

}  // namespace

ProgressLine::ProgressLine() : terminal_(::isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  if (!last_.empty()) std::fputs("\r\033[K", stderr);
}

void ProgressLine::show(std::size_t done, std::size_t total, const std::string& what,
                        Seconds left) {
  if (!terminal_ || total == 0) return;
  std::string text = "[" + std::to_string(done) + "/" + std::to_string(total) + "] " + what;
  if (left > Seconds{}) text += ", about " + std::to_string(std::lround(left.value())) + " s left";
  if (text == last_) return;
  last_ = text;
  std::fprintf(stderr, "\r\033[K%.*s", terminal_width() - 1, text.c_str());
}

}  // namespace ddpx
