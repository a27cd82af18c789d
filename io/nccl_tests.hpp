// Others' nccl-tests logs: the text of every version (1.0 to 2.19) under every launcher, and its
// JSON.
//
// What the columns mean is nccl-tests' own (doc/PERFORMANCE.md): a row's size is one rank's buffer
// for all-reduce and the whole gathered or scattered buffer otherwise; algbw = size/time; busbw =
// algbw x 2(N-1)/N for all-reduce, x (N-1)/N for the others. A log seldom says which collective it
// is of, nor always on how many ranks, so both are worked out from the columns and from
// busbw/algbw. Times are used, bus bandwidth only to find the rank count: over two nodes it can
// exceed the wire's.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/operation.hpp"
#include "profiler/measurement.hpp"

namespace ddpx::io {

struct ImportedPoint {
  Bytes bytes{};
  Seconds time{};                   // out of place
  std::optional<Seconds> in_place;  // nullopt where that half was not run
  BytesPerSecond bus_bandwidth{};   // as printed, out of place
  std::size_t line = 0;             // from 1, see NcclImport::row_word
  bool cold =
      false;  // first of its table and slower than the next, larger one: the warm-up was too short
};

// The rows of one run of one collective, reduction and type.
struct ImportedTable {
  std::string collective;  // "all_reduce", or what it may be: "all_gather or alltoall"
  std::optional<Collective>
      kind;                    // nullopt for one this project does not price, or an ambiguous one
  std::string redop;           // "sum", ...; "none" or empty where the collective reduces nothing
  std::optional<DType> dtype;  // nullopt for a type that is no gradient's
  std::string dtype_name;
  int ranks = 0;                      // 0: the file does not say
  int hosts = 0;                      // 0: the file does not say
  int ranks_per_host = 0;             // 0: nor does it this, or not all hosts have as many
  std::string unplaced;               // why `hosts` is 0 though the file lists ranks
  std::vector<int> or_each;           // ranks per host in the other spreads that a cut list fits
  std::string placed_by;              // the assumption that `hosts` rests on; empty: none
  bool validated = false;             // results were checked (-c 1)
  std::size_t wrong_rows = 0;         // whose results were wrong, in place or out of place
  std::size_t line = 0;               // of the first row, or of the header, as printed
  bool host_time = false;             // -C: times are the host's call, not the collective's
  std::vector<ImportedPoint> points;  // by ascending size
  std::string version;                // "nccl-tests 2.19.6, NCCL 2.28.3", as far as known
};

struct DroppedRow {
  std::size_t line = 0;  // from 1, see NcclImport::row_word
  std::string text;      // on one line, cut
  std::string reason;
};

struct NcclImport {
  std::string place;  // the file, for messages
  std::string row_word =
      "line";  // what `line` counts: lines of text, or results of JSON ("result")
  std::vector<ImportedTable> tables;
  std::vector<DroppedRow> dropped;
  std::vector<std::string> notes;
  std::vector<std::string> assumptions;  // what the file leaves open, and how it was taken
};

// "all_reduce of float, 16 ranks (line 12)".
[[nodiscard]] std::string table_text(const ImportedTable& table, const NcclImport& import);

// How ranks are spread over equal hosts; 0: not known.
struct RankPlaces {
  int hosts = 0;
  int ranks_per_host = 0;
  std::string unplaced{};  // these as in ImportedTable
  std::vector<int> or_each{};
  std::string placed_by{};
};
// Of the tables of so many ranks that a link can be made of; not known where they differ.
[[nodiscard]] RankPlaces places_of(const NcclImport& import, int ranks);

// A line for each table with wrong results: such a link is of no use, however fast.
[[nodiscard]] std::vector<std::string> wrong_results(const NcclImport& import);

// Runs of one thing that contradict each other, by bus bandwidth at the largest size of them all.
struct Contradiction {
  const ImportedTable* slowest = nullptr;  // of the import
  std::string text;                        // every figure with its line
};
// Of the tables that samples are made of and that are of this; nullopt where they agree.
[[nodiscard]] std::optional<Contradiction> contradiction(const NcclImport& import, Collective kind,
                                                         DType dtype, int ranks);
// A line for each that there is among the all-reduces.
[[nodiscard]] std::vector<std::string> contradictions(const NcclImport& import);

// Whether this reads as a log or JSON of nccl-tests rather than as a file of ours.
[[nodiscard]] bool looks_like_nccl_tests(std::string_view text);

// Reads every table. Good rows are kept; a row that cannot be trusted is dropped with its line and
// reason. Throws InputError when nothing in the text comes from nccl-tests.
[[nodiscard]] NcclImport read_nccl_tests(std::string_view text, std::string_view place);

// Whether a table is one of collective_samples(): of a collective and a type that are priced, of
// two ranks or more on equal hosts (as far as is known), and no other reduction where there is the
// sum.
[[nodiscard]] bool makes_samples(const ImportedTable& table, const NcclImport& import);

// The tables as measurements of one link. An all-reduce with a rank count is needed: without it
// InputError names what was found. Of several reductions the sum is taken; cold first rows are left
// out.
[[nodiscard]] std::vector<CollectiveSample> collective_samples(const NcclImport& import,
                                                               std::string_view link_name);

}  // namespace ddpx::io
