// The two kinds of failure a user meets. Only a `main` catches them; the type decides the exit
// code.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace ddpx {

namespace detail {
// What the user typed or a file held goes into messages as it is; a line stays one line of readable
// length.
inline std::string one_line(std::string text) {
  constexpr std::size_t kLongest = 600;
  if (text.size() > kLongest)
    text = text.substr(0, kLongest / 2) + " ... " + text.substr(text.size() - kLongest / 2);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}
}  // namespace detail

// Something the user can fix: a flag or a file. The message is one line that names the place (file
// and position, or flag), the value given, what is accepted, and what to do. Exit code 2.
class InputError : public std::runtime_error {
 public:
  InputError(std::string_view place, std::string_view problem)
      : std::runtime_error(detail::one_line(std::string(place) + ": " + std::string(problem))) {}
};

// A device, a library or a rank failed: library, status name and what was being done. Exit code 3.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
inline constexpr int kDeviceExit = 3;  // of a rank too, which has a launcher to say it

// The work is well formed, but nothing satisfies the request (outside tolerance, nothing fits).
// Exit 1.
class UnmetError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace ddpx
