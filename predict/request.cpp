#include "predict/request.hpp"

#include <algorithm>
#include <set>

#include "model/error.hpp"
#include "model/network_spec.hpp"
#include "model/quantity.hpp"
#include "predict/request_decisions.hpp"
#include "predict/request_gpus.hpp"
#include "predict/request_learned.hpp"
#include "predict/request_measured.hpp"
#include "predict/request_plan.hpp"
#include "predict/text.hpp"

namespace ddpx {
namespace {

const std::vector<NodeLayout> kOneGpu{{1, 1}};
constexpr double kMostBatch = 1e9;

template <class Value, class From>
Value word_of(std::string_view flag, const std::string& text, From from,
              std::string_view accepted) {
  if (const std::optional<Value> value = from(text)) return *value;
  throw InputError(flag, "'" + shown(text) + "' is unknown; accepted: " + std::string(accepted));
}

std::optional<Scaling> scaling_from(std::string_view word) {
  if (word == "weak") return Scaling::weak;
  if (word == "strong") return Scaling::strong;
  return std::nullopt;
}

NetworkSeries generated(const std::string& spec) {
  NetworkSeries series = one_network(network_from(spec));
  series.size = size_of(spec);
  return series;
}

NetworkSeries family(const std::string& spec, const Sweep& sweep) {
  NetworkSeries series;
  series.name = spec;
  series.sweep = sweep.values;
  series.at = [spec, key = sweep.key](double value) {
    return network_from(with_key(spec, key, value));
  };
  const ModelSize size = size_of(with_key(spec, sweep.key, sweep.values.front()));
  if (size.what == sweep.key) series.grain = size.axis.grain;
  for (double end : {sweep.values.front(), sweep.values.back()}) static_cast<void>(series.at(end));
  return series;
}

bool gives_key(const std::string& spec, const std::string& key) {
  return spec.find(":" + key + "=") != std::string::npos ||
         spec.find("," + key + "=") != std::string::npos;
}

std::vector<NetworkSeries> networks_of(const Options& options, const std::optional<Sweep>& sweep,
                                       const Resolvers& resolvers) {
  const bool widths = sweep && sweep->key != "batch";
  const bool decides = options.rank_strategies || !options.requirements.empty();
  if (options.networks.empty() && !sweep && decides) return {generated(kDefaultNetwork)};
  if (options.networks.empty() && !sweep)
    return {family(kDefaultNetwork, parse_sweep("--sweep", kDefaultSweep))};
  if (options.networks.empty() && widths) return {family(kDefaultNetwork, *sweep)};
  std::vector<NetworkSeries> list;
  std::set<std::string> names;
  for (const std::string& text : options.networks) {
    if (!widths) {
      list.push_back(is_file(text) ? one_network(resolvers.network_file(text)) : generated(text));
    } else if (is_file(text)) {
      throw InputError(
          "--sweep", "varies '" + shown(sweep->key) + "', which the network file '" + shown(text) +
                         "' does not have; sweep batch, or name a generator such as mlp:depth=8");
    } else if (gives_key(text, sweep->key)) {
      throw InputError("--network", "'" + shown(text) + "' sets " + sweep->key +
                                        ", which --sweep varies; leave it out");
    } else {
      list.push_back(family(text, *sweep));
    }
    if (!names.insert(list.back().name).second)
      throw InputError("--network", "'" + shown(text) + "' is given twice");
  }
  return list;
}

std::vector<Strategy> strategies_of(const Options& options) {
  if (options.strategies.empty()) return {Strategy{}};
  std::vector<Strategy> list;
  std::set<std::string> names;
  for (const std::string& text : options.strategies) {
    list.push_back(parse_strategy(text));
    if (!names.insert(describe(list.back())).second) {
      throw InputError("--strategy", "'" + shown(text) + "' is the same as one given before");
    }
  }
  return list;
}

// On one GPU only how often the optimizer steps is left of a strategy.
void check_one_gpu(const std::vector<Strategy>& strategies, const Options& options) {
  for (std::size_t i = 0; i < options.strategies.size(); ++i) {
    Strategy left;
    left.micro_batches = strategies[i].micro_batches;
    if (strategies[i] != left)
      throw InputError("--strategy",
                       "'" + shown(options.strategies[i]) +
                           "' cannot change a step on one GPU by anything but accumulate=K; leave "
                           "the rest out or give --gpus 2 or more");
  }
}

// Options that describe how ranks exchange gradients, when none do.
void check_exchange(const Query& query, const Options& options) {
  const bool quiet = std::any_of(query.strategies.begin(), query.strategies.end(),
                                 [](const Strategy& s) { return !s.sync; });
  if (quiet && !options.requirements.empty())
    throw InputError("--require",
                     "solves for what an exchange of gradients needs, and --strategy "
                     "no-sync has none; leave one of them out");
  const bool silent = std::none_of(query.strategies.begin(), query.strategies.end(),
                                   [](const Strategy& s) { return s.sync; });
  if (silent && !options.links.empty()) {
    throw InputError(
        "--link", "cannot change a step that exchanges nothing (--strategy no-sync); leave it out");
  }
  const bool one = std::any_of(query.gpus.begin(), query.gpus.end(),
                               [](const NodeLayout& layout) { return layout.gpus() == 1; });
  if (one && query.gpus != kOneGpu && (options.rank_strategies || !options.requirements.empty()))
    throw InputError("--gpus", "'" + shown(*options.gpus) + "' holds a count of 1, on which " +
                                   (options.rank_strategies ? "--rank-strategies has nothing to "
                                                              "compare"
                                                            : "--require has nothing to solve") +
                                   "; leave it out");
  if (query.gpus != kOneGpu) return;
  const auto useless = [](const char* flag) {
    throw InputError(flag,
                     "cannot change a step on one GPU; leave it out or give --gpus 2 or more");
  };
  if (!options.links.empty()) useless("--link");
  if (options.inter_link) useless("--inter-link");
  if (options.nics) useless("--nics");
  if (options.scaling) useless("--scaling");
  if (options.crossover) useless("--crossover");
  if (options.rank_strategies) useless("--rank-strategies");
  if (!options.requirements.empty()) useless("--require");
  check_one_gpu(query.strategies, options);
}

}  // namespace

double batch_of(const std::string& word) {
  const double batch = parse_amount("--batch", word);
  if (batch < 1 || batch > kMostBatch ||
      batch != static_cast<double>(static_cast<long long>(batch))) {
    throw InputError("--batch",
                     "'" + shown(word) + "' is no whole number of samples from 1 to 10^9");
  }
  return batch;
}

bool is_file(std::string_view text) {
  return text == "-" || text.find('/') != std::string_view::npos || text.ends_with(".json");
}

Job job_of(const Options& options) {
  Job job;
  if (options.engine)
    job.engine = word_of<Engine>("--engine", *options.engine, engine_from, "native, torch");
  if (options.dtype)
    job.dtype = word_of<DType>("--dtype", *options.dtype, dtype_from, "fp32, tf32, bf16, fp16");
  if (options.optimizer)
    job.optimizer =
        word_of<Optimizer>("--optimizer", *options.optimizer, optimizer_from, "sgd, adamw");
  if (options.scaling)
    job.scaling = word_of<Scaling>("--scaling", *options.scaling, scaling_from, "weak, strong");
  return job;
}

// A captured network holds at the batch, number format and optimizer it was captured with: what is
// not asked for is that.
void follow_captures(Query& query, const Options& options) {
  if (query.networks.size() != 1 || !query.networks.front().sweep.empty()) return;
  const Network network = query.networks.front().at(0);
  if (!network.captured) return;
  if (!options.batch) query.batches = {network.captured->batch};
  if (!options.dtype) query.job.dtype = network.captured->dtype;
  if (!options.optimizer) query.job.optimizer = network.captured->optimizer;
}

Query query_from(const Options& options, const Resolvers& resolvers) {
  check(options);
  Query query;
  query.crossover = options.crossover;
  query.explain = options.explain;
  take_decisions(query, options);
  query.job = job_of(options);
  query.strategies = strategies_of(options);
  query.gpus = gpus_of(options);
  check_exchange(query, options);
  use_conditions(query, options);
  if (options.batch) query.batches = distinct_list("--batch", *options.batch, batch_of);
  std::optional<Sweep> sweep;
  if (options.sweep) sweep = parse_sweep("--sweep", *options.sweep);
  query.machine = machine_for(options, resolvers);
  use_spread(query.machine, options);
  if (query.gpus == kOneGpu) {
    query.links = {Link{}};
    query.links.front().name = "none";
  } else {
    use_links(query, options, resolvers);
  }
  if (options.params) {
    use_measured_model(query, options, resolvers);
  } else {
    query.networks = networks_of(options, sweep, resolvers);
  }
  use_validation(query, options, resolvers);
  follow_captures(query, options);
  warn_of_captures(query);
  use_plan(query, options, resolvers);
  if (sweep && sweep->key == "batch") {
    query.batches = sweep->values;
    query.batch_swept = true;
  }
  // Samples to a target and a rate are those of one batch; plans of others are held against it.
  if (query.batches.size() > 1) query.plan.one_gpu_batch = query.batches.front();
  return query;
}

}  // namespace ddpx
