// Which strategies a ranking tries: see ranking.hpp.
#include <algorithm>
#include <cstdio>

#include "model/ranking.hpp"

namespace ddpx {
namespace {

constexpr double kSmallestBucketMib = 1;
constexpr double kLargestBucketMib = 512;

std::string signed_percent(double fraction) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.1f %%", 100 * fraction);
  return text;
}

// The fastest of a family by the model, with a note where it buys nothing. Candidates that differ
// by nothing keep their order.
std::optional<RankedStrategy> best_of(const RankQuestion& question,
                                      const std::vector<Candidate>& family, const std::string& what,
                                      std::vector<std::string>& notes) {
  std::optional<RankedStrategy> best;
  for (const RankedStrategy& row : rank(question, family)) {
    if (describe(row.strategy) == "ddp") continue;
    if (!best || row.gain.value > best->gain.value) best = row;
  }
  if (best && best->verdict != Gain::gains) {
    notes.push_back(what + " buys nothing: the best of them, " + describe(best->strategy) +
                    ", gains " + signed_percent(best->gain.value) + " (" +
                    signed_percent(best->gain.low) + " to " + signed_percent(best->gain.high) +
                    ")");
  }
  return best;
}

class Candidates {
 public:
  Candidates(const RankQuestion& question, std::vector<std::string>& notes)
      : q_(question), notes_(notes) {}

  std::vector<Candidate> take() {
    add("ddp");
    for (const char* words : {"accumulate=2", "accumulate=4", "accumulate=8", "accumulate=16",
                              "accumulate=32", "accumulate=64", "bucket-view"}) {
      add(words);
    }
    add_compression();
    add_buckets();
    add_channels();
    for (const char* words :
         {"fsdp=unit", "zero=1", "zero=2", "zero=1,accumulate=8", "bucket-view,accumulate=8"}) {
      add(words);
    }
    add_blocks();
    return std::move(list_);
  }

 private:
  void add(const std::string& words) { list_.push_back({parse_strategy(words), &q_.link}); }

  // A hook sends 16-bit gradients; some already are.
  void add_compression() {
    if (q_.network.gradient_element_bytes() <= element_bytes(DType::fp16)) {
      notes_.emplace_back("compression is not tried: the gradients have 16 bits already");
      return;
    }
    for (const char* words : {"compress=fp16", "compress=bf16", "compress=fp16,bucket-view",
                              "accumulate=2,compress=fp16", "accumulate=4,compress=fp16",
                              "accumulate=8,compress=fp16"}) {
      add(words);
    }
  }

  void add_buckets() {
    std::vector<Candidate> sizes;
    for (double mib = kSmallestBucketMib; mib <= kLargestBucketMib; mib *= 2) {
      Strategy strategy;
      strategy.buckets = BucketLimits::explicit_cap(mib * kMiB);
      strategy.explicit_buckets = true;
      sizes.push_back({strategy, &q_.link});
    }
    if (const auto best = best_of(q_, sizes, "bucket size", notes_))
      list_.push_back({best->strategy, &q_.link});
  }

  // Links measured with other channel counts stand beside it in the machine: nvlink, nvlink-4ch.
  void add_channels() {
    std::vector<Candidate> counts;
    for (const Link& link : q_.machine.links) {
      if (link.channels <= 0 || link.channels == q_.link.channels) continue;
      if (link.name != q_.link.name + "-" + std::to_string(link.channels) + "ch") continue;
      Strategy strategy;
      strategy.channels = link.channels;
      counts.push_back({strategy, &link});
    }
    if (counts.empty()) {
      notes_.push_back("channel count is not searched: the cost of " + q_.link.name +
                       " is known at one count only; measure others by ddpx-calibrate --channels");
      return;
    }
    if (const auto best = best_of(q_, counts, "channel count", notes_)) {
      const auto same = [&](const Candidate& c) {
        return c.strategy.channels == best->strategy.channels;
      };
      list_.push_back(*std::find_if(counts.begin(), counts.end(), same));
    }
  }

  void add_blocks() {
    if (!has_blocks(q_.network)) {
      notes_.emplace_back("per-block sharding is not tried: the network names no blocks");
      return;
    }
    for (const char* words :
         {"fsdp=block", "fsdp=block,reshard=no", "fsdp=block,accumulate=8", "zero=3"}) {
      add(words);
    }
    if (q_.nodes < 2 || q_.job.gpus <= q_.nodes) {
      notes_.emplace_back(
          "HSDP is not tried: it shards inside nodes of several GPUs; give --gpus NxM with "
          "--inter-link");
      return;
    }
    if (q_.link.levels.empty()) {
      notes_.push_back("HSDP is not tried: the link " + q_.link.name +
                       " has no levels; give --inter-link");
      return;
    }
    const std::string groups =
        "hsdp=" + std::to_string(q_.nodes) + "x" + std::to_string(q_.job.gpus / q_.nodes);
    add(groups);
    add(groups + ",reshard=no");
  }

  const RankQuestion& q_;
  std::vector<std::string>& notes_;
  std::vector<Candidate> list_;
};

}  // namespace

std::vector<Candidate> candidates(const RankQuestion& question, std::vector<std::string>& notes) {
  return Candidates(question, notes).take();
}

Ranking rank_strategies(const RankQuestion& question) {
  Ranking ranking;
  ranking.strategies = rank(question, candidates(question, ranking.notes));
  const auto paced = std::count_if(
      ranking.strategies.begin(), ranking.strategies.end(),
      [](const RankedStrategy& row) { return row.step.term(Term::loader).value() > 0; });
  if (paced > 0)
    ranking.notes.push_back("the loaders set the pace of " + std::to_string(paced) + " of " +
                            std::to_string(ranking.strategies.size()) +
                            " strategies (--loader-rate)");
  return ranking;
}

}  // namespace ddpx
