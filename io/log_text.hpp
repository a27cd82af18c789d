// Logs too large to hold: a gigabyte of a launcher's or NCCL's own lines around a table of thirty.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ddpx::io {

// A text from which the lines that no reader of ours looks at have been emptied, piece by piece;
// line numbers stay. Memory goes with what is kept.
class LogFilter {
 public:
  // `piece` may end inside a line.
  void add(std::string_view piece);
  // What was kept, with the last line whether ended or not.
  [[nodiscard]] std::string take();
  [[nodiscard]] std::size_t kept() const { return kept_.size() + open_.size(); }

 private:
  void add_line(std::string_view line);

  std::string kept_;
  std::string open_;  // a line whose end has not come
};

// Whether the line can say something of a collective: a row, a header, a rank, a name, an "nranks",
// or the numbers of a row that was interrupted.
[[nodiscard]] bool may_matter(std::string_view line);

// Throws InputError for UTF-16, with its mark or without: what PowerShell's > makes of a log.
void refuse_wide_text(std::string_view text, std::string_view place);

}  // namespace ddpx::io
