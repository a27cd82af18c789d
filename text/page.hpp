// The page that answers are printed on: as wide as the terminal but never wider than
// 80 columns, which is what reads well, nor narrower than 40, which is what the widest figures
// need. Messages on stderr stay one line each, whatever its length: programs read them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ddpx {

inline constexpr std::size_t kColumns = 80;
inline constexpr std::size_t kFewestColumns = 40;

// Everything is laid out to so many columns from now on, taken to the nearest of 40 to 80.
void use_columns(std::size_t columns);
[[nodiscard]] std::size_t columns();

struct Wrapping {
  std::size_t first = 0;  // indentation of the first line and of the others
  std::size_t rest = 0;
};
// Broken at spaces into lines of at most `within` columns; "90 %" and "+- 3" stay together. A word
// longer than a line is broken inside, behind a slash or comma where it has one.
[[nodiscard]] std::vector<std::string> broken(std::string_view text, std::size_t within,
                                              const Wrapping& wrapping = {});
// The same to columns(), as one text that ends in a newline.
[[nodiscard]] std::string wrapped(std::string_view text, const Wrapping& wrapping = {});
// The same behind `label`, which the other lines are indented by.
[[nodiscard]] std::string labelled(std::string_view label, std::string_view text);

}  // namespace ddpx
