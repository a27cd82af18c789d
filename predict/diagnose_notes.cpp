#include "predict/diagnose_notes.hpp"

#include <algorithm>

#include "predict/text.hpp"

namespace ddpx {
namespace {

// Two counts that need links so far apart do not have one link in common.
constexpr double kOtherLink = 1.5;
// Ranks that compute less than this of what their share takes one GPU do other work than it did.
constexpr double kOtherWork = 0.5;
// The exchange holds ranks together; what their clocks and the work after it add is less than this.
constexpr double kOneStep = 1.1;

void note_points(DiagnosedRun& result) {
  for (const PointFlag& flag : result.flags) {
    const std::string gpus = std::to_string(flag.gpus) + " GPUs";
    result.notes.push_back(
        flag.fault == PointFault::more_than_linear
            ? "The step on " + gpus + " is suspect: each does " + factor_text(flag.ratio) +
                  " what one does alone, more than linear. One of the two was mistimed or trained "
                  "another batch."
            : "The step on " + gpus + " is suspect: on " + std::to_string(flag.against) +
                  " each does " + factor_text(flag.ratio) +
                  " as much, and no link makes fewer ranks slower. That run looks broken "
                  "(placement, shared memory, another job).");
  }
}

void note_walls(const RankTimes& ranks, DiagnosedRun& result) {
  const std::vector<Seconds>& wall = ranks.wall;
  if (!wall.empty()) {
    const auto [least, most] = std::minmax_element(wall.begin(), wall.end());
    if (*most > *least * kOneStep) {
      result.notes.push_back(
          "Wall times of the ranks differ by " + percent_text(*most / *least - 1) +
          ": these are not walls of one synchronised step, whose ranks all end it together. What "
          "was timed? Compute before the exchange is --rank-compute, the wait for data "
          "--rank-data.");
      return;
    }
    result.notes.push_back(
        "Wall times of the ranks differ by " + percent_text(*most / *least - 1) +
        " and name no rank: all wait for the slowest at the exchange." +
        (ranks.compute.empty() ? " Time each rank's compute before it (--rank-compute)." : ""));
  }
}

void note_other_work(const RankTimes& ranks, DiagnosedRun& result) {
  if (ranks.compute.empty() || !result.diagnosis.excess) return;
  std::vector<Seconds> compute = ranks.compute;
  const auto middle = compute.begin() + static_cast<std::ptrdiff_t>(compute.size() / 2);
  std::nth_element(compute.begin(), middle, compute.end());
  const Seconds share = result.judged.time - *result.diagnosis.excess;
  if (*middle < share * kOtherWork)
    result.notes.push_back("Ranks compute " + time_text(*middle) +
                           " where one GPU's step has it take " + time_text(share) +
                           ": the two are not of one batch, or the one-GPU step waits too.");
}

void note_links(DiagnosedRun& result) {
  const BytesPerSecond* first = nullptr;
  int first_gpus = 0;
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    if (!result.implied[i]) continue;
    const int gpus = result.points[i].gpus;
    if (first != nullptr && *first / *result.implied[i] > kOtherLink) {
      result.notes.push_back("The step on " + std::to_string(gpus) + " GPUs needs a link of " +
                             rate_text(*result.implied[i]) + ", that on " +
                             std::to_string(first_gpus) + " one of " + rate_text(*first) +
                             ": it is worse than one link explains.");
    }
    if (first == nullptr) {
      first = &*result.implied[i];
      first_gpus = gpus;
    }
  }
}

}  // namespace

void add_notes(const MeasuredRun& run, DiagnosedRun& result) {
  note_points(result);
  note_walls(run.ranks, result);
  note_other_work(run.ranks, result);
  note_links(result);
}

}  // namespace ddpx
