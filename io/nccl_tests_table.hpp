// A table as it was printed, before it is known what it is of. Text and JSON both end here; what
// the columns imply is worked out once, in nccl_tests_infer.cpp. Internal to the reader of
// nccl-tests logs.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/nccl_tests.hpp"
#include "io/nccl_tests_lines.hpp"

namespace ddpx::io::nccl {

inline constexpr int kMostListed = 1'000'000;  // ranks; no run has more

// The ranks that a run lists, by "# Rank" lines or JSON's devices, each with its host.
class ListedRanks {
 public:
  // Hosts are told apart by their names, which are of no other use.
  void add(int rank, std::string_view host);
  // By the highest: lines may be lost.
  [[nodiscard]] int count() const { return highest_ + 1; }
  // Hosts of the table's ranks, where the list is whole or fits one spread over equal hosts alone;
  // else why they are not known. A list that has more ranks than the table is another's.
  void place(ImportedTable& table, NcclImport& import);

 private:
  struct Places {
    RankPlaces ranks;
    std::string assumption;  // empty: the list says it
  };
  [[nodiscard]] Places places_of(int ranks) const;

  std::map<std::string, int, std::less<>> numbers_;
  std::vector<std::pair<int, int>> lines_;  // rank and host
  std::map<int, Places> places_;            // by rank count: a run may have many tables
  int highest_ = -1;
  bool nameless_ = false;
};

struct Row {
  std::size_t line = 0;
  std::string text;  // for the message, should the row be dropped
  double bytes = 0;
  double count = 0;
  Printed time;  // in the table's unit
  Printed algbw;
  Printed busbw;
  std::optional<double> in_place_time;
  bool in_place_only = false;  // the out-of-place half is blank: `time` is the other's
  std::optional<double>
      wrong;  // elements; before 2.13 the largest error, far below 1; nullopt for N/A
  bool in_place_checked = true;
};

struct Table {
  std::size_t line = 0;    // of the first row, or of the header
  std::string collective;  // as the log names it ("all_reduce"); empty when it does not
  std::string type;
  std::string redop;        // empty without that column
  std::optional<int> root;  // nullopt for -1
  double time_unit = 1e-6;
  bool host_time = false;
  std::size_t run = 0;                    // which of the log's runs, by their opening lines
  std::shared_ptr<ListedRanks> listed;    // nullptr: none
  std::optional<int> communicator_ranks;  // "nranks" of NCCL's own log
  std::string version;
  std::vector<Row> rows;
};

// Sorts rows into tables. A header starts afresh, but headers are lost, several reductions share
// one, a run may be repeated under it
// (-N) and two jobs may write to one file at once. Sizes only grow within a run, so a row whose
// size does not grow belongs to another; where two runs are open it goes to the one whose bandwidth
// it continues.
class OpenTables {
 public:
  // `like` gives everything but the rows. Rows of different `tag` (of the rank that printed them)
  // never share a table.
  void add(const Table& like, std::string_view tag, Row row);
  // What follows is another run.
  void close() { first_open_ = tables_.size(); }
  // For a name that the log gives only at the table's end.
  void name_last(std::string_view collective);

  [[nodiscard]] std::vector<Table>& tables() { return tables_; }

 private:
  [[nodiscard]] std::optional<std::size_t> best_for(const Table& like, std::string_view tag,
                                                    const Row& row) const;

  std::vector<Table> tables_;
  std::vector<std::string> tags_;
  std::size_t first_open_ = 0;
};

// Whether a printed time, in micro- or milliseconds, can be one: no collective takes less than a
// nanosecond or more than 11 days.
[[nodiscard]] constexpr bool plausible_time(double printed) {
  return printed >= 1e-3 && printed <= 1e12;
}

[[nodiscard]] ImportedPoint point_of(const Row& row, double time_unit);

// Why no link moves so many bytes in so many seconds, by the ranges of files (docs/files.md); empty
// where one may.
[[nodiscard]] std::string implausible(double bytes, double seconds);

// Bytes of one element of a type by nccl-tests' name; nullopt for an unknown name.
[[nodiscard]] std::optional<double> type_bytes(std::string_view type);

// The collective of a program's name anywhere in `text` ("./build/all_reduce_perf"); empty for none
// or several.
[[nodiscard]] std::string collective_named_in(std::string_view text);

// "nccl-tests 2.19.6, NCCL 2.28.3" from what was found; NCCL's code is 22803.
[[nodiscard]] std::string version_text(std::string_view tests, std::optional<int> nccl_code);

// Works out collective, ranks and unit, drops rows that contradict themselves, and says in the
// notes what a reader should know.
void add_table(Table table, NcclImport& import);

// Counts a row that was left out; beyond the first thousand only their number is kept.
void add_dropped(NcclImport& import, std::size_t line, std::string_view text, std::string reason);

// What a person should know of the finished table: cold start, falling bandwidth, one size only,
// two nodes.
void add_notes(ImportedTable& table, NcclImport& import);
// The same for all tables together: repeats, reductions.
void add_notes(NcclImport& import);

// Whether its hosts have unequal numbers of ranks. --gpus has as many on every one, and so has what
// a curve is used for.
[[nodiscard]] inline bool uneven(const ImportedTable& table) {
  return table.hosts > 0 && table.ranks_per_host == 0;
}

// The readers behind read_nccl_tests(); false when nothing of nccl-tests is in `text`.
[[nodiscard]] bool read_text(std::string_view text, NcclImport& import);
[[nodiscard]] bool read_json(std::string_view text, NcclImport& import);

}  // namespace ddpx::io::nccl
