// What a table is of and on how many ranks, from its columns alone.
//
//   printed                          all_reduce   reduce_scatter  all_gather, alltoall   broadcast,
//   reduce, sendrecv reduction                        yes          yes             none reduce: yes
//   root                             -1 or none   -1 or none      -1 or none             0 or more;
//   sendrecv: -1 size / (count x element)         1            N               N 1 busbw / algbw
//   2(N-1)/N     (N-1)/N         (N-1)/N                1 size / time / algbw              1 1;
//   before 2.9   N/(N-1), and busbw = algbw (all_gather too)
//
// Sources: nccl-tests src/*.cu, GetCollByteCount and GetBw, at v1.0.0, v2.0.0, v2.9.0, v2.13.0 and
// v2.19.6.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "io/nccl_tests_table.hpp"
#include "io/one_line.hpp"

namespace ddpx::io::nccl {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kMostRanks = 1'000'000;

struct Range {
  double low = 0;
  double high = kInfinity;

  [[nodiscard]] bool contains(double x) const { return low <= x && x <= high; }
  [[nodiscard]] bool overlaps(Range other) const { return low <= other.high && other.low <= high; }
  [[nodiscard]] double width() const { return high - low; }
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// busbw / algbw within what their printed digits leave open. The sharpest row leads; one that
// contradicts it is left out.
std::optional<Range> bus_ratio(const std::vector<Row>& rows) {
  std::vector<Range> ranges;
  for (const Row& row : rows) {
    if (row.algbw.value <= 0) continue;
    const double slack = 1e-6;
    const double below = row.algbw.value - row.algbw.half_unit;
    ranges.push_back(
        {std::max(0.0, row.busbw.value - row.busbw.half_unit) /
                 (row.algbw.value + row.algbw.half_unit) -
             slack,
         below > 0 ? (row.busbw.value + row.busbw.half_unit) / below + slack : kInfinity});
  }
  if (ranges.empty()) return std::nullopt;
  std::sort(ranges.begin(), ranges.end(), [](Range a, Range b) { return a.width() < b.width(); });
  Range result = ranges.front();
  for (const Range& range : ranges) {
    if (!range.overlaps(result)) continue;
    result = {std::max(result.low, range.low), std::min(result.high, range.high)};
  }
  return result;
}

// size / (count x element): 1, or the rank count where `count` is one rank's share.
std::optional<double> size_ratio(const Table& table) {
  const std::optional<double> element = type_bytes(table.type);
  if (!element || table.rows.empty()) return std::nullopt;
  std::vector<double> ratios;
  for (const Row& row : table.rows) {
    if (row.count > 0) ratios.push_back(row.bytes / (row.count * *element));
  }
  if (ratios.empty()) return std::nullopt;
  return median(std::move(ratios));
}

bool reduces(const Table& table) { return !table.redop.empty() && table.redop != "none"; }

// The collectives whose columns look like these, most likely first; empty when none fits.
std::vector<std::string> collectives_by_shape(const Table& table, std::optional<double> share,
                                              const std::optional<Range>& ratio) {
  const bool rooted = table.root.has_value();
  const bool split = share && *share > 1.5;
  const bool below_one = ratio && ratio->high < 0.999;
  if (reduces(table)) {
    if (rooted) return {"reduce"};
    // One rank has no bus bandwidth, whatever it reduces: (N-1)/N is 1/2 or more from two on.
    if (ratio && ratio->high < 0.25) return {"all_reduce", "reduce_scatter"};
    if (split || below_one) return {"reduce_scatter"};
    return {"all_reduce"};
  }
  if (rooted) {
    if (split || below_one) return {"gather", "scatter"};
    return {"broadcast"};
  }
  if (!split && !below_one) return {"sendrecv"};
  // alltoall does not check its in-place half (src/alltoall.cu: reportErrors = in_place ? 0 : 1),
  // all_gather checks both.
  std::size_t checked = 0;
  std::size_t half_checked = 0;
  for (const Row& row : table.rows) {
    if (row.wrong && row.in_place_time) (row.in_place_checked ? checked : half_checked) += 1;
  }
  if (half_checked > checked) return {"alltoall"};
  const bool old_convention = ratio && ratio->low > 0.99;
  if (checked > 0 && !old_convention) return {"all_gather"};
  return {"all_gather", "alltoall"};
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " or ") + word;
  return text;
}

// Whether the columns allow a name that they would not be given by themselves: sendrecv_perf and
// older broadcasts and reduces print a reduction and the root as all_reduce on two ranks does, with
// which they share busbw/algbw (1).
bool reads_like_a_pair(std::string_view name, std::optional<double> share,
                       const std::optional<Range>& ratio) {
  const bool whole = !share || *share < 1.5;
  return whole && (!ratio || ratio->contains(1.0)) &&
         (name == "sendrecv" || name == "broadcast" || name == "reduce");
}

// The log's own name where the columns allow it, else what they say.
void decide_collective(const Table& table, std::optional<double> share,
                       const std::optional<Range>& ratio, ImportedTable& result,
                       NcclImport& import) {
  const std::vector<std::string> possible = collectives_by_shape(table, share, ratio);
  const auto kin = [&](std::string_view name) {
    // Gather-like tables share their columns, so do those with neither reduction nor root.
    if (reduces(table) || !possible.front().ends_with("gather")) return false;
    return name == "all_gather" || name == "alltoall" || name == "alltoallv" || name == "hypercube";
  };
  const bool allowed =
      std::find(possible.begin(), possible.end(), table.collective) != possible.end() ||
      kin(table.collective) || reads_like_a_pair(table.collective, share, ratio) ||
      table.rows.empty();
  if (!table.collective.empty() && allowed) {
    result.collective = table.collective;
  } else {
    result.collective = table.rows.empty() ? "unnamed" : joined(possible);
    if (!table.collective.empty()) {
      import.notes.push_back(
          fmt::format("{} {}: the log names {}, the columns are those of {}: taken as the latter",
                      import.row_word, table.line, table.collective, result.collective));
    }
  }
  result.kind = collective_from(result.collective);
}

Range ranks_from_ratio(const Range& ratio, const std::string& collective) {
  if (collective == "all_reduce") {  // r = 2(n-1)/n
    return {2.0 / (2.0 - std::min(ratio.low, 1.999999)),
            ratio.high < 2.0 ? 2.0 / (2.0 - ratio.high) : kInfinity};
  }
  return {1.0 / (1.0 - std::min(ratio.low, 0.999999)),
          ratio.high < 1.0 ? 1.0 / (1.0 - ratio.high) : kInfinity};
}

// Rank counts that the bandwidths (or count column) allow. Nothing for collectives whose two
// bandwidths are equal.
std::optional<Range> possible_ranks(const std::string& collective, std::optional<double> share,
                                    const std::optional<Range>& ratio) {
  const bool split = collective != "all_reduce" && share && *share > 1.5;
  if (split) return Range{std::round(*share) - 0.1, std::round(*share) + 0.1};
  const bool has_factor =
      collective == "all_reduce" || collective == "reduce_scatter" || collective.starts_with("all");
  if (!has_factor || !ratio) return std::nullopt;
  Range ranks = ranks_from_ratio(*ratio, collective);
  return Range{ranks.low - 1e-3, ranks.high + 1e-3};
}

void decide_ranks(const Table& table, const std::optional<Range>& range, ImportedTable& result,
                  NcclImport& import) {
  const int listed = table.listed ? table.listed->count() : 0;
  const int communicator = table.communicator_ranks.value_or(0);
  // Rank lines are lost, not made up.
  const int named = std::max(listed, communicator);
  if (!range) {
    result.ranks = named;
    return;
  }
  const double first = std::max(1.0, std::ceil(range->low));
  const double last = std::floor(range->high);
  if (named > 0 && range->contains(named)) {
    result.ranks = named;
  } else if (listed > 0 && range->contains(listed)) {
    result.ranks = listed;
  } else if (communicator > 0 && range->contains(communicator)) {
    result.ranks = communicator;
  } else if (first <= last && last - first < 0.5 && last <= kMostRanks) {
    result.ranks = static_cast<int>(first);
  } else if (const auto other = std::find_if(
                 import.tables.begin(), import.tables.end(),
                 [&](const ImportedTable& t) { return t.ranks > 0 && range->contains(t.ranks); });
             other != import.tables.end()) {
    result.ranks = other->ranks;
    import.assumptions.push_back(
        fmt::format("{} {}: the table does not tell its ranks; {} are assumed, as in another table",
                    import.row_word, table.line, result.ranks));
  } else if (first <= last && last <= kMostRanks) {
    // The printed digits leave several open: machines come in powers of two.
    const double guess = std::exp2(std::ceil(std::log2(first)));
    result.ranks = static_cast<int>(guess <= last ? guess : std::round((first + last) / 2));
    import.assumptions.push_back(
        fmt::format("{} {}: busbw/algbw leaves {:.0f} to {:.0f} ranks open; {} is assumed",
                    import.row_word, table.line, first, last, result.ranks));
  }
  if (listed > 0 && result.ranks == 0) result.ranks = listed;
}

// size / time / algbw, 1 but for old gathers; microseconds read as milliseconds and the like show
// here.
double convention(Table& table, std::optional<double> share, NcclImport& import) {
  std::vector<double> ratios;
  for (const Row& row : table.rows) {
    if (row.algbw.value < 20 * row.algbw.half_unit) continue;
    ratios.push_back(row.bytes / (row.time.value * table.time_unit) / 1e9 / row.algbw.value);
  }
  if (ratios.empty()) return 1.0;
  double ratio = median(std::move(ratios));
  if (table.time_unit < 1e-3 && ratio > 900 && ratio < 2100) {
    table.time_unit *= 1000.0;
    ratio /= 1000.0;
    import.notes.push_back(fmt::format("{} {}: times are milliseconds, by their bandwidths",
                                       import.row_word, table.line));
  }
  const bool gather_like = !reduces(table) || (share && *share > 1.5);
  return gather_like && ratio > 1.03 && ratio < 2.06 ? ratio : 1.0;
}

// Whether size, time and algbw of a row agree within their printed digits and 2 %.
bool consistent(const Row& row, double seconds, double ratio) {
  const double expected = row.bytes / seconds / 1e9 / ratio;
  const double slack =
      row.algbw.half_unit + expected * (row.time.half_unit / row.time.value + 0.02);
  return std::abs(expected - row.algbw.value) <= slack;
}

}  // namespace

