// What stays the same along one sweep: link, GPU count, strategy.
#pragma once

#include <span>

#include "predict/grounds.hpp"
#include "predict/query.hpp"

namespace ddpx {

struct Setting {
  const Query& query;
  const Link& link;  // joins all ranks of the layout
  Job job;
  int nodes = 1;
  const Link* given = nullptr;   // as it was asked for, before nodes were joined
  const ProductTable& products;  // of the query's machine and dtype, priced once for all rows

  [[nodiscard]] ForecastOptions intervals() const {
    return {.learned = query.learned ? &*query.learned : nullptr};
  }
};

// Refuses measured links whose ranks were on other hosts than the query has them join, and warns of
// those whose logs do not say. Throws InputError.
void use_hosts(Query& query);

// The link that joins all ranks of a layout: as given inside one node. Between nodes what was
// measured over nodes of as many GPUs each, carried to their number by price(); else made of both
// levels. A log of several nodes is the same answer as --link and, where each has one GPU, as
// --inter-link. Throws InputError where nothing joins them.
[[nodiscard]] Link link_of(const Query& query, const Link& link, const NodeLayout& layout);

// How many NICs nodes are taken to have, where several GPUs share them and --nics does not say;
// nullopt where nothing is assumed.
[[nodiscard]] std::optional<std::string> assumed_nics(const Query& query);

// The link as the strategy's channel count has it: nvlink-4ch of the machine for channels=4 over
// nvlink. Throws InputError where the machine has measured the link with other counts only.
[[nodiscard]] const Link& link_at_channels(const Machine& machine, const Link& link,
                                           const Strategy& strategy);

// Of the query's GPUs: as given, else the machine's, else its type's.
[[nodiscard]] GpuMemory gpu_memory_of(const Query& query);

[[nodiscard]] Situation situation_of(const Setting& setting, const Network& network);

// Every strategy worth trying in this setting (--rank-strategies).
[[nodiscard]] RankingRow ranking_of(const Setting& setting, const Network& network);

// What would meet the requirement (--require). `size` says how the model grows, where it can.
[[nodiscard]] RequirementRow requirement_of(const Setting& setting, const Network& network,
                                            const ModelSize* size, const Requirement& requirement);

// The same as a plan, where one is asked for; whether it fits is not looked at.
[[nodiscard]] std::optional<Plan> plan_in(const Setting& setting, const Forecast& forecast,
                                          const Job& job);

// The speedup that questions of whether another GPU pays go by: where the loaders pace one GPU and
// several alike, the 1 that results is met by no more GPUs.
[[nodiscard]] double speedup_of(const Forecast& forecast);
[[nodiscard]] bool paced_alike(const Forecast& forecast);

// Smallest batch per rank from which on more GPUs pay.
[[nodiscard]] std::optional<double> break_even(const Setting& setting, const Network& network);

// The crossings over the rows of one sweep; nothing when the axis does not rise along it (a key
// that adds no parameters).
[[nodiscard]] std::optional<CrossoverRow> crossover(const Setting& setting,
                                                    const NetworkSeries& series,
                                                    std::span<const ForecastRow> rows,
                                                    SweepAxis axis);

}  // namespace ddpx
