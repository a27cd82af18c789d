// Every size of every sweep left out in turn, and forecast from the others.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
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

// What Curve leans by.
struct Leaning {
  double reach = Curve{}.reach;
  double lean = Curve{}.lean;
};

Seconds forecast(Curve& rest, Bytes bytes, const Leaning& leaning) {
  rest.reach = leaning.reach;
  rest.lean = leaning.lean;
  return rest.at(bytes);
}

std::vector<CurvePoint> without(const Sweep& sweep, std::size_t i) {
  std::vector<CurvePoint> rest = sweep.points;
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
  return rest;
}

std::vector<Leaning> candidates() {
  std::vector<Leaning> all;
  for (const double reach : {0.5, 0.65, 0.8, 1.0, 1.25}) {
    for (const double lean : {0.55, 0.7, 0.85, 1.0}) all.push_back({reach, lean});
  }
  return all;
}

bool is_better(const Errors& errors, const Errors& log_log) {
  return errors.mean() < log_log.mean() && errors.quantile(0.95) < log_log.quantile(0.95);
}

// For each class the leaning that has the least mean error from 1 MiB on over all other classes,
// among those that are better than log-log interpolation in each of them, in mean and 95th
// percentile.
std::map<std::string, Leaning> leanings(const std::vector<Sweep>& sweeps) {
  const std::vector<Leaning> all = candidates();
  std::map<std::string, std::vector<Errors>> errors;  // of every candidate
  std::map<std::string, Errors> straight;
  for (const Sweep& sweep : sweeps) {
    if (sweep.points.size() < kFewest) continue;
    auto& of_class = errors[sweep.link_class()];
    of_class.resize(all.size());
    for (std::size_t i = 0; i < sweep.points.size(); ++i) {
      const CurvePoint& point = sweep.points[i];
      if (point.bytes < kMiB) continue;
      const std::vector<CurvePoint> others = without(sweep, i);
      straight[sweep.link_class()].add(log_log(others, point.bytes) / point.time - 1.0);
      Curve rest = curve_of(sweep.call(), others);
      for (std::size_t c = 0; c < all.size(); ++c)
        of_class[c].add(forecast(rest, point.bytes, all[c]) / point.time - 1.0);
    }
  }
  std::map<std::string, Leaning> best;
  for (const auto& [judged, own] : errors) {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; c < all.size(); ++c) {
      Errors others;
      bool better = true;
      for (const auto& [name, of_class] : errors) {
        if (name == judged) continue;
        others.append(of_class[c]);
        better = better && is_better(of_class[c], straight.at(name));
      }
      if (!better || others.mean() >= least) continue;
      least = others.mean();
      best[judged] = all[c];
    }
  }
  return best;
}

struct Groups {
  std::map<std::string, std::pair<Errors, Errors>> by_class;  // model, log-log
  std::map<std::string, Errors> shipped;                      // by the leaning the programs take
  std::pair<Errors, Errors> all;
  std::pair<Errors, Errors> of_clean;
  std::pair<Errors, Errors> small;  // below 1 MiB
  std::vector<Miss> misses;
  std::size_t sweeps = 0;
  std::size_t clean_sweeps = 0;
};

Groups judged(const std::vector<Sweep>& sweeps, const std::map<std::string, Leaning>& leaning_of) {
  Groups groups;
  for (const Sweep& sweep : sweeps) {
    if (sweep.points.size() < kFewest) continue;
    ++groups.sweeps;
    const bool is_clean = clean(sweep);
    groups.clean_sweeps += is_clean ? 1U : 0U;
    for (std::size_t i = 0; i < sweep.points.size(); ++i) {
      const std::vector<CurvePoint> rest = without(sweep, i);
      const CurvePoint& point = sweep.points[i];
      Curve curve = curve_of(sweep.call(), rest);
      const double model =
          forecast(curve, point.bytes, leaning_of.at(sweep.link_class())) / point.time - 1.0;
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
      const double shipped = forecast(curve, point.bytes, {}) / point.time - 1.0;
      groups.shipped[sweep.link_class()].add(shipped);
      groups.shipped["all"].add(shipped);
      if (is_clean) groups.shipped["clean"].add(shipped);
      add(groups.by_class[sweep.link_class()]);
      if (is_clean) add(groups.of_clean);
      groups.misses.push_back({&sweep, i, model});
    }
  }
  std::sort(groups.misses.begin(), groups.misses.end(),
            [](const Miss& a, const Miss& b) { return std::abs(a.error) > std::abs(b.error); });
  return groups;
}

std::string shipped_text(const Groups& groups) {
  std::string text = fmt::format(
      "\nThe programs take {:.3g} and {:.3g} throughout: mean {} over all, {} over clean sweeps; "
      "95th percentiles by class, as above:",
      Leaning{}.reach, Leaning{}.lean, percent(groups.shipped.at("all").mean()),
      percent(groups.shipped.at("clean").mean()));
  for (const auto& [name, group] : groups.by_class)
    text += fmt::format(" {:.1f}", 100 * groups.shipped.at(name).quantile(0.95));
  return text + ".\n";
}

}  // namespace

std::string sizes_study(const std::vector<Sweep>& sweeps) {
  const std::map<std::string, Leaning> leaning_of = leanings(sweeps);
  const Groups groups = judged(sweeps, leaning_of);
  std::string text = fmt::format(
      "## Sizes that were not measured\n\nEvery size of {} public sweeps "
      "(validation/links/sweeps.json) "
      "is left out in turn and forecast from the sweep's others, by the curve the programs fit and "
      "by log-log interpolation; sizes from 1 MiB on. How the curve leans between points (its "
      "reach and its share) was chosen on the other classes of links, in brackets: the least mean "
      "error of those that are better than log-log interpolation in each of these classes, in mean "
      "and 95th percentile. (By the least mean error alone it is mostly 0.65 and 1, which leaves "
      "EFA's 95th percentile at 13.5 %.) Clean sweeps are those whose bandwidth never falls with "
      "the size.\n\n"
      "| link (reach, share) | rows | mean | log-log | 95th percentile, % | log-log |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: |\n",
      groups.sweeps);
  const auto line = [&](const std::string& name, const std::pair<Errors, Errors>& group) {
    text +=
        fmt::format("| {} | {} | {} | {} | {:.1f} | {:.1f} |\n", name, group.first.values.size(),
                    percent(group.first.mean()), percent(group.second.mean()),
                    100 * group.first.quantile(0.95), 100 * group.second.quantile(0.95));
  };
  for (const auto& [name, group] : groups.by_class) {
    const Leaning& leaning = leaning_of.at(name);
    line(fmt::format("{} ({:.3g}, {:.3g})", name, leaning.reach, leaning.lean), group);
  }
  line("all", groups.all);
  line(fmt::format("{} clean sweeps", groups.clean_sweeps), groups.of_clean);
  line("below 1 MiB", groups.small);
  text += shipped_text(groups);
  text += "\nThe worst:\n\n| error | sweep | size | cause |\n| ---: | --- | ---: | --- |\n";
  for (std::size_t i = 0; i < 12 && i < groups.misses.size(); ++i) {
    const Miss& miss = groups.misses[i];
    text += fmt::format("| {:+.0f} % | {} | {:.0f} MiB | {} |\n", 100 * miss.error,
                        miss.sweep->name, miss.sweep->points[miss.at].bytes / kMiB, cause(miss));
  }
  return text;
}

}  // namespace ddpx::study
