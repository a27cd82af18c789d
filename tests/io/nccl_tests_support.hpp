// Logs for the tests of the nccl-tests reader.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

#include "io/nccl_tests.hpp"
#include "model/error.hpp"

namespace ddpx::io::testing_support {

inline std::string log_text(const std::string& name) {
  std::ifstream file("tests/io/inputs/" + name, std::ios::binary);
  if (!file)
    throw std::runtime_error("no tests/io/inputs/" + name +
                             ": the tests run in the repository's root");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline NcclImport imported(const std::string& text) { return read_nccl_tests(text, "log"); }

inline NcclImport imported_log(const std::string& name) {
  return read_nccl_tests(log_text(name), name);
}

// The one table of a log; fails the test otherwise through at().
inline ImportedTable only_table(const NcclImport& import) {
  return import.tables.size() == 1 ? import.tables.at(0)
                                   : throw std::runtime_error("not one table");
}

inline bool some_note_has(const NcclImport& import, std::string_view words) {
  for (const std::string& note : import.notes) {
    if (note.find(words) != std::string::npos) return true;
  }
  return false;
}

// The message of the refusal, or "" when the samples are given.
inline std::string refusal_of(const NcclImport& import) {
  try {
    (void)collective_samples(import, "link");
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

}  // namespace ddpx::io::testing_support
