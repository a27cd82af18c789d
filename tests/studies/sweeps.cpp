#include "tests/studies/sweeps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "calibration/fit.hpp"
#include "nlohmann/json.hpp"

namespace ddpx::study {

std::string Sweep::link_class() const {
  return link + (nodes > 1 ? " between nodes" : " inside a node");
}

CollectiveCall Sweep::call(Bytes bytes) const {
  return {collective_from(collective).value_or(Collective::all_reduce), DType::fp32, bytes, ranks};
}

std::vector<Sweep> read_sweeps(const std::string& path) {
  std::ifstream file(path);
  const auto document = nlohmann::json::parse(file);
  std::vector<Sweep> sweeps;
  for (const auto& row : document.at("sweeps")) {
    Sweep sweep{row.at("name"),
                row.at("machine"),
                row.at("collective"),
                row.at("ranks"),
                row.at("nodes"),
                row.at("link"),
                {}};
    for (const auto& point : row.at("points"))
      sweep.points.push_back({Bytes(point.at(0)), Seconds(point.at(1)), false, ""});
    sweeps.push_back(std::move(sweep));
  }
  return sweeps;
}

Curve curve_of(const CollectiveCall& call, const std::vector<CurvePoint>& points) {
  // All points: with one left out, a step between protocols looks like a misfit of its neighbour.
  return {call, fit_curve(points).lines, points};
}

Seconds log_log(const std::vector<CurvePoint>& points, Bytes bytes) {
  std::size_t i = 1;
  while (i + 1 < points.size() && points[i].bytes < bytes) ++i;
  const auto x = [&](std::size_t k) { return std::log(points[k].bytes.value()); };
  const auto y = [&](std::size_t k) { return std::log(points[k].time.value()); };
  const double f = (std::log(bytes.value()) - x(i - 1)) / (x(i) - x(i - 1));
  return Seconds(std::exp(y(i - 1) + f * (y(i) - y(i - 1))));
}

double Errors::mean() const {
  double sum = 0;
  for (double value : values) sum += std::abs(value);
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double Errors::quantile(double q) const {
  if (values.empty()) return 0;
  std::vector<double> sorted;
  for (double value : values) sorted.push_back(std::abs(value));
  std::sort(sorted.begin(), sorted.end());
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

std::string percent(double fraction) {
  if (std::abs(fraction) < 0.0995) return fmt::format("{:.1f} %", 100 * fraction);
  return fmt::format("{:.0f} %", 100 * fraction);
}

}  // namespace ddpx::study
