// The standard errors of carrying a curve to another GPU count, from tables of several machines.
#include <fmt/format.h>

#include <cmath>

#include "model/estimate.hpp"
#include "model/link.hpp"
#include "tests/studies/counts.hpp"
#include "tests/studies/studies.hpp"

namespace ddpx::study {
namespace {

using CountRows = std::vector<CountRow>;

constexpr double kWanted = 0.9;

// The share of the time that latency and protocol decide, 1 at most: an error of theirs alone.
double protocol_share(const CountRow& row, CarryOver carry) {
  carry.error = 0;
  carry.protocol_error = 1;
  carry.error_per_doubling = 0;
  const double doublings = std::log2(static_cast<double>(row.to.ranks) / row.from.ranks);
  return std::log1p(row.carried(carry).relative_error) / std::sqrt(doublings);
}

bool inside(const CountRow& row, const CarryOver& carry) {
  const CarriedTime forecast = row.carried(carry);
  const double width =
      kNormalQuantile90 * std::log1p(std::hypot(forecast.relative_error, row.curve_error));
  return std::abs(std::log(forecast.time / row.measured)) <= width;
}

double covered(const std::vector<CountRows>& machines, const CarryOver& carry) {
  double sum = 0;
  double counted = 0;
  for (const CountRows& rows : machines) {
    if (rows.empty()) continue;
    double held = 0;
    for (const CountRow& row : rows) held += inside(row, carry) ? 1 : 0;
    sum += held / static_cast<double>(rows.size());
    counted += 1;
  }
  return counted > 0 ? sum / counted : 1;
}

// The least value of `constant` that covers enough: more error never covers less.
void widen(const std::vector<CountRows>& machines, CarryOver& carry, double CarryOver::*constant) {
  constexpr double kMost = 2;
  double low = 0;
  double high = kMost;
  carry.*constant = 0;
  if (covered(machines, carry) >= kWanted) return;
  for (int i = 0; i < 30; ++i) {
    carry.*constant = 0.5 * (low + high);
    (covered(machines, carry) >= kWanted ? high : low) = carry.*constant;
  }
  carry.*constant = high;
}

CountRows from_1_mib(const CountRows& rows, bool large) {
  CountRows some;
  for (const CountRow& row : rows) {
    if ((row.bytes >= Bytes(kMiB)) == large) some.push_back(row);
  }
  return some;
}

}  // namespace

CarryOver with_errors(const std::vector<CountRows>& machines, CarryOver carry) {
  std::vector<CountRows> protocol(machines.size());
  std::vector<CountRows> others(machines.size());
  for (std::size_t m = 0; m < machines.size(); ++m) {
    for (const CountRow& row : machines[m])
      (protocol_share(row, carry) > 1 - 1e-9 ? protocol : others)[m].push_back(row);
  }
  for (int round = 0; round < 4; ++round) {  // each moves the other's little
    widen(protocol, carry, &CarryOver::protocol_error);
    widen(others, carry, &CarryOver::error);
  }
  return carry;
}

std::string count_errors(const std::vector<Sweep>& sweeps) {
  const CarryOver& shipped = carry_over(Topology::nvlink);
  std::vector<CountRows> all;
  std::string text =
      "machine    rows from 1 MiB  covered  below  covered  nine in ten: error  protocol\n";
  const auto line = [&](const std::string& name, const std::vector<CountRows>& machines) {
    std::vector<CountRows> large;
    std::vector<CountRows> small;
    std::size_t counts[2] = {0, 0};
    for (const CountRows& rows : machines) {
      large.push_back(from_1_mib(rows, true));
      small.push_back(from_1_mib(rows, false));
      counts[0] += large.back().size();
      counts[1] += small.back().size();
    }
    const CarryOver fitted = with_errors(machines, shipped);
    const CarryOver from_large = with_errors(large, shipped);
    text += fmt::format(
        "{:<10} {:>15}  {:>7}  {:>5}  {:>7}  {:.3f} {:.3f}, from 1 MiB {:.3f} {:.3f}\n", name,
        counts[0], percent(covered(large, shipped)), counts[1], percent(covered(small, shipped)),
        fitted.error, fitted.protocol_error, from_large.error, from_large.protocol_error);
  };
  const Tables tables = tables_of(sweeps);
  for (const auto& [machine, by_kind] : tables) {
    all.push_back(ring_rows_of(machine, tables, shipped));
    line(machine, {all.back()});
  }
  line("all alike", all);
  return text;
}

}  // namespace ddpx::study
