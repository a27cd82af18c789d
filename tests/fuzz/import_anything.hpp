// Every importer on one text, and what must hold of whatever it says: one line, no control
// characters. Used by the fuzzer and by the test that replays its corpus.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

#include "io/json_wanted.hpp"
#include "io/log_text.hpp"
#include "io/nccl_tests.hpp"
#include "io/nvbandwidth.hpp"
#include "io/topology_matrix.hpp"
#include "model/error.hpp"

namespace ddpx::fuzz {

inline void one_line_or_abort(std::string_view text) {
  for (char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) std::abort();
  }
}

template <class Import>
void refused_in_one_line(Import import) {
  try {
    import();
  } catch (const InputError& error) {
    one_line_or_abort(error.what());
  }
}

inline void import_anything(std::string_view text) {
  refused_in_one_line([&] {
    const io::NcclImport import = io::read_nccl_tests(text, "log");
    for (const io::DroppedRow& row : import.dropped) one_line_or_abort(row.text + row.reason);
    for (const std::string& note : import.notes) one_line_or_abort(note);
    static_cast<void>(io::collective_samples(import, "link"));
  });
  static_cast<void>(io::looks_like_nccl_tests(text));
  if (io::looks_like_topology_matrix(text))
    refused_in_one_line([&] { static_cast<void>(io::read_topology_matrix(text, "topo")); });
  if (io::looks_like_nvbandwidth(text))
    refused_in_one_line(
        [&] { static_cast<void>(io::slowest_pair(io::read_nvbandwidth(text, "nvb"))); });
  refused_in_one_line([&] { io::want_json(text, "file", "a links file"); });
  io::LogFilter filter;
  filter.add(text);
  static_cast<void>(filter.take());
}

}  // namespace ddpx::fuzz
