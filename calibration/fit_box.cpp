#include "calibration/fit_box.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>

#include "model/quantity.hpp"
#include "profiler/screen.hpp"

namespace ddpx {
namespace {

// A GPU this much slower than the median of the others is odd: boards of one kind differ by 1-2 %
// in clock, and a step waits for the slowest (docs/model.md, slowest rank).
constexpr double kOddShare = 0.03;
// Pairs through one more switch or bridge lose this much and more.
constexpr double kOddPair = 0.20;

// printf into a text.
template <class... Values>
std::string formatted(const char* format, Values... values) {
  char text[400];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

// The position of the value that exceeds the median of the others by `share`, and by how much; the
// furthest where several do.
struct Odd {
  std::size_t index = 0;
  double excess = 0;
};

std::optional<Odd> odd_one(const std::vector<double>& seconds, double share) {
  std::optional<Odd> odd;
  for (std::size_t i = 0; i < seconds.size() && seconds.size() > 1; ++i) {
    std::vector<double> others = seconds;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const double excess = seconds[i] / median(others) - 1;
    if (excess > share && (!odd || excess > odd->excess)) odd = Odd{i, excess};
  }
  return odd;
}

std::string state_words(const RankLoad& load) {
  std::string text;
  const auto add = [&](const char* format, const std::optional<double>& value) {
    if (value) text += (text.empty() ? "" : ", ") + formatted(format, *value);
  };
  add("%.0f MHz", load.clock_mhz);
  add("%.0f W", load.power_w);
  if (load.power_w) add("of %.0f W", load.power_limit_w);
  add("%.0f C", load.celsius);
  if (!load.slowed_by.empty())
    text += (text.empty() ? "slowed by " : ", slowed by ") + load.slowed_by;
  return text.empty() ? text : " (" + text + ")";
}

// The last quarter: the first seconds heat the device.
std::vector<double> settled(const RankLoad& load, Clocks clocks) {
  const auto& all = load.seconds;
  const std::size_t skipped = clocks == Clocks::sustained ? all.size() * 3 / 4 : 0;
  return {all.begin() + static_cast<std::ptrdiff_t>(skipped), all.end()};
}

std::string load_note(const LoadSample& sample) {
  std::vector<double> seconds;
  for (const RankLoad& rank : sample.ranks) seconds.push_back(median(settled(rank, sample.clocks)));
  const auto rate = [&](double s) { return sample.product.flops().value() / s / 1e12; };
  const auto slowest = std::max_element(seconds.begin(), seconds.end());
  std::string text = formatted(
      "%s products on %zu GPU%s at once, %s:", std::string(name(sample.product.dtype)).c_str(),
      seconds.size(), seconds.size() == 1 ? "" : "s", std::string(name(sample.clocks)).c_str());
  for (std::size_t i = 0; i < seconds.size(); ++i)
    text += formatted("%s %.3g", i == 0 ? "" : ",", rate(seconds[i]));
  text += " TFLOP/s";
  if (const auto odd = odd_one(seconds, kOddShare)) {
    text += formatted("; GPU %zu is the odd one, %.0f %% slower than the others", odd->index,
                      100 * odd->excess) +
            state_words(sample.ranks[odd->index]);
  } else {
    text += state_words(sample.ranks[static_cast<std::size_t>(slowest - seconds.begin())]);
  }
  std::size_t dropped = 0;
  for (const RankLoad& rank : sample.ranks) dropped += rank.dropped.size();
  if (dropped > 0) text += formatted("; %zu slowed windows kept apart", dropped);
  return text;
}

// What the longer load takes over the short one.
std::optional<std::string> heat_note(const std::vector<LoadSample>& loads) {
  const auto of = [&](Clocks clocks) {
    return std::find_if(loads.begin(), loads.end(),
                        [&](const LoadSample& l) { return l.clocks == clocks; });
  };
  const auto burst = of(Clocks::burst);
  const auto sustained = of(Clocks::sustained);
  if (burst == loads.end() || sustained == loads.end()) return std::nullopt;
  const auto slowest = [](const LoadSample& sample) {
    double most = 0;
    for (const RankLoad& rank : sample.ranks)
      most = std::max(most, median(settled(rank, sample.clocks)));
    return most / sample.product.flops().value();
  };
  return formatted("products of half a minute take %.3f times those of a burst",
                   slowest(*sustained) / slowest(*burst));
}

std::string pairs_note(const std::vector<PairSample>& pairs) {
  std::vector<double> seconds;
  for (const PairSample& pair : pairs) seconds.push_back(median(pair.seconds));
  const auto rate = [&](double s) { return pairs.front().bytes.value() / s / 1e9; };
  const auto [fastest, slowest] = std::minmax_element(seconds.begin(), seconds.end());
  std::string text =
      formatted("%zu pair%s of GPUs, each way while both send: %.3g to %.3g GB/s", pairs.size(),
                pairs.size() == 1 ? "" : "s", rate(*slowest), rate(*fastest));
  if (const auto odd = odd_one(seconds, kOddPair)) {
    text += formatted("; GPUs %d and %d are the slowest, %.2f times the others' time",
                      pairs[odd->index].first, pairs[odd->index].second, 1 + odd->excess);
  }
  return text;
}

std::string size_words(Bytes bytes) {
  return bytes < kMiB ? formatted("%.0f KiB", bytes / kKiB) : formatted("%.0f MiB", bytes / kMiB);
}

// Both slowdowns, as fit_beside.hpp takes them.
std::string copy_note(const CopyBesideSample& sample) {
  const auto slowdown = [](const std::vector<double>& beside, const std::vector<double>& alone) {
    return median(beside) / median(alone);
  };
  return formatted(
      "%s: a copy of %s beside %s of %s takes %.2f times its time, the collective %.2f%s",
      sample.link.c_str(), size_words(sample.copy.bytes).c_str(),
      std::string(name(sample.call.kind)).c_str(), size_words(sample.call.bytes).c_str(),
      slowdown(sample.copy_beside_seconds, sample.copy_alone_seconds),
      slowdown(sample.collective_beside_seconds, sample.collective_alone_seconds),
      sample.kernel_share > 0 ? ", by kernel records" : "");
}

std::string run_words(const CollectiveRun& run) {
  return run.algorithm + " " + run.protocol +
         (run.channels > 0 ? formatted(" on %d", run.channels) : std::string());
}

// One note a link, collective and dtype: the sizes from which on NCCL does something else.
std::vector<std::string> report_notes(const std::vector<CollectiveSample>& samples) {
  std::map<std::string, std::map<double, CollectiveRun>> kinds;
  for (const CollectiveSample& s : samples) {
    if (!s.reported || s.call.rested) continue;
    kinds[s.link + " " + std::string(name(s.call.kind)) + " " + std::string(name(s.call.dtype))]
         [s.call.bytes.value()] = *s.reported;
  }
  std::vector<std::string> notes;
  for (const auto& [kind, runs] : kinds) {
    std::string text = kind + " as NCCL reports:";
    std::string before;
    for (const auto& [bytes, run] : runs) {
      const std::string words = run_words(run);
      if (words == before) continue;
      text += (before.empty() ? " " : ", ") + words + " from " + size_words(Bytes(bytes));
      before = words;
    }
    notes.push_back(std::move(text));
  }
  return notes;
}

}  // namespace

std::vector<std::string> box_notes(const Measurements& measurements) {
  std::vector<std::string> notes;
  for (const LoadSample& load : measurements.loads) notes.push_back(load_note(load));
  if (const auto heat = heat_note(measurements.loads)) notes.push_back(*heat);
  if (!measurements.pairs.empty()) notes.push_back(pairs_note(measurements.pairs));
  for (const CopyBesideSample& sample : measurements.copy_besides)
    notes.push_back(copy_note(sample));
  for (std::string& note : report_notes(measurements.collectives)) notes.push_back(std::move(note));
  return notes;
}

}  // namespace ddpx