void add_table(Table table, NcclImport& import) {
  const std::optional<double> share = size_ratio(table);
  const std::optional<Range> ratio = bus_ratio(table.rows);
  const double stretch = convention(table, share, import);

  ImportedTable result;
  result.line = table.line;
  result.redop = table.redop;
  result.dtype_name = table.type;
  if (table.type == "float") result.dtype = DType::fp32;
  if (table.type == "half") result.dtype = DType::fp16;
  if (table.type == "bfloat16") result.dtype = DType::bf16;
  result.host_time = table.host_time;
  result.version = table.version;
  decide_collective(table, share, ratio, result, import);
  decide_ranks(table, possible_ranks(result.collective, share, ratio), result, import);

  std::size_t checked = 0;
  const bool own_convention = table.collective == "alltoallv" || table.collective == "hypercube";
  for (const Row& row : table.rows) {
    if (!own_convention && !consistent(row, row.time.value * table.time_unit, stretch)) {
      add_dropped(import, row.line, row.text, "size, time and algbw contradict each other");
      continue;
    }
    if (const std::string why = implausible(row.bytes, row.time.value * table.time_unit);
        !why.empty()) {
      add_dropped(import, row.line, row.text, why);
      continue;
    }
    if (row.wrong) ++checked;
    if (row.wrong && *row.wrong >= 1) ++result.wrong_rows;
    result.points.push_back(point_of(row, table.time_unit));
  }
  result.validated = checked > 0 && checked == result.points.size();
  if (table.listed) table.listed->place(result, import);
  if (std::any_of(table.rows.begin(), table.rows.end(),
                  [](const Row& row) { return row.in_place_only; })) {
    import.notes.push_back(
        fmt::format("{} {}: rows without an out-of-place half: the in-place time stands in for it",
                    import.row_word, table.line));
  }
  add_notes(result, import);
  import.tables.push_back(std::move(result));
}

}  // namespace ddpx::io::nccl
