// Lines of a log as launchers, terminals and editors leave them, without what they added: rank
// tags, colour, carriage returns, a byte order mark. Internal to the reader of nccl-tests logs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddpx::io::nccl {

struct LogLine {
  std::size_t number = 0;  // from 1
  std::string_view raw;    // as in the file, without its line end
  bool ended = false;      // a line end follows; a file cut inside its last row has none
  std::string_view tag;    // of a rank at the line's start: "1,0", "default0"; empty without one
  std::string_view text;   // raw without tags, colour and '#'
  bool comment = false;    // began with '#'
  std::vector<std::string_view> words;
};

class LogLines {
 public:
  explicit LogLines(std::string_view text);

  // The next line, valid until the next call; nullptr after the last.
  const LogLine* next();

 private:
  void clean();

  std::string_view rest_;
  std::string buffer_;
  LogLine line_;
};

// A printed number and half a unit of its last digit: 8.61 stands for anything within 0.005 of it.
struct Printed {
  double value = 0;
  double half_unit = 0;
};

// The whole word as a finite decimal number; nullopt for anything else ("NaNbad", "inf", "0x10").
[[nodiscard]] std::optional<Printed> printed_number(std::string_view word);

// The whole word as digits, up to 2^62.
[[nodiscard]] std::optional<double> whole_number(std::string_view word);

// The whole number behind the first `label` of `text` ("nranks 2").
[[nodiscard]] std::optional<int> number_after(std::string_view text, std::string_view label);

// "25 MiB" or "1000 B": a size in words.
[[nodiscard]] std::string size_text(double bytes);

}  // namespace ddpx::io::nccl
