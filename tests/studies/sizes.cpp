// Every size of every sweep left out in turn, and forecast from the others.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/studies/studies.hpp"

namespace ddpx::study {
namespace {

constexpr std::size_t kFewest = 4;  // points of a sweep

struct Miss {
  const Sweep* sweep;
  std::size_t at;
  double error;
};

// Bandwidth never falls with the size, from 1 MiB on.
bool clean(const Sweep& sweep) {
  double last = 0;
  for (const CurvePoint& point : sweep.points) {
    if (point.bytes < kMiB) continue;
    const double rate = (point.bytes / point.time).value();
    if (rate < last) return false;
    last = rate;
  }
  return true;
}

std::string cause(const Miss& miss) {
  const auto& points = miss.sweep->points;
  const auto rate = [&](std::size_t i) { return (points[i].bytes / points[i].time).value(); };
  if (miss.at == 0 || miss.at + 1 == points.size()) return "end of the sweep: nothing beyond it";
  const double before = rate(miss.at) / rate(miss.at - 1);
  const double after = rate(miss.at + 1) / rate(miss.at);
  if (before < 1 && after > 1)
    return fmt::format("a dip of its own: {:.2f} and {:.2f} of its neighbours' bandwidth", before,
                       1 / after);
  if (before > 1 && after < 1)
    return fmt::format("a peak of its own: {:.2f} and {:.2f} of its neighbours' bandwidth", before,
                       1 / after);
  return fmt::format("NCCL changes protocol or algorithm: bandwidth x{:.2f} below, x{:.2f} above",
                     before, after);
}

struct Groups {
  std::map<std::string, std::pair<Errors, Errors>> by_class;  // model, log-log
  std::pair<Errors, Errors> all;
  std::pair<Errors, Errors> of_clean;
  std::pair<Errors, Errors> small;  // below 1 MiB
  std::vector<Miss> misses;
  std::size_t sweeps = 0;
  std::size_t clean_sweeps = 0;
};

Groups judged(const std::vector<Sweep>& sweeps) {
  Groups groups;
  for (const Sweep& sweep : sweeps) {
    if (sweep.points.size() < kFewest) continue;
    ++groups.sweeps;
    const bool is_clean = clean(sweep);
    groups.clean_sweeps += is_clean ? 1U : 0U;
    for (std::size_t i = 0; i < sweep.points.size(); ++i) {
      std::vector<CurvePoint> rest = sweep.points;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
      const CurvePoint& point = sweep.points[i];
      const double model = curve_of(sweep.call(), rest).at(point.bytes) / point.time - 1.0;
      const double straight = log_log(rest, point.bytes) / point.time - 1.0;
      const auto add = [&](std::pair<Errors, Errors>& group) {
        group.first.add(model);
        group.second.add(straight);
      };
      if (point.bytes < kMiB) {
        add(groups.small);
        continue;
      }
      add(groups.all);
      add(groups.by_class[sweep.link_class()]);
      if (is_clean) add(groups.of_clean);
      groups.misses.push_back({&sweep, i, model});
    }
  }
  std::sort(groups.misses.begin(), groups.misses.end(),
            [](const Miss& a, const Miss& b) { return std::abs(a.error) > std::abs(b.error); });
  return groups;
}

}  // namespace

std::string sizes_study(const std::vector<Sweep>& sweeps) {
  const Groups groups = judged(sweeps);
  std::string text = fmt::format(
      "## Sizes that were not measured\n\nEvery size of {} public sweeps "
      "(validation/links/sweeps.json) "
      "is left out in turn and forecast from the sweep's others, by the curve the programs fit and "
      "by "
      "log-log interpolation; sizes from 1 MiB on. Clean sweeps are those whose bandwidth never "
      "falls "
      "with the size.\n\n"
      "| link | rows | mean | log-log | 95th percentile | log-log |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: |\n",
      groups.sweeps);
  const auto line = [&](const std::string& name, const std::pair<Errors, Errors>& group) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", name, group.first.values.size(),
                        percent(group.first.mean()), percent(group.second.mean()),
                        percent(group.first.quantile(0.95)), percent(group.second.quantile(0.95)));
  };
  for (const auto& [name, group] : groups.by_class) line(name, group);
  line("all", groups.all);
  line(fmt::format("{} clean sweeps", groups.clean_sweeps), groups.of_clean);
  line("below 1 MiB", groups.small);
  text += "\nThe worst:\n\n| error | sweep | size | cause |\n| ---: | --- | ---: | --- |\n";
  for (std::size_t i = 0; i < 12 && i < groups.misses.size(); ++i) {
    const Miss& miss = groups.misses[i];
    text += fmt::format("| {:+.0f} % | {} | {:.0f} MiB | {} |\n", 100 * miss.error,
                        miss.sweep->name, miss.sweep->points[miss.at].bytes / kMiB, cause(miss));
  }
  return text;
}

}  // namespace ddpx::study
