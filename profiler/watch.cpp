#include "profiler/watch.hpp"

#include <algorithm>
#include <cstdio>

namespace ddpx {
namespace {

RankFailure name(const RankStatus& rank, std::string what) {
  return {rank.rank, rank.operation, std::move(what), std::nullopt,
          rank.state == RankState::link_hung};
}

std::string after(const char* format, Seconds time) {
  char text[96];
  std::snprintf(text, sizeof text, format, time.value());
  return text;
}

bool has_left(const RankStatus& rank) {
  return rank.state == RankState::failed || rank.state == RankState::refused ||
         rank.state == RankState::exited || rank.state == RankState::terminated ||
         rank.state == RankState::link_hung;
}

std::string how(const RankStatus& rank) {
  switch (rank.state) {
    case RankState::failed:
    case RankState::refused:
    case RankState::link_hung:
      return "failed: " + rank.problem;
    case RankState::exited:
      return "ended in the middle";
    default:
      return "was terminated by a signal";
  }
}

std::optional<RankFailure> vanished(std::span<const RankStatus> ranks) {
  for (const RankStatus& rank : ranks) {
    if (rank.state == RankState::running && !rank.alive) return name(rank, "was killed");
  }
  return std::nullopt;
}

// The first to leave; the others left because of it.
std::optional<RankFailure> first_to_leave(std::span<const RankStatus> ranks) {
  const RankStatus* first = nullptr;
  for (const RankStatus& rank : ranks) {
    if (has_left(rank) && (first == nullptr || rank.left_at < first->left_at)) first = &rank;
  }
  if (first == nullptr) return std::nullopt;
  RankFailure failure = name(*first, how(*first));
  if (first->state == RankState::refused) failure.refusal = first->problem;
  return failure;
}

std::optional<RankFailure> silent(std::span<const RankStatus> ranks, const WatchLimits& limits) {
  for (const RankStatus& rank : ranks) {
    if (rank.state == RankState::running && rank.since_beat > limits.silence)
      return name(rank, after("is stopped: no sign of life for %.0f s", rank.since_beat));
  }
  return std::nullopt;
}

// Ranks that wait for their peers cannot tick; of those that do not wait, or have done the least,
// one is the reason.
std::optional<RankFailure> stuck(std::span<const RankStatus> ranks, const WatchLimits& limits) {
  const RankStatus* worst = nullptr;
  for (const RankStatus& rank : ranks) {
    if (rank.state != RankState::running) continue;
    if (rank.since_tick <= (rank.ticks == 0 ? limits.start : limits.hang)) return std::nullopt;
    const auto order = [](const RankStatus& r) { return std::pair(r.waiting, r.ticks); };
    if (worst == nullptr || order(rank) < order(*worst)) worst = &rank;
  }
  if (worst == nullptr) return std::nullopt;
  return name(*worst, after(worst->waiting ? "has waited for the others for %.0f s"
                                           : "has not got on for %.0f s",
                            worst->since_tick));
}

}  // namespace

std::string sentence(const RankFailure& failure) {
  return "rank " + std::to_string(failure.rank) + " " + failure.what +
         (failure.operation.empty() ? std::string() : " in " + failure.operation);
}

std::optional<RankFailure> diagnose(std::span<const RankStatus> ranks, Seconds since_start,
                                    const WatchLimits& limits) {
  if (auto failure = vanished(ranks)) return failure;
  if (auto failure = first_to_leave(ranks)) return failure;
  if (auto failure = silent(ranks, limits)) return failure;
  if (since_start > limits.come) {
    for (const RankStatus& rank : ranks) {
      if (rank.state == RankState::absent)
        return name(rank, after("did not start within %.0f s", limits.come));
    }
  }
  return stuck(ranks, limits);
}

}  // namespace ddpx
