#include "calibration/least_squares.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

namespace ddpx {
namespace {

constexpr double kRankThreshold = 1e-6;
// A further cost must leave this much less; what is below is rounding.
constexpr double kWorthIt = 1e-9;
constexpr double kRounding = 1e-18;

std::vector<Eigen::Index> members(unsigned set) {
  std::vector<Eigen::Index> columns;
  for (Eigen::Index j = 0; set >> j != 0; ++j)
    if ((set >> j & 1U) != 0) columns.push_back(j);
  return columns;
}

struct Scaled {
  Eigen::MatrixXd counts;
  Eigen::VectorXd values;
};

Scaled scaled(std::span<const CountedRow> rows) {
  const auto m = static_cast<Eigen::Index>(rows.size());
  const auto n = static_cast<Eigen::Index>(rows.front().counts.size());
  Scaled all{Eigen::MatrixXd(m, n), Eigen::VectorXd(m)};
  for (Eigen::Index i = 0; i < m; ++i) {
    const CountedRow& row = rows[static_cast<std::size_t>(i)];
    all.values(i) = row.value / row.scale;
    for (Eigen::Index j = 0; j < n; ++j)
      all.counts(i, j) = row.counts[static_cast<std::size_t>(j)] / row.scale;
  }
  return all;
}

// Least squares of some of the columns, 0 for the others.
Eigen::VectorXd solved(const Eigen::MatrixXd& counts, const Eigen::VectorXd& values,
                       const std::vector<Eigen::Index>& columns) {
  if (columns.empty()) return Eigen::VectorXd::Zero(counts.cols());
  Eigen::MatrixXd some(counts.rows(), static_cast<Eigen::Index>(columns.size()));
  for (Eigen::Index j = 0; j < some.cols(); ++j)
    some.col(j) = counts.col(columns[static_cast<std::size_t>(j)]);
  const Eigen::VectorXd costs = some.colPivHouseholderQr().solve(values);
  Eigen::VectorXd all = Eigen::VectorXd::Zero(counts.cols());
  for (Eigen::Index j = 0; j < some.cols(); ++j)
    all(columns[static_cast<std::size_t>(j)]) = costs(j);
  return all;
}

}  // namespace

double CountedCosts::of(const CountedRow& row) const {
  double sum = 0;
  for (std::size_t j = 0; j < each.size(); ++j) sum += each[j] * row.counts[j];
  return sum;
}

CountedCosts counted_costs(std::span<const CountedRow> rows) {
  if (rows.empty()) return {};
  const auto [counts, values] = scaled(rows);
  const Eigen::Index m = counts.rows();
  const Eigen::Index n = counts.cols();
  CountedCosts best{std::vector<double>(static_cast<std::size_t>(n), 0.0),
                    std::vector<double>(static_cast<std::size_t>(n), 0.0), 0};
  const double nothing = kRounding * values.squaredNorm();
  double least = values.squaredNorm() / static_cast<double>(m);  // variance that is left
  best.residual = std::sqrt(least);
  for (unsigned set = 1; set < 1U << static_cast<unsigned>(n); ++set) {
    const std::vector<Eigen::Index> columns = members(set);
    const auto k = static_cast<Eigen::Index>(columns.size());
    if (k > m) continue;
    Eigen::MatrixXd some(m, k);
    Eigen::VectorXd lengths(k);
    for (Eigen::Index j = 0; j < k; ++j) {
      some.col(j) = counts.col(columns[static_cast<std::size_t>(j)]);
      lengths(j) = some.col(j).norm();
      if (lengths(j) > 0) some.col(j) /= lengths(j);
    }
    Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(some);
    qr.setThreshold(kRankThreshold);
    if (qr.rank() < k) continue;
    const Eigen::VectorXd costs = qr.solve(values);
    if (costs.minCoeff() < 0) continue;
    const double left = (some * costs - values).squaredNorm();
    const double variance = left / static_cast<double>(std::max<Eigen::Index>(1, m - k));
    if (variance > least * (1 - kWorthIt) - nothing) continue;
    least = variance;
    best.each.assign(best.each.size(), 0.0);
    best.errors.assign(best.errors.size(), 0.0);
    best.residual = std::sqrt(left / static_cast<double>(m));
    const Eigen::MatrixXd spread = (some.transpose() * some).inverse();
    for (Eigen::Index j = 0; j < k; ++j) {
      const auto at = static_cast<std::size_t>(columns[static_cast<std::size_t>(j)]);
      best.each[at] = costs(j) / lengths(j);
      best.errors[at] = m > k ? std::sqrt(variance * spread(j, j)) / lengths(j) : best.each[at];
    }
  }
  return best;
}

CountedCosts costs_not_below_zero(std::span<const CountedRow> rows) {
  if (rows.empty()) return {};
  auto [counts, values] = scaled(rows);
  Eigen::VectorXd lengths = counts.colwise().norm();
  for (Eigen::Index j = 0; j < counts.cols(); ++j)
    if (lengths(j) > 0) counts.col(j) /= lengths(j);
  Eigen::VectorXd costs = Eigen::VectorXd::Zero(counts.cols());
  std::vector<Eigen::Index> columns;
  // Every round lowers the squares; the bound is against rounding.
  for (Eigen::Index round = 0; round < 4 * counts.cols(); ++round) {
    Eigen::VectorXd gain = counts.transpose() * (values - counts * costs);
    for (const Eigen::Index j : columns) gain(j) = 0;
    Eigen::Index enters = 0;
    if (!(gain.maxCoeff(&enters) > kWorthIt * values.norm())) break;
    columns.push_back(enters);
    Eigen::VectorXd next = solved(counts, values, columns);
    while (next.minCoeff() < 0) {
      // As far as the first column that reaches zero, which leaves: no pass is without one.
      double step = 1;
      std::size_t first = 0;
      for (std::size_t i = 0; i < columns.size(); ++i) {
        const Eigen::Index j = columns[i];
        if (!(next(j) < 0)) continue;
        const double part = costs(j) / (costs(j) - next(j));
        if (part > step) continue;
        step = part;
        first = i;
      }
      costs = (costs + step * (next - costs)).cwiseMax(0.0);
      costs(columns[first]) = 0;
      columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(first));
      next = solved(counts, values, columns);
    }
    costs = next;
  }
  CountedCosts fitted;
  fitted.residual =
      std::sqrt((counts * costs - values).squaredNorm() / static_cast<double>(counts.rows()));
  fitted.errors.assign(static_cast<std::size_t>(costs.size()), 0.0);
  for (Eigen::Index j = 0; j < costs.size(); ++j)
    fitted.each.push_back(lengths(j) > 0 ? costs(j) / lengths(j) : 0);
  return fitted;
}

}  // namespace ddpx
