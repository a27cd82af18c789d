// The question put to the model, with every name already resolved: which networks on how many GPUs
// of which machine over which links. run() answers it; it reads no file, no clock and no device.
#pragma once

#include <functional>

#include "model/plan.hpp"
#include "model/two_level.hpp"
#include "predict/result.hpp"

namespace ddpx {

// How a model grows: its networks along one size.
struct ModelSize {
  std::string what;  // "width", "hidden", "parameters"
  Axis axis;
  std::function<Network(double)> at;
  // The options that give such a model, where its size alone is not one; empty otherwise.
  std::function<std::string(double)> flags{};
};

// One network, or a family along a sweep. Networks are made one at a time: a long sweep never holds
// them all.
struct NetworkSeries {
  std::string name;           // as for --network, without the swept key
  std::vector<double> sweep;  // empty: one network, made from any value
  std::function<Network(double)> at;
  double grain = 1;                 // the swept key takes multiples of it
  std::optional<ModelSize> size{};  // of one network that can be made larger or smaller
};

struct Query {
  Machine machine;
  std::vector<Link> links;
  std::vector<NetworkSeries> networks;
  std::vector<NodeLayout> gpus{{1, 2}};
  std::optional<Link> inter_link;  // between the nodes of a layout of several
  std::optional<int> nics;         // of a node; nullopt: as the link has it
  std::vector<double> batches{256};
  bool batch_swept = false;
  std::vector<Strategy> strategies{Strategy{}};
  // Scaling, dtype, optimizer and engine of every row.
  Job job;
  PlanQuestion plan;
  std::optional<Learned> learned;  // from validated steps, for intervals
  bool crossover = false;
  bool explain = false;
  // Instead of rows: strategies side by side, or what would meet each requirement.
  bool rank = false;
  std::optional<Bytes> gpu_memory;
  std::vector<Requirement> requirements;
  bool spread_given = false;          // machine.rank_spread or sample_spread is --straggler's
  std::vector<std::string> warnings;  // of the resolution; handed through
};

// More rows than this are refused before any is computed.
inline constexpr std::size_t kMostRows = 1'000'000;

// Every combination of links, GPU counts, strategies, batches and networks, in that order; the
// networks vary fastest. Throws InputError for what the model refuses.
[[nodiscard]] ForecastDocument run(const Query& query);

using RowSink = std::function<void(const ForecastRow&)>;

// The same with each row handed out as soon as it is forecast, so that a long sweep is never held:
// the document has neither rows nor crossings, nor a choice among plans. What is refused is refused
// before the first row.
[[nodiscard]] ForecastDocument run(const Query& query, const RowSink& sink);

}  // namespace ddpx
