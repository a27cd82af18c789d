#include "predict/request_plan.hpp"

#include <algorithm>
#include <cmath>

#include "model/error.hpp"
#include "model/quantity.hpp"

namespace ddpx {
namespace {

constexpr std::string_view kPerRank = "/rank";
constexpr std::string_view kSpread = "spread=";
constexpr std::string_view kSamples = "samples=";
// A rank ten times as slow as the others has failed rather than fallen behind.
constexpr double kMostDelay = 10;
constexpr double kMostSpread = 1;
constexpr double kMostSampleSpread = 3;   // a few long samples among many short
constexpr double kLongestDeadline = 1e9;  // seconds: 32 years

// Beyond these no run, machine or price is; within them no quotient leaves what a number can hold.
constexpr double kLeastAmount = 1e-6;
constexpr double kMostAmount = 1e15;

bool gives_spread(const std::string& straggler) {
  return straggler.starts_with(kSpread) || straggler.starts_with(kSamples);
}

// `text` is all of the flag's value, or a part of `whole`, which is then shown too.
double amount_of(std::string_view flag, const std::string& text, double least = kLeastAmount,
                 const std::string& whole = "") {
  if (!whole.empty() && whole != text)
    return amount_of(std::string(flag) + " " + shown(whole), text, least);
  const double amount = parse_amount(flag, text);
  if (amount < least || amount > kMostAmount) {
    throw InputError(flag, "'" + shown(text) + "' is out of range; accepted: from " +
                               (least < 1 ? "1e-6" : "1") + " to 1e15");
  }
  return amount;
}

CriticalBatch critical_batch_of(const std::string& text) {
  if (text == "unknown") return kPublicCriticalBatch;
  const std::size_t colon = text.find(':');
  const double low = amount_of("--critical-batch", text.substr(0, colon), 1, text);
  const double high = colon == std::string::npos
                          ? low
                          : amount_of("--critical-batch", text.substr(colon + 1), 1, text);
  if (high < low) {
    throw InputError("--critical-batch", "'" + shown(text) +
                                             "' has its ends the wrong way round; accepted: a "
                                             "batch, LOW:HIGH, or unknown");
  }
  return {low, high, false};
}

// A machine's link by the name that plans have it under; one that nobody knows fits no plan.
void resolve_links(Prices& prices, const std::string& file, const Machine& machine,
                   const Resolvers& resolvers) {
  for (MachinePrice& priced : prices.machines) {
    if (!priced.link) continue;
    try {
      priced.link = resolvers.link("--price", priced.link, machine).name;
    } catch (const InputError& error) {
      constexpr std::string_view kPlace = "--price: ";
      std::string_view problem = error.what();
      if (problem.starts_with(kPlace)) problem.remove_prefix(kPlace.size());
      throw InputError("--price " + shown(file),
                       "machine '" + shown(priced.name) + "' " + std::string(problem));
    }
  }
}

Prices prices_of(const std::string& text, const Machine& machine, const Resolvers& resolvers) {
  const bool is_path =
      text.ends_with(".json") || text.find('/') != std::string::npos || text == "-";
  Prices prices;
  if (is_path) {
    prices = resolvers.price_file(text);
    resolve_links(prices, text, machine, resolvers);
    return prices;
  }
  try {
    prices.per_gpu_hour = parse_amount("--price", text);
  } catch (const InputError&) {
    prices.per_gpu_hour = 0;
  }
  if (prices.per_gpu_hour < kLeastPrice || prices.per_gpu_hour > kMostPrice)
    throw InputError("--price", "'" + shown(text) +
                                    "' is no price; accepted: " + std::string(kAcceptedPrice) +
                                    " of a GPU, as 2.5, or a price file (.json)");
  return prices;
}

RateRule rule_of(const Options& options, Optimizer optimizer) {
  if (!options.rate_rule)
    return optimizer == Optimizer::sgd ? RateRule::linear : RateRule::square_root;
  if (*options.rate_rule == "linear") return RateRule::linear;
  if (*options.rate_rule == "sqrt") return RateRule::square_root;
  throw InputError("--rate-rule",
                   "'" + shown(*options.rate_rule) + "' is unknown; accepted: linear, sqrt");
}

}  // namespace

Loader loader_of(const std::string& text) {
  const bool per_rank = text.ends_with(kPerRank);
  if (!per_rank && text.find('/') != std::string::npos)
    throw InputError("--loader-rate", "'" + shown(text) +
                                          "' is no rate; accepted: samples per second of all "
                                          "ranks together, as 2000, or of each, as 500/rank");
  const std::string number = per_rank ? text.substr(0, text.size() - kPerRank.size()) : text;
  return {amount_of("--loader-rate", number, kLeastAmount, text), per_rank};
}

// The fullest of N ranks has at most all of the work, N times the mean.
void check_imbalance(const Query& query, const std::string& text) {
  int fewest = 0;
  for (const NodeLayout& layout : query.gpus) {
    if (layout.gpus() > 1 && (fewest == 0 || layout.gpus() < fewest)) fewest = layout.gpus();
  }
  if (fewest == 0 || *query.job.imbalance <= fewest - 1) return;
  throw InputError("--imbalance", "'" + shown(text) + "' is more than the fullest of " +
                                      std::to_string(fewest) +
                                      " ranks can have above the mean; accepted: 0 % to " +
                                      std::to_string(100 * (fewest - 1)) + " %");
}

void use_conditions(Query& query, const Options& options) {
  const bool one_gpu = query.gpus == std::vector<NodeLayout>{{1, 1}};
  const auto useless = [&](const char* flag) {
    if (one_gpu)
      throw InputError(flag,
                       "cannot change a step on one GPU, which waits for no other rank; "
                       "leave it out or give --gpus 2 or more");
  };
  if (options.loader_rate) query.job.loader = loader_of(*options.loader_rate);
  if (options.imbalance) {
    useless("--imbalance");
    query.job.imbalance = parse_percent("--imbalance", *options.imbalance, kMostDelay);
    check_imbalance(query, *options.imbalance);
  }
  if (!options.straggler) return;
  useless("--straggler");
  query.spread_given = gives_spread(*options.straggler);
  use_delay(query.job, options);
}

void use_delay(Job& job, const Options& options) {
  if (!options.straggler) return;
  if (!gives_spread(*options.straggler))
    job.straggler = parse_percent("--straggler", *options.straggler, kMostDelay);
  // How far ranks differ is all of it: none is slow besides.
  if (options.straggler->starts_with(kSpread)) job.straggler = 0;
}

bool gives_sample_spread(const Options& options) {
  return options.straggler && options.straggler->starts_with(kSamples);
}

void use_spread(Machine& machine, const Options& options) {
  if (!options.straggler) return;
  const std::string& text = *options.straggler;
  if (gives_sample_spread(options)) {
    const double spread =
        parse_percent("--straggler samples", text.substr(kSamples.size()), kMostSampleSpread);
    // A model known by its step alone has a spread that is not the machine's.
    if (!options.params && spread == machine.sample_spread)
      throw InputError("--straggler", "'" + shown(text) + "' is what is taken of a --network on " +
                                          "machine " + machine.name +
                                          " and cannot change the answer; leave it out");
    machine.sample_spread = spread;
    return;
  }
  if (!text.starts_with(kSpread)) return;
  machine.sample_spread = 0;
  machine.rank_spread =
      parse_percent("--straggler spread", options.straggler->substr(kSpread.size()), kMostSpread);
}

void use_plan(Query& query, const Options& options, const Resolvers& resolvers) {
  PlanQuestion& plan = query.plan;
  plan.rule = rule_of(options, query.job.optimizer);
  if (options.samples) {
    plan.samples = amount_of("--samples", *options.samples, 1);
    if (*plan.samples != std::floor(*plan.samples))
      throw InputError("--samples", "'" + shown(*options.samples) +
                                        "' is no whole number of samples; accepted: as 90M");
  }
  if (options.critical_batch) plan.critical = critical_batch_of(*options.critical_batch);
  if (options.learning_rate)
    plan.learning_rate = amount_of("--learning-rate", *options.learning_rate);
  if (options.price) plan.prices = prices_of(*options.price, query.machine, resolvers);
  if (!options.deadline) return;
  plan.deadline = parse_time("--deadline", *options.deadline);
  if (plan.deadline->value() > kLongestDeadline)
    throw InputError("--deadline", "'" + shown(*options.deadline) +
                                       "' is longer than 30 years; accepted: a time such as 24h");
}

}  // namespace ddpx
