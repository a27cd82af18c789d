// UTF-8 in a terminal: what of a text can be shown as it is, and how many columns it takes.
//
// Columns are those of Unicode's East Asian Width (UAX #11): two where it is wide or fullwidth,
// none for combining marks, else one, as terminals and wcwidth() of POSIX have it. A table of our
// own, because wcwidth() answers for the locale it runs in (in "C", the usual one of containers and
// batch jobs, for ASCII alone) and one forecast should print the same bytes everywhere.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ddpx {

// One character of a text, or one byte of it that belongs to none.
struct Character {
  std::string_view bytes;
  char32_t code = 0;
  bool well_formed = true;  // Unicode 15, table 3-7: no overlong forms, no surrogates
};
// Of a text that is not empty.
[[nodiscard]] Character first_character(std::string_view text);

// 0, 1 or 2.
[[nodiscard]] std::size_t columns_of(char32_t code);
// Of the whole text; bytes that belong to no character count one.
[[nodiscard]] std::size_t columns_of(std::string_view text);

// As much of the text as fits into so many columns, and at least its first character, with the
// marks that combine with what comes last.
[[nodiscard]] std::string_view prefix_within(std::string_view text, std::size_t columns);

// Controls (terminals act on them), what reorders or hides text (bidirectional marks, zero widths,
// fillers) and line breaks: nothing that a name is read by.
[[nodiscard]] bool is_unsafe(char32_t code);

// Names come from users and files: what is_unsafe(), no UTF-8, or a mark with nothing to combine
// with becomes \xNN, byte by byte.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace ddpx
