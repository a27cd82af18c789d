#include "predict/ranking_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "predict/text.hpp"
#include "predict/words.hpp"

namespace ddpx {
namespace {

std::string printed(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// "+45 (41..49)", "none (-1..2)".
std::string gain_text(const RankedStrategy& row) {
  if (describe(row.strategy) == "ddp") return "-";
  const std::string range = " (" + printed("%.0f", 100 * row.gain.low) + ".." +
                            printed("%.0f", 100 * row.gain.high) + ")";
  return (row.verdict == Gain::none ? "none" : printed("%+.0f", 100 * row.gain.value)) + range;
}

// Four characters up to 9999 GB.
std::string gigabytes(Bytes size) {
  const double gb = size.value() / 1e9;
  return printed(gb < 10 ? "%.2f" : (gb < 100 ? "%.1f" : "%.0f"), gb);
}

// The words that --strategy takes, without the one that goes without saying.
std::string short_strategy(const Strategy& strategy) {
  std::string text = describe(strategy);
  if (text.starts_with("ddp,")) text.erase(0, 4);
  return text;
}

std::string marks(const RankedStrategy& row) {
  return std::string(row.on_front ? "*" : "") + (row.validated ? "" : "?");
}

std::string table(const std::vector<RankedStrategy>& rows, bool fits) {
  TextTable table({{"", true},
                   {"strategy", true},
                   {"step"},
                   {"+-%"},
                   {"per s"},
                   {"gain, %"},
                   {"GB"},
                   {"batch"}},
                  2);
  for (const RankedStrategy& row : rows) {
    if (row.fits.value_or(true) != fits) continue;
    table.add({marks(row), short_strategy(row.strategy), time_text(Seconds(row.step_time_s.value)),
               printed("%.0f", 100 * row.step_time_s.relative_half_width()),
               amount_text(row.samples_per_s.value), gain_text(row), gigabytes(row.memory.total()),
               amount_text(row.effective_batch)});
  }
  return table.text();
}

std::string memory_words(const RankingRow& row) {
  if (row.memory.value() <= 0) return "unknown; --gpu-memory tells what fits";
  return size_text(row.memory) + " (" + printable(row.memory_from) + ")";
}

}  // namespace

std::string ranking_text(const ForecastDocument& document, const RankingRow& row) {
  const Job& job = row.of.job;
  const std::vector<RankedStrategy>& all = row.ranking.strategies;
  std::string text = wrapped(
      "Strategies on " + setting_text(job.gpus, document.device, row.of.link) + ", training " +
      printable(row.of.network) + " at batch " + count_text(job.batch_per_rank) +
      (job.scaling == Scaling::strong ? " of all ranks" : " per rank") + ", " +
      std::string(name(job.dtype)) + ", " + std::string(name(job.optimizer)) +
      "; memory of a GPU: " + memory_words(row));
  text += "\n";
  const auto some = [&](bool fits) {
    return std::any_of(all.begin(), all.end(),
                       [&](const RankedStrategy& r) { return r.fits.value_or(true) == fits; });
  };
  if (some(true)) text += table(all, true);
  if (some(false)) {
    text += (some(true) ? "\nDo not fit in " : "Nothing fits in ") + size_text(row.memory) + ":\n" +
            table(all, false);
  }
  if (!some(true)) {
    const auto least = std::min_element(all.begin(), all.end(),
                                        [](const RankedStrategy& a, const RankedStrategy& b) {
                                          return a.memory.total() < b.memory.total();
                                        });
    text += "\n" + wrapped("The least is what " + short_strategy(least->strategy) + " needs: " +
                           size_text(least->memory.total()) + " of " + size_text(row.memory) + ".");
  }
  text +=
      "\n" + wrapped(
                 "step and its 90 % interval; per s: samples of all GPUs; gain: in samples per "
                 "second over ddp, with the 90 % interval of the comparison, none where 0 lies "
                 "inside; GB: needed on each GPU; batch: samples of one optimizer step. * best "
                 "choice for some weighing of speed, memory and batch. ? no run has validated it: "
                 "the interval is wider.");
  for (const std::string& note : row.ranking.notes)
    text += wrapped("- " + printable(note), {.rest = 2});
  return text;
}

}  // namespace ddpx
