#include "io/nccl_tests_row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "io/one_line.hpp"

namespace ddpx::io::nccl {
namespace {

constexpr std::array<std::string_view, 7> kReductions{"sum", "prod",   "max", "min",
                                                      "avg", "mulsum", "none"};

bool has(const std::vector<std::string_view>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// "2025-10-17" and "12:00:00", which -S puts behind the row.
bool is_timestamp(std::string_view word) {
  const auto pattern = [&](std::string_view shape) {
    return word.size() == shape.size() &&
           std::equal(word.begin(), word.end(), shape.begin(),
                      [](char c, char s) { return s == '0' ? c >= '0' && c <= '9' : c == s; });
  };
  return pattern("0000-00-00") || pattern("00:00:00");
}

// No message and no buffer is larger.
constexpr double kLargest = 0x1p62;

// A size or count as it is printed, of whatever length: a row whose digits were damaged is still a
// row, to be counted among those left out.
std::optional<double> size_or_count(std::string_view word) {
  if (const auto value = whole_number(word)) return value;
  const bool negative = word.starts_with('-');
  if (negative) word.remove_prefix(1);
  if (word.empty() || word.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  return negative ? -1.0 : 2 * kLargest;
}

struct Fields {
  std::optional<int> root;
  std::vector<std::string> halves;
  std::size_t half = 4;
};

Fields split(const PendingRow& pending, const Columns& columns) {
  Fields result;
  result.halves = pending.fields;
  while (!result.halves.empty() && is_timestamp(result.halves.back())) result.halves.pop_back();
  // A time is never -1, and halves have an even number of fields.
  if (!result.halves.empty() &&
      (result.halves[0] == "-1" || columns.root || result.halves.size() % 2 == 1)) {
    const std::optional<Printed> root = printed_number(result.halves[0]);
    if (root && root->half_unit == 0.5 && root->value >= -1 && root->value < 1e6) {
      if (root->value >= 0) result.root = static_cast<int>(root->value);
      result.halves.erase(result.halves.begin());
    }
  }
  result.half = columns.per_iteration || result.halves.size() == 16 ? 8 : 4;
  return result;
}

// Sets time, bandwidths and what was checked from the halves; the reason when that fails.
std::optional<std::string> set_numbers(Row& row, const std::vector<std::string>& halves,
                                       std::size_t half) {
  const std::array<Printed*, 3> targets{&row.time, &row.algbw, &row.busbw};
  static constexpr std::array<std::string_view, 3> kNames{"time", "algbw", "busbw"};
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const std::optional<Printed> number = printed_number(halves[i]);
    if (!number) return fmt::format("{} is {}, not a number", kNames[i], io::quoted(halves[i]));
    *targets[i] = *number;
  }
  if (!plausible_time(row.time.value))
    return fmt::format("time {} is none that a collective takes", io::quoted(halves[0]));
  if (row.algbw.value < 0 || row.busbw.value < 0) return "a bandwidth is negative";
  if (const std::optional<Printed> wrong = printed_number(halves[3])) row.wrong = wrong->value;
  if (halves.size() < 2 * half) return std::nullopt;
  if (const std::optional<Printed> time = printed_number(halves[half]);
      time && plausible_time(time->value)) {
    row.in_place_time = time->value;
  }
  const std::optional<Printed> wrong = printed_number(halves[half + 3]);
  row.in_place_checked = wrong.has_value();
  if (row.wrong && wrong) row.wrong = std::max(*row.wrong, wrong->value);
  return std::nullopt;
}

}  // namespace

bool is_reduction(std::string_view word) {
  return std::find(kReductions.begin(), kReductions.end(), word) != kReductions.end();
}

std::optional<RowHead> row_head(const std::vector<std::string_view>& words) {
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (!type_bytes(words[i])) continue;
    const std::optional<double> bytes = size_or_count(words[i - 2]);
    const std::optional<double> count = size_or_count(words[i - 1]);
    if (!bytes || !count) continue;
    RowHead head{*bytes, *count, std::string(words[i]), {}, i - 2, i + 1};
    if (i + 1 < words.size() && is_reduction(words[i + 1])) {
      head.redop = words[i + 1];
      head.words += 1;
    }
    return head;
  }
  return std::nullopt;
}

bool row_of_no_size(const std::vector<std::string_view>& words) {
  constexpr std::size_t kHalves = 6;  // time, algbw and busbw of two
  for (std::size_t i = 1; i + kHalves < words.size(); ++i) {
    if (!type_bytes(words[i])) continue;
    const bool reduces = is_reduction(words[i + 1]);
    const std::size_t first = i + (reduces ? 2 : 1);
    if (words.size() - first >= kHalves &&
        std::all_of(words.begin() + static_cast<std::ptrdiff_t>(first), words.end(), is_field))
      return true;
  }
  return false;
}

std::optional<Columns> header_columns(const std::vector<std::string_view>& words) {
  const bool current = has(words, "size") && has(words, "count") && has(words, "type");
  const bool first_version = has(words, "bytes") && has(words, "N") && has(words, "type");
  if (!(current || first_version) || !(has(words, "algbw") && has(words, "busbw")))
    return std::nullopt;
  Columns columns;
  columns.root = has(words, "root");
  columns.per_iteration = has(words, "i_min");
  columns.host_time = has(words, "cputime");
  // 1.0 prints "%7.3f" of deltaSec * 1.0E3 and no line of units (src/common.cu at v1.0.0).
  if (first_version) columns.time_unit = 1e-3;
  return columns;
}

bool is_field(std::string_view word) { return word == "N/A" || printed_number(word).has_value(); }

bool complete(const PendingRow& pending, const Columns& columns) {
  const Fields fields = split(pending, columns);
  return fields.halves.size() == 2 * fields.half;
}

std::variant<FinishedRow, std::string> finish(PendingRow pending, const Columns& columns) {
  const Fields fields = split(pending, columns);
  const std::size_t found = fields.halves.size();
  for (const double value : {pending.head.bytes, pending.head.count})
    if (value < 0 || value > kLargest) return "size or count is no number of bytes or elements";
  if (pending.row.bytes <= 0) return "size 0: fewer elements than ranks";
  if (found == 0) {
    return pending.interrupted ? "row without measurements: NCCL INFO lines interrupt it"
                               : "row without measurements";
  }
  const bool one_half = found == fields.half;
  if ((!one_half && found != 2 * fields.half) || (one_half && !pending.ended)) {
    return fmt::format("row is cut: {} of {} fields", found, 2 * fields.half);
  }
  if (const auto problem = set_numbers(pending.row, fields.halves, fields.half)) return *problem;
  pending.row.in_place_only = one_half && pending.in_place_only;
  if (pending.row.in_place_only) pending.row.in_place_time = pending.row.time.value;
  return FinishedRow{std::move(pending.row), fields.root};
}

}  // namespace ddpx::io::nccl
