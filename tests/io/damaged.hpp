// A good file with one thing wrong in it, and what the reader has to say about it.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "tests/support/expect_input_error.hpp"

namespace ddpx::test {

// `text` with the first `from` replaced.
inline std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) {
    ADD_FAILURE() << "the test's file has no " << from;
    return text;
  }
  return text.replace(at, from.size(), to);
}

struct Damage {
  std::string_view from;
  std::string_view to;
  std::initializer_list<std::string_view> words;  // the message holds these, besides the place
};

// Every damage to `good` is one line that names "given.json" and says the words.
template <class Read>
void expect_refused(const std::string& good, Read read, std::initializer_list<Damage> damages) {
  for (const Damage& damage : damages) {
    SCOPED_TRACE(std::string(damage.from) + " -> " + std::string(damage.to));
    const std::string bad = replaced(good, damage.from, damage.to);
    expect_input_error([&] { (void)read(bad, "given.json"); }, {"given.json: "});
    expect_input_error([&] { (void)read(bad, "given.json"); }, damage.words);
  }
}

// Cut anywhere, a file is refused in one line.
template <class Read>
void expect_truncation_refused(const std::string& good, Read read) {
  const std::size_t end = good.find_last_of('}');
  const std::size_t step = end / 400 + 1;
  for (std::size_t length = 0; length <= end; length += step) {
    SCOPED_TRACE(length);
    expect_input_error([&] { (void)read(good.substr(0, length), "given.json"); }, {"given.json: "});
  }
}

// A byte is replaced, left out or doubled, at a thousand places: the file is read or refused in one
// line, and nothing else happens.
template <class Read>
void expect_no_worse_than_refused(const std::string& good, Read read) {
  constexpr std::string_view kBytes = "0-9.eE\"{}[],: n\n\\\x1b\xff";
  const std::size_t step = good.size() / 1000 + 1;
  std::size_t pick = 0;
  for (std::size_t at = 0; at < good.size(); at += step) {
    for (const std::string& bad :
         {good.substr(0, at) + kBytes[++pick % kBytes.size()] + good.substr(at + 1),
          good.substr(0, at) + good.substr(at + 1), good.substr(0, at + 1) + good.substr(at)}) {
      try {
        (void)read(bad, "given.json");
      } catch (const InputError& error) {
        const std::string_view message = error.what();
        EXPECT_TRUE(message.starts_with("given.json: ")) << message;
        EXPECT_EQ(message.find('\n'), std::string_view::npos) << message;
        EXPECT_LT(message.size(), 600U) << message;
      }
    }
  }
}

}  // namespace ddpx::test
