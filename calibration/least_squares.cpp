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

}  // namespace

double CountedCosts::of(const CountedRow& row) const {
  double sum = 0;
  for (std::size_t j = 0; j < each.size(); ++j) sum += each[j] * row.counts[j];
  return sum;
}

CountedCosts counted_costs(std::span<const CountedRow> rows) {
  if (rows.empty()) return {};
  const auto m = static_cast<Eigen::Index>(rows.size());
  const auto n = static_cast<Eigen::Index>(rows.front().counts.size());
  Eigen::MatrixXd counts(m, n);
  Eigen::VectorXd values(m);
  for (Eigen::Index i = 0; i < m; ++i) {
    const CountedRow& row = rows[static_cast<std::size_t>(i)];
    values(i) = row.value / row.scale;
    for (Eigen::Index j = 0; j < n; ++j)
      counts(i, j) = row.counts[static_cast<std::size_t>(j)] / row.scale;
  }
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

}  // namespace ddpx
