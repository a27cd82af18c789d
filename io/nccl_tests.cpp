#include "io/nccl_tests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "io/log_text.hpp"
#include "io/nccl_tests_row.hpp"
#include "io/nccl_tests_table.hpp"
#include "io/one_line.hpp"
#include "model/error.hpp"

namespace ddpx::io {
namespace {

constexpr std::size_t kTitleLines = 2000;

bool usable(const ImportedTable& table) {
  return table.kind && table.dtype && !table.points.empty() && table.ranks >= 2 &&
         !table.host_time && !nccl::uneven(table);
}

// The reductions to take: the sum where there is one, else whatever there is.
bool preferred(const ImportedTable& table, const NcclImport& import) {
  if (table.redop.empty() || table.redop == "sum" || table.redop == "none") return true;
  return std::none_of(import.tables.begin(), import.tables.end(), [&](const ImportedTable& other) {
    return other.redop == "sum" && other.kind == table.kind && other.dtype == table.dtype &&
           usable(other);
  });
}

// Why no link can be made of the tables: the first reason that applies.
std::string refusal(const NcclImport& import) {
  std::set<std::string> others;
  for (const ImportedTable& table : import.tables) {
    if (table.points.empty()) {
      continue;
    }
    if (table.ranks == 1)
      return fmt::format(
          "{}: one rank, so nothing travels over a link; run all_reduce_perf on two or more (-g 2)",
          table_text(table, import));
    if (table.kind != Collective::all_reduce) {
      others.insert(table_text(table, import));
    } else if (!table.dtype) {
      return fmt::format(
          "{}: not a gradient's type; accepted: float, half, bfloat16; run nccl-tests with -d "
          "float",
          table_text(table, import));
    } else if (table.ranks == 0) {
      return fmt::format(
          "{}: the rank count is not in the file and its bandwidths are too small to tell; add a "
          "line \"nranks N\" above "
          "the table",
          table_text(table, import));
    } else if (table.host_time) {
      return fmt::format("{}: times are the host's calls; run nccl-tests without -C",
                         table_text(table, import));
    } else if (nccl::uneven(table) && !table.unplaced.empty()) {
      return fmt::format("{}: {}; give a log with all its \"# Rank\" lines, or take them all out",
                         table_text(table, import), table.unplaced);
    } else if (nccl::uneven(table)) {
      return fmt::format(
          "{}: the ranks are on {} hosts, not as many on each, which no layout of --gpus "
          "describes; run all_reduce_perf on as many of each",
          table_text(table, import), table.hosts);
    }
  }
  if (!others.empty()) {
    std::string found;
    for (const std::string& other : others) found += (found.empty() ? "" : "; ") + other;
    return fmt::format("holds {}; need all_reduce; run all_reduce_perf", found);
  }
  std::string text = "holds no row of measurements";
  if (!import.tables.empty() && import.tables.front().ranks > 0) {
    text += fmt::format(", only the header of {}", table_text(import.tables.front(), import));
  }
  if (!import.dropped.empty()) {
    text +=
        fmt::format("; {} dropped, the first at {} {}: {}", import.dropped.size(), import.row_word,
                    import.dropped.front().line, import.dropped.front().reason);
  }
  return text + "; need the table of all_reduce_perf";
}

}  // namespace

bool looks_like_nccl_tests(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  if (text[first] == '{' && text.find("\"schema\"") != std::string_view::npos) return false;
  // Of its JSON, whatever stands before it.
  for (const std::string_view key : {"\"out_of_place\"", "\"in_place\"", "\"oop_time\""}) {
    if (text.find(key) != std::string_view::npos) return true;
  }
  if (text[first] == '{' && text.find("nccl-tests") != std::string_view::npos) return true;
  nccl::LogLines lines(text);
  // A table may stand behind any number of NCCL's own lines.
  for (std::size_t read = 0; read < kTitleLines;) {
    const nccl::LogLine* line = lines.next();
    if (line == nullptr) return false;
    if (line->words.empty() || !may_matter(line->text)) continue;
    ++read;
    if (nccl::row_head(line->words) || nccl::header_columns(line->words)) return true;
    if (line->text.find("nccl-tests ") != std::string_view::npos) return true;
    if (line->text.find("nThread ") != std::string_view::npos &&
        line->text.find("minBytes ") != std::string_view::npos)
      return true;
  }
  return false;
}

NcclImport read_nccl_tests(std::string_view text, std::string_view place) {
  refuse_wide_text(text, place);
  // Lines that end in carriage returns alone, as a terminal's record may have them.
  std::string lines;
  if (text.find('\n') == std::string_view::npos && text.find('\r') != std::string_view::npos) {
    lines = text;
    std::replace(lines.begin(), lines.end(), '\r', '\n');
    text = lines;
  }
  NcclImport import;
  import.place = place;
  if (!nccl::read_json(text, import) && !nccl::read_text(text, import)) {
    throw InputError(place,
                     "is no nccl-tests log: no line \"size count type ... time algbw busbw\" in "
                     "it, no row of such a table and no "
                     "JSON of nccl-tests");
  }
  nccl::add_notes(import);
  return import;
}

std::string table_text(const ImportedTable& table, const NcclImport& import) {
  std::string text = table.collective;
  if (!table.dtype_name.empty()) text += " of " + table.dtype_name;
  if (!table.redop.empty() && table.redop != "none" && table.redop != "sum")
    text += " (" + table.redop + ")";
  if (table.ranks > 0)
    text += fmt::format(", {} {}", table.ranks, table.ranks == 1 ? "rank" : "ranks");
  if (!table.points.empty())
    text += fmt::format(" ({} {})", import.row_word, table.points.front().line);
  return text;
}

RankPlaces places_of(const NcclImport& import, int ranks) {
  std::optional<RankPlaces> places;
  for (const ImportedTable& table : import.tables) {
    if (table.ranks != ranks || !usable(table)) continue;
    if (!places)
      places = RankPlaces{table.hosts, table.ranks_per_host, table.unplaced, table.or_each,
                          table.placed_by};
    if (places->hosts != table.hosts) return {};
  }
  return places.value_or(RankPlaces{});
}

bool makes_samples(const ImportedTable& table, const NcclImport& import) {
  return usable(table) && preferred(table, import);
}

std::vector<CollectiveSample> collective_samples(const NcclImport& import,
                                                 std::string_view link_name) {
  // Repeats of one size are one sample with several times.
  using Key = std::tuple<Collective, DType, int, double>;
  std::map<Key, std::vector<double>> times;
  bool all_reduce = false;
  for (const ImportedTable& table : import.tables) {
    if (!makes_samples(table, import)) continue;
    all_reduce = all_reduce || table.kind == Collective::all_reduce;
    for (const ImportedPoint& point : table.points) {
      if (!point.cold)
        times[{*table.kind, *table.dtype, table.ranks, point.bytes.value()}].push_back(
            point.time.value());
    }
  }
  if (!all_reduce) throw InputError(import.place, refusal(import));
  std::vector<CollectiveSample> samples;
  for (auto& [key, seconds] : times) {
    const auto& [kind, dtype, ranks, bytes] = key;
    samples.push_back({std::string(link_name),
                       {kind, dtype, Bytes(bytes), ranks},
                       std::move(seconds),
                       "nccl-tests"});
    if (const int hosts = places_of(import, ranks).hosts; hosts > 0) samples.back().hosts = hosts;
  }
  return samples;
}

}  // namespace ddpx::io
