#include "predict/table.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_map>

#include "predict/conditions_text.hpp"
#include "predict/diagnose_text.hpp"
#include "predict/explain.hpp"
#include "predict/plan_text.hpp"
#include "predict/ranking_text.hpp"
#include "predict/requirement_text.hpp"
#include "predict/text.hpp"
#include "predict/words.hpp"

namespace ddpx {
namespace {

using Cell = std::function<std::string(const ForecastRow&)>;

// A column of the table. Where all rows agree it moves to the line above; of a table too wide,
// words turn into keys and those that are `spare` go.
struct Field {
  TextTable::Column column;
  Cell cell;
  bool varies = false;  // shown only where rows differ
  int spare = 0;        // what goes first where the table is too wide; 0 stays
  std::string label;    // in the line above, before the value all rows share
};

bool outside(const ForecastRow& row) { return row.forecast.extrapolated; }

// A break-even batch is known to 1 %; batches are whole.
std::string batch_text(double batch) { return count_text(std::ceil(batch - 1e-6)); }

std::vector<Field> fields(const ForecastDocument& document) {
  const bool break_even =
      std::any_of(document.rows.begin(), document.rows.end(),
                  [](const ForecastRow& r) { return r.break_even_batch_per_rank.has_value(); });
  const bool strong =
      !document.rows.empty() && document.rows.front().job.scaling == Scaling::strong;
  std::vector<Field> all;
  const auto varying = [&](const char* head, bool left, const char* label, Cell cell) {
    all.push_back({{head, left}, std::move(cell), true, 0, label});
  };
  varying("link", true, "link ", [](const ForecastRow& r) { return printable(r.link); });
  varying("strategy", true, "strategy ",
          [](const ForecastRow& r) { return describe(r.job.strategy); });
  varying("network", true, "", [](const ForecastRow& r) { return printable(r.network); });
  varying("GPUs", false, "GPUs ", [](const ForecastRow& r) {
    if (r.nodes == 1) return std::to_string(r.job.gpus);
    return std::to_string(r.nodes) + "x" + std::to_string(r.job.gpus / r.nodes);
  });
  varying("batch", false, strong ? "batch of all ranks " : "batch per rank ",
          [](const ForecastRow& r) { return count_text(r.job.batch_per_rank); });
  const auto always = [&](const char* head, bool left, int spare, Cell cell) {
    all.push_back({{head, left}, std::move(cell), false, spare, ""});
  };
  always("params", false, 3, [](const ForecastRow& r) { return amount_text(r.parameters); });
  always("step", false, 5,
         [](const ForecastRow& r) { return time_text(Seconds(r.forecast.step_time_s.value)); });
  always("speedup (90 %)", false, 0, [](const ForecastRow& r) {
    return (outside(r) ? kOutsideMark : "") + interval_text(r.forecast.speedup);
  });
  always("comm", false, 2,
         [](const ForecastRow& r) { return percent_text(r.forecast.step.communication_share()); });
  always("bound by", true, 1, [](const ForecastRow& r) {
    const BoundBy bound = r.forecast.step.bound_by();
    return bound == BoundBy::communication ? "comm" : std::string(name(bound));
  });
  if (break_even) {
    always("even at", false, 4, [](const ForecastRow& r) {
      return r.break_even_batch_per_rank ? batch_text(*r.break_even_batch_per_rank)
                                         : std::string("-");
    });
  }
  always("verdict", true, 0, verdict_text);
  return all;
}

bool differs(const ForecastDocument& document, const Field& field) {
  const std::string first = field.cell(document.rows.front());
  return std::any_of(document.rows.begin(), document.rows.end(),
                     [&](const ForecastRow& r) { return field.cell(r) != first; });
}

TextTable table_of(const ForecastDocument& document, const std::vector<Field>& fields) {
  std::vector<TextTable::Column> columns;
  columns.reserve(fields.size());
  for (const Field& field : fields) columns.push_back(field.column);
  const auto keys = std::find_if_not(fields.begin(), fields.end(),
                                     [](const Field& field) { return field.varies; }) -
                    fields.begin();
  TextTable table(std::move(columns), static_cast<std::size_t>(std::max<std::ptrdiff_t>(1, keys)));
  for (const ForecastRow& row : document.rows) {
    std::vector<std::string> cells;
    cells.reserve(fields.size());
    for (const Field& field : fields) cells.push_back(field.cell(row));
    table.add(std::move(cells));
  }
  return table;
}

// A column with its width, which is found once: every cell is made for it.
struct Shown {
  Field field;
  std::size_t width = 0;
};

Shown measured(const ForecastDocument& document, Field field) {
  std::size_t width = columns_of(field.column.head);
  for (const ForecastRow& row : document.rows) width = std::max(width, columns_of(field.cell(row)));
  return {std::move(field), width};
}

bool fits(const std::vector<Shown>& shown) {
  constexpr std::size_t kBetween = 2;
  std::size_t width = 0;
  for (const Shown& column : shown) width += column.width + kBetween;
  return width <= kColumns + kBetween;
}

// Replaces a column's words by [1], [2], ... and returns what they stand for.
std::string abbreviate(const ForecastDocument& document, Field& field) {
  std::unordered_map<std::string, std::size_t> numbers;
  std::string legend;
  for (const ForecastRow& row : document.rows) {
    const std::string word = field.cell(row);
    const std::size_t next = numbers.size() + 1;
    if (numbers.emplace(word, next).second)
      legend += wrapped(field.column.head + " [" + std::to_string(next) + "] " + word, {.rest = 4});
  }
  field.cell = [numbers = std::move(numbers), full = field.cell](const ForecastRow& row) {
    return "[" + std::to_string(numbers.at(full(row))) + "]";
  };
  return legend;
}

// Narrows until it fits: first words to keys, widest use first, then spare columns away.
std::string fitted(const ForecastDocument& document, std::vector<Field> fields) {
  std::vector<Shown> shown;
  for (Field& field : fields) shown.push_back(measured(document, std::move(field)));
  std::string legend;
  for (const char* head : {"network", "strategy", "link"}) {
    if (fits(shown)) break;
    const auto column = std::find_if(shown.begin(), shown.end(),
                                     [&](const Shown& s) { return s.field.column.head == head; });
    if (column == shown.end()) continue;
    legend += abbreviate(document, column->field);
    *column = measured(document, std::move(column->field));
  }
  while (!fits(shown)) {
    auto first = shown.end();
    for (auto column = shown.begin(); column != shown.end(); ++column) {
      const int spare = column->field.spare;
      if (spare > 0 && (first == shown.end() || spare < first->field.spare)) first = column;
    }
    if (first == shown.end()) break;
    shown.erase(first);
  }
  fields.clear();
  for (Shown& column : shown) fields.push_back(std::move(column.field));
  return legend + table_of(document, fields).text();
}

std::string rows_text(const ForecastDocument& document) {
  const Job& job = document.rows.front().job;
  std::string shared = "machine " + printable(document.machine) + " (" +
                       printable(document.device) + "), engine " + std::string(name(job.engine)) +
                       ", " + std::string(name(job.dtype)) + ", " +
                       std::string(name(job.optimizer)) + ", " +
                       (job.scaling == Scaling::strong ? "strong" : "weak") + " scaling";
  std::vector<Field> shown;
  const bool sized = std::any_of(document.rows.begin(), document.rows.end(),
                                 [](const ForecastRow& r) { return r.width.has_value(); });
  for (Field& field : fields(document)) {
    const bool differ = differs(document, field);
    if (field.varies && !differ) {
      shared += ", " + field.label + field.cell(document.rows.front());
    } else if (field.column.head != "network" || !sized || document.crossovers.empty()) {
      shown.push_back(std::move(field));  // along a sweep the parameters name the network
    }
  }
  const bool break_even =
      std::any_of(document.rows.begin(), document.rows.end(),
                  [](const ForecastRow& r) { return r.break_even_batch_per_rank.has_value(); });
  if (break_even) shared += "; even at: batch from which on it is no slower";
  return wrapped(shared) + "\n" + fitted(document, std::move(shown));
}

std::string crossovers_text(const ForecastDocument& document) {
  std::string text;
  for (const CrossoverRow& c : document.crossovers) {
    if (!c.break_even_batch_per_rank) continue;
    text += wrapped("Break-even batch for the largest network swept, " +
                        setting_text(c.gpus, document.device, c.link) + ", " +
                        printable(c.strategy) + ": " + batch_text(*c.break_even_batch_per_rank) +
                        (*c.break_even_batch_per_rank > 1 ? " samples" : " sample") +
                        (c.ranks_sharing_batch > 1 ? " of all ranks; from there on it is no slower."
                                                   : " per rank; from there on it is no slower."),
                    {.rest = 2});
  }
  return text;
}

}  // namespace

std::string text_of(const ForecastDocument& document) {
  std::string text;
  if (document.inferred) text += wrapped(document.inferred->reading);
  for (const RankingRow& row : document.rankings)
    text += (text.empty() ? "" : "\n") + ranking_text(document, row);
  for (const RequirementRow& row : document.requirements)
    text += (text.empty() ? "" : "\n") + requirement_text(document, row);
  if (document.diagnosed) text += diagnosis_text(*document.diagnosed);
  if (document.rows.empty()) return text;
  text += verdicts_in_words(document);
  text += crossovers_text(document);
  // The explanation of one row holds all that its line of the table does.
  if (document.rows.size() > 1 || !document.rows.front().explanation) {
    text += grounds_in_words(document);
    text += "\n" + rows_text(document);
  }
  text += plans_text(document);
  for (const ForecastRow& row : document.rows) {
    if (row.explanation) text += "\n" + explanation_text(document, row);
    text += conditions_text(document, row);
  }
  return text;
}

}  // namespace ddpx
