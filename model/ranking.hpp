// Strategies side by side: what each buys over plain DDP, what memory it takes, and which are worth
// choosing between.
//
// Gain is samples per second over plain DDP's, less one, with the interval of the paired comparison
// (paired.hpp): "no gain" where 0 lies inside. The front holds what no other strategy that fits
// beats in speed, memory and effective batch at once (Pareto): accumulation buys speed with a
// larger batch, sharding memory with time.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/machine.hpp"
#include "model/memory.hpp"
#include "model/paired.hpp"

namespace ddpx {

struct Candidate {
  Strategy strategy;
  const Link* link = nullptr;  // the same link, measured with that many channels
};

struct RankQuestion {
  const Machine& machine;
  const Link& link;
  const Network& network;
  Job job;         // but for its strategy
  int nodes = 1;   // HSDP shards inside each
  Bytes memory{};  // of one GPU; 0 when unknown
};

enum class Gain { gains, loses, none };
[[nodiscard]] std::string_view name(Gain gain);

struct RankedStrategy {
  Strategy strategy;
  std::string link;
  Step step;
  Interval step_time_s;
  Interval samples_per_s;
  Interval gain;  // over plain DDP, as a fraction; exactly 0 for itself
  Gain verdict = Gain::none;
  MemoryParts memory;
  std::optional<bool> fits;
  double effective_batch = 0;  // samples of one optimizer step, over all GPUs
  bool validated = false;
  bool on_front = false;
};

struct Ranking {
  // What fits first, by samples per second; then memory, then the words.
  std::vector<RankedStrategy> strategies;
  std::vector<std::string> notes;  // what was not tried and why, and what buys nothing

  [[nodiscard]] bool nothing_fits() const;
};

// The strategies worth trying on this question: DDP, each option alone, the best bucket size and
// the best channel count by the model, and sensible combinations. `notes` gets what is left out.
[[nodiscard]] std::vector<Candidate> candidates(const RankQuestion& question,
                                                std::vector<std::string>& notes);

// Prices and sorts them. Plain DDP is added where it is not among them.
[[nodiscard]] std::vector<RankedStrategy> rank(const RankQuestion& question,
                                               std::span<const Candidate> candidates);

// Both.
[[nodiscard]] Ranking rank_strategies(const RankQuestion& question);

}  // namespace ddpx
