// Why a log's figures are not to be relied on: wrong results, and runs that contradict each other.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "io/nccl_tests.hpp"
#include "io/nccl_tests_lines.hpp"

namespace ddpx::io {
namespace {

// Warmed-up runs of one size differ by 1 to 3 %, on a shared network by some 10 %.
constexpr double kContradicts = 1.25;
// Latency differs by more from run to run and says little of a link.
constexpr Bytes kSaysRate{1048576.0};
constexpr std::size_t kMostFigures = 6;

const ImportedPoint* point_at(const ImportedTable& table, Bytes bytes) {
  const auto found = std::lower_bound(
      table.points.begin(), table.points.end(), bytes,
      [](const ImportedPoint& point, Bytes wanted) { return point.bytes < wanted; });
  return found == table.points.end() || found->bytes != bytes ? nullptr : &*found;
}

// The largest size that all of them have.
std::optional<Bytes> common_size(const std::vector<const ImportedTable*>& tables) {
  const auto& points = tables.front()->points;
  for (auto point = points.rbegin(); point != points.rend(); ++point) {
    const bool common = std::all_of(tables.begin(), tables.end(), [&](const ImportedTable* table) {
      return point_at(*table, point->bytes) != nullptr;
    });
    if (common) return point->bytes;
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> wrong_results(const NcclImport& import) {
  std::vector<std::string> lines;
  for (const ImportedTable& table : import.tables) {
    if (table.wrong_rows > 0)
      lines.push_back(
          fmt::format("{} {}: {} of {} rows report wrong results: this link corrupts data",
                      import.row_word, table.line, table.wrong_rows, table.points.size()));
  }
  return lines;
}

std::optional<Contradiction> contradiction(const NcclImport& import, Collective kind, DType dtype,
                                           int ranks) {
  std::vector<const ImportedTable*> runs;
  for (const ImportedTable& table : import.tables) {
    if (table.kind == kind && table.dtype == dtype && table.ranks == ranks &&
        makes_samples(table, import))
      runs.push_back(&table);
  }
  if (runs.size() < 2) return std::nullopt;
  const std::optional<Bytes> size = common_size(runs);
  if (!size || *size < kSaysRate) return std::nullopt;
  const auto slower = [&](const ImportedTable* a, const ImportedTable* b) {
    return point_at(*a, *size)->time > point_at(*b, *size)->time;
  };
  const auto [slowest, fastest] = std::minmax_element(runs.begin(), runs.end(), slower);
  const double times = point_at(**slowest, *size)->time / point_at(**fastest, *size)->time;
  if (times < kContradicts) return std::nullopt;
  std::string figures;
  for (std::size_t i = 0; i < runs.size() && i < kMostFigures; ++i)
    figures += fmt::format("{}{:.3g} GB/s ({} {})", i == 0 ? "" : ", ",
                           point_at(*runs[i], *size)->bus_bandwidth.value() / 1e9, import.row_word,
                           point_at(*runs[i], *size)->line);
  if (runs.size() > kMostFigures) figures += fmt::format(", {} more", runs.size() - kMostFigures);
  return Contradiction{
      *slowest,
      fmt::format("runs of {}, {} ranks, contradict each other, by {:.3g} times at {}: {}",
                  runs.front()->collective, ranks, times, nccl::size_text(size->value()), figures)};
}

std::vector<std::string> contradictions(const NcclImport& import) {
  std::set<std::tuple<DType, int>> seen;
  std::vector<std::string> lines;
  for (const ImportedTable& table : import.tables) {
    if (table.kind != Collective::all_reduce || !makes_samples(table, import) ||
        !seen.emplace(*table.dtype, table.ranks).second)
      continue;
    if (const auto found = contradiction(import, *table.kind, *table.dtype, table.ranks))
      lines.push_back(found->text);
  }
  return lines;
}

}  // namespace ddpx::io
