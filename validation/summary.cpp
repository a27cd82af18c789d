#include "validation/summary.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/conformal.hpp"
#include "validation/percentile.hpp"

namespace ddpx {
namespace {

// Scores by group, in the order in which the groups first appear in the rows.
class Groups {
 public:
  void add(const std::string& group, const Score& score) {
    const auto same = [&](const auto& entry) { return entry.first == group; };
    auto found = std::find_if(entries_.begin(), entries_.end(), same);
    if (found == entries_.end())
      found = entries_.emplace(entries_.end(), group, std::vector<Score>{});
    found->second.push_back(score);
  }

  [[nodiscard]] std::vector<GroupSummary> summaries() const {
    std::vector<GroupSummary> result;
    for (const auto& [group, scores] : entries_) result.push_back({group, summarise(scores)});
    return result;
  }

 private:
  std::vector<std::pair<std::string, std::vector<Score>>> entries_;
};

std::string width_name(double width) {
  return "width " + std::to_string(static_cast<long long>(std::llround(width)));
}

// How far the truth lies from the forecast, relative to the forecast: what an interval around the
// forecast has to cover.
double nonconformity(const ComparedRow& row) {
  return row.measured.value / row.forecast.step_time_s.value - 1.0;
}

ConformalGroup conformal_group(std::span<const ComparedRow* const> rows) {
  ConformalGroup group;
  group.link = rows.front()->run->link_name();
  group.regime = rows.front()->regime;
  std::vector<Score> scores;
  std::vector<double> errors;
  std::vector<Miss> misses;
  for (const ComparedRow* row : rows) {
    scores.push_back(score(*row));
    errors.push_back(nonconformity(*row));
    misses.push_back({row->network, std::abs(errors.back())});
  }
  group.summary = summarise(scores);
  group.half_width = conformal_half_width(errors, kIntervalCoverage);
  group.coverage = coverage_leaving_networks_out(misses);
  return group;
}

std::vector<ConformalGroup> by_link_and_regime(const Comparison& comparison) {
  std::vector<std::vector<const ComparedRow*>> groups;
  for (const ComparedRow& row : comparison.rows) {
    const auto same = [&](const auto& group) {
      return group.front()->run->link_name() == row.run->link_name() &&
             group.front()->regime == row.regime;
    };
    auto found = std::find_if(groups.begin(), groups.end(), same);
    if (found == groups.end()) found = groups.emplace(groups.end());
    found->push_back(&row);
  }
  std::vector<ConformalGroup> result;
  for (const auto& group : groups) result.push_back(conformal_group(group));
  return result;
}

}  // namespace

Score score(const ComparedRow& row) {
  return {row.error, row.forecast.step_time_s.contains(row.measured.value),
          row.forecast.step_time_s.relative_half_width(), row.verdict_right,
          row.forecast.verdict == Verdict::too_close};
}

ErrorSummary summarise(std::span<const Score> scores) {
  ErrorSummary summary;
  summary.rows = scores.size();
  if (scores.empty()) return summary;
  std::vector<double> errors;
  std::vector<double> sizes;
  std::vector<double> half_widths;
  std::size_t inside = 0;
  for (const Score& score : scores) {
    errors.push_back(score.error);
    sizes.push_back(std::abs(score.error));
    half_widths.push_back(score.half_width);
    if (score.inside) ++inside;
    if (!score.verdict_right) continue;
    ++summary.verdicts_judged;
    if (*score.verdict_right) ++summary.verdicts_right;
    if (score.too_close) ++summary.too_close;
  }
  summary.max_abs_error = *std::max_element(sizes.begin(), sizes.end());
  summary.p95_abs_error = percentile(sizes, 0.95);
  summary.median_abs_error = percentile(std::move(sizes), 0.5);
  summary.median_error = percentile(std::move(errors), 0.5);
  summary.median_half_width = percentile(std::move(half_widths), 0.5);
  summary.interval_coverage = static_cast<double>(inside) / static_cast<double>(scores.size());
  return summary;
}

std::vector<const ComparedRow*> worst_first(std::span<const ComparedRow> rows) {
  std::vector<const ComparedRow*> order;
  for (const ComparedRow& row : rows) order.push_back(&row);
  std::stable_sort(order.begin(), order.end(), [](const ComparedRow* a, const ComparedRow* b) {
    return std::abs(a->error) > std::abs(b->error);
  });
  return order;
}

void summarise(Comparison& comparison) {
  Groups regimes;
  Groups links;
  Groups families;
  Groups strategies;
  Groups widths;
  std::vector<Score> all;
  for (const ComparedRow& row : comparison.rows) {
    const Score its = score(row);
    all.push_back(its);
    regimes.add(std::string(name(row.regime)), its);
    links.add(std::string(row.run->link_name()), its);
    families.add(row.family, its);
    strategies.add(describe(row.run->job.strategy), its);
    widths.add(row.width > 0 ? width_name(row.width) : "no width", its);
  }
  comparison.summary = summarise(all);
  comparison.by_regime = regimes.summaries();
  comparison.by_link = links.summaries();
  comparison.by_family = families.summaries();
  comparison.by_strategy = strategies.summaries();
  comparison.by_width = widths.summaries();
  comparison.by_link_and_regime = by_link_and_regime(comparison);
}

}  // namespace ddpx
