#include "profiler/measure.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "model/error.hpp"

namespace ddpx {
namespace {

constexpr int kLargestBatch = 64;
// One call of the backend stays below this, so that whoever watches the ranks sees them move on.
constexpr double kBatchSeconds = 0.5;
// Noise this many times the target is worth a remark: the rest of the fit sees it in the spread.
constexpr double kNoisy = 3;
// With more samples than this apart from the others it is open which of them are the disturbed
// ones.
constexpr std::size_t kManyDropped = 4;  // one in so many

void require(bool good, const char* field, double value, const char* accepted) {
  if (good) return;
  char text[160];
  std::snprintf(text, sizeof text, "%g is not accepted: %s", value, accepted);
  throw InputError(field, text);
}

std::string noisy(double error, std::size_t samples, double wanted) {
  char text[128];
  std::snprintf(text, sizeof text,
                "noisy: median known to %.1f %% after %zu samples, %.1f %% wanted", 100 * error,
                samples, 100 * wanted);
  return text;
}

std::string disturbed(std::size_t dropped, std::size_t samples) {
  return "disturbed: " + std::to_string(dropped) + " of " + std::to_string(samples) +
         " samples lie apart from the others and are left out";
}

}  // namespace

std::string_view name(Stopped stopped) {
  switch (stopped) {
    case Stopped::quiet:
      return "quiet";
    case Stopped::time:
      return "time";
    case Stopped::count:
      return "count";
  }
  return "?";
}

StoppingRule::StoppingRule(const StoppingOptions& options) : options_(options) {
  require(options.noise > 0 && options.noise < 1, "noise", options.noise, "between 0 and 1");
  require(options.fewest >= 3, "fewest", options.fewest, "3 samples or more");
  require(options.most >= options.fewest, "most", options.most, "at least as many as `fewest`");
  require(options.time.value() > 0 && std::isfinite(options.time.value()), "time",
          options.time.value(), "more than 0 seconds");
}

void StoppingRule::add(std::span<const double> seconds) {
  samples_.insert(samples_.end(), seconds.begin(), seconds.end());
  for (double s : seconds) sum_ += s;
}

std::optional<Stopped> StoppingRule::stopped() const {
  if (samples_.size() < static_cast<std::size_t>(options_.fewest)) return std::nullopt;
  if (relative_error_of_median(samples_) <= options_.noise) return Stopped::quiet;
  if (sum_ >= options_.time.value()) return Stopped::time;
  if (samples_.size() >= static_cast<std::size_t>(options_.most)) return Stopped::count;
  return std::nullopt;
}

int StoppingRule::next() const {
  const int taken = static_cast<int>(samples_.size());
  // The first sample alone says what the others will cost.
  if (taken == 0) return 1;
  const double each = sum_ / taken;
  const double seconds = taken < options_.fewest
                             ? kBatchSeconds
                             : std::min(kBatchSeconds, options_.time.value() - sum_);
  const double affordable = each > 0 ? seconds / each : kLargestBatch;
  const int wanted = taken < options_.fewest ? options_.fewest - taken : taken;
  const int room = std::max(1, options_.most - taken);
  return std::clamp(static_cast<int>(std::min<double>(affordable, kLargestBatch)), 1,
                    std::min(wanted, room));
}

Measured measure(const std::function<std::vector<double>(int)>& sample,
                 const StoppingOptions& options) {
  StoppingRule rule(options);
  while (!rule.stopped()) rule.add(sample(rule.next()));
  Measured measured;
  measured.stopped = *rule.stopped();
  for (double s : rule.samples()) measured.spent += Seconds(s);
  Screened screened = screen(rule.samples());
  measured.seconds = std::move(screened.kept);
  measured.dropped = std::move(screened.dropped);
  measured.remark = std::move(screened.remark);
  measured.relative_error = relative_error_of_median(measured.seconds);
  if (!measured.remark && measured.dropped.size() * kManyDropped > rule.samples().size())
    measured.remark = disturbed(measured.dropped.size(), rule.samples().size());
  if (!measured.remark && measured.relative_error > kNoisy * options.noise)
    measured.remark = noisy(measured.relative_error, rule.samples().size(), options.noise);
  return measured;
}

}  // namespace ddpx
