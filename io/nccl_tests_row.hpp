// One row of nccl-tests' text table, of whatever version. Internal to the reader of nccl-tests
// logs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "io/nccl_tests_table.hpp"

namespace ddpx::io::nccl {

// "size count type [redop] [root]": what a row opens with.
struct RowHead {
  double bytes = 0;
  double count = 0;
  std::string type;
  std::string redop;
  std::size_t first = 0;  // index of the word that is the size
  std::size_t words = 0;  // index of the first word behind it, root not yet taken
};

// The head anywhere in the line, whatever a launcher wrote before it.
[[nodiscard]] std::optional<RowHead> row_head(const std::vector<std::string_view>& words);

// Whether it is a reduction by nccl-tests' name ("sum"; "none" for collectives without).
[[nodiscard]] bool is_reduction(std::string_view word);

// A row by its type and the numbers behind it, whose size or count is no number.
[[nodiscard]] bool row_of_no_size(const std::vector<std::string_view>& words);

// What the header says of the columns behind the head; without a header the number of fields
// decides.
struct Columns {
  bool root = false;
  bool per_iteration = false;  // -I: i_min i_max i_p99 i_cv% behind each half
  bool host_time = false;      // -C: cputime
  double time_unit = 1e-6;     // 1.0 prints milliseconds
};

// The columns when the words are a table's header: "size count type ..." or, in 1.0, "bytes N type
// ...".
[[nodiscard]] std::optional<Columns> header_columns(const std::vector<std::string_view>& words);

// Whether a word can stand in a half of a row: a number or N/A.
[[nodiscard]] bool is_field(std::string_view word);

// A row being read: NCCL's own log lines may fall between its head and its numbers.
struct PendingRow {
  RowHead head;
  Row row;  // line, text, bytes and count are set
  std::vector<std::string> fields;
  std::string tag;
  bool interrupted = false;
  bool ended = true;  // false for the last line of a file cut before its line end
  bool in_place_only = false;
};

struct FinishedRow {
  Row row;
  std::optional<int> root;  // nullopt for -1
};

// The row, or the reason why it cannot be used.
[[nodiscard]] std::variant<FinishedRow, std::string> finish(PendingRow pending,
                                                            const Columns& columns);

// Whether all halves are there.
[[nodiscard]] bool complete(const PendingRow& pending, const Columns& columns);

}  // namespace ddpx::io::nccl
