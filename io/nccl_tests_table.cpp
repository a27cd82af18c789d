#include "io/nccl_tests_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "io/one_line.hpp"
#include "io/plausible.hpp"

namespace ddpx::io::nccl {
namespace {

constexpr std::size_t kMostDropped = 1000;
constexpr std::size_t kDroppedText = 80;
// A file that alternates sizes would otherwise open a table per row.
constexpr std::size_t kMostOpen = 16;

constexpr std::array<std::pair<std::string_view, double>, 17> kTypes{{{"int8", 1},
                                                                      {"uint8", 1},
                                                                      {"char", 1},
                                                                      {"f8e4m3", 1},
                                                                      {"f8e5m2", 1},
                                                                      {"fp8_e4m3", 1},
                                                                      {"fp8_e5m2", 1},
                                                                      {"half", 2},
                                                                      {"bfloat16", 2},
                                                                      {"int32", 4},
                                                                      {"uint32", 4},
                                                                      {"int", 4},
                                                                      {"float", 4},
                                                                      {"int64", 8},
                                                                      {"uint64", 8},
                                                                      {"double", 8},
                                                                      {"uint", 4}}};

constexpr std::array<std::string_view, 11> kCollectives{
    "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",   "alltoall",
    "alltoallv",  "sendrecv",   "gather",         "scatter",   "hypercube"};

bool is_name_character(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

double bandwidth(const Row& row) { return row.bytes / row.time.value; }

}  // namespace

ImportedPoint point_of(const Row& row, double time_unit) {
  ImportedPoint point;
  point.bytes = Bytes(row.bytes);
  point.time = Seconds(row.time.value * time_unit);
  if (row.in_place_time) point.in_place = Seconds(*row.in_place_time * time_unit);
  point.bus_bandwidth = BytesPerSecond(row.busbw.value * 1e9);
  point.line = row.line;
  return point;
}

std::string implausible(double bytes, double seconds) {
  if (!(kMeasuredTime.least <= seconds && seconds <= kMeasuredTime.most))
    return fmt::format("{:.3g} s is no time that a collective takes", seconds);
  if (plausible_move(bytes, seconds, kLinkRate)) return {};
  return fmt::format("{} in {:.3g} s are {:.3g} bytes per second, which no link has",
                     size_text(bytes), seconds, bytes / seconds);
}

std::optional<double> type_bytes(std::string_view type) {
  for (const auto& [name, bytes] : kTypes) {
    if (name == type) return bytes;
  }
  return std::nullopt;
}

std::string collective_named_in(std::string_view text) {
  static constexpr std::string_view kProgram = "_perf";
  std::string found;
  for (std::size_t at = text.find(kProgram); at != std::string_view::npos;
       at = text.find(kProgram, at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && is_name_character(text[begin - 1])) --begin;
    const std::string_view name = text.substr(begin, at - begin);
    if (std::find(kCollectives.begin(), kCollectives.end(), name) == kCollectives.end()) continue;
    if (!found.empty() && found != name) return {};
    found = name;
  }
  return found;
}

std::string version_text(std::string_view tests, std::optional<int> nccl_code) {
  std::string text = tests.empty() ? std::string() : "nccl-tests " + one_line(tests, 20);
  if (!nccl_code || *nccl_code < 1000) return text;
  // NCCL_VERSION_CODE is 10000 a + 100 b + c from 2.9 on, 1000 a + 100 b + c before (nccl.h).
  const int major = *nccl_code >= 10000 ? *nccl_code / 10000 : *nccl_code / 1000;
  const int rest = *nccl_code >= 10000 ? *nccl_code % 10000 : *nccl_code % 1000;
  return fmt::format("{}{}NCCL {}.{}.{}", text, text.empty() ? "" : ", ", major, rest / 100,
                     rest % 100);
}

std::optional<std::size_t> OpenTables::best_for(const Table& like, std::string_view tag,
                                                const Row& row) const {
  std::optional<std::size_t> best;
  double best_distance = std::numeric_limits<double>::infinity();
  for (std::size_t i = first_open_; i < tables_.size(); ++i) {
    const Table& table = tables_[i];
    if (tags_[i] != tag || table.type != like.type || table.redop != like.redop ||
        table.root != like.root)
      continue;
    const Row& last = table.rows.back();
    if (row.bytes <= last.bytes) continue;
    // A later run's rows lie below an earlier one's end, and continue the nearer size first.
    const double growth = std::abs(std::log(bandwidth(row) / bandwidth(last)));
    const double step = std::log2(row.bytes / last.bytes);
    const double distance = growth + std::max(0.0, step - 2.0);
    if (distance < best_distance) {
      best_distance = distance;
      best = i;
    }
  }
  return best;
}

void OpenTables::add(const Table& like, std::string_view tag, Row row) {
  if (const std::optional<std::size_t> at = best_for(like, tag, row)) {
    tables_[*at].rows.push_back(std::move(row));
    return;
  }
  if (tables_.size() - first_open_ >= kMostOpen) close();
  Table table = like;
  table.line = row.line;
  table.rows.push_back(std::move(row));
  tables_.push_back(std::move(table));
  tags_.emplace_back(tag);
}

void OpenTables::name_last(std::string_view collective) {
  for (std::size_t i = tables_.size(); i-- > 0;) {
    if (!tables_[i].collective.empty()) return;
    tables_[i].collective = collective;
    if (i == first_open_) return;
  }
}

void add_dropped(NcclImport& import, std::size_t line, std::string_view text, std::string reason) {
  static constexpr std::string_view kMore = "more rows dropped than are listed";
  if (import.dropped.size() < kMostDropped) {
    import.dropped.push_back({line, one_line(text, kDroppedText), std::move(reason)});
  } else if (import.notes.empty() || import.notes.back() != kMore) {
    import.notes.emplace_back(kMore);
  }
}

}  // namespace ddpx::io::nccl
