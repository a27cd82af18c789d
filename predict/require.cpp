// --require: one unknown at a time, all else as it is.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <utility>

#include "model/carry_over.hpp"
#include "model/error.hpp"
#include "model/memory.hpp"
#include "model/scaled_link.hpp"
#include "predict/gpu_counts.hpp"
#include "predict/grounds.hpp"
#include "predict/link_text.hpp"
#include "predict/measured_sizes.hpp"
#include "predict/setting.hpp"
#include "predict/text.hpp"

namespace ddpx {
namespace {

constexpr double kMostFactor = 1e3;  // of a link's bandwidth and latency, either way
constexpr double kMostMicroBatches = 1024;
constexpr int kMostUnits = 72;      // GPUs of one host, or nodes, that are looked at
constexpr Seconds kShortest{1e-9};  // latency that --link takes

// As --link takes it, to six digits.
std::string link_figures(BytesPerSecond bandwidth, Seconds latency) {
  char text[64];
  std::snprintf(text, sizeof text, "%.6gGB/s,%.6gus", bandwidth.value() / 1e9,
                latency.value() * 1e6);
  return text;
}

double metric_of(Metric metric, const Forecast& f, int gpus) {
  switch (metric) {
    case Metric::speedup:
      return gpus > 1 ? speedup_of(f) : f.speedup.value;
    case Metric::efficiency:
      return f.speedup.value / gpus;
    case Metric::communication_share:
      break;
  }
  return f.step.communication_share();
}

class Inverse {
 public:
  Inverse(const Setting& setting, const Network& network, const ModelSize* size,
          const Requirement& requirement)
      : s_(setting),
        network_(network),
        size_(size),
        requirement_(requirement),
        forecasts_(setting.query.machine, setting.products, network) {
    row_.of = situation_of(setting, network);
    row_.requirement = requirement;
    const Forecast now = forecasts_.of(s_.link, s_.job);
    row_.now = metric_of(requirement.metric, now, s_.job.gpus);
    if (now.step.term(Term::loader).value() > 0)
      row_.left_out.emplace_back(
          "--loader-rate, which sets the pace of the step as it is" +
          std::string(paced_alike(now) ? ", of one GPU's and of several alike: a speedup of 1 "
                                         "that it makes counts as not met"
                                       : ""));
  }

  RequirementRow take() {
    vary_link();
    vary_batch();
    vary_accumulation();
    vary_size();
    vary_gpus();
    return std::move(row_);
  }

 private:
  [[nodiscard]] double at(const Link& link, const Job& job) {
    return metric_of(requirement_.metric, forecasts_.of(link, job), job.gpus);
  }

  // `unit` turns the axis into the unit that is shown.
  UnknownRow solved(Unknown unknown, std::string what, const Axis& axis, double unit,
                    const std::function<double(double)>& metric_at) const {
    UnknownRow row;
    row.unknown = unknown;
    row.what = std::move(what);
    row.now = axis.now * unit;
    row.solution = solve(requirement_, axis, metric_at);
    row.solution.value *= unit;
    for (MetRange& range : row.solution.ranges) {
      if (range.from) *range.from *= unit;
      if (range.to) *range.to *= unit;
    }
    return row;
  }

  // An answer that no GPU of this kind can run is none without a word.
  void add(UnknownRow row, const Network& network, const Job& job) {
    const auto warning = does_not_fit(
        gpu_memory_of(s_.query),
        describe(requirement_) + " by " + row.what + " " + count_text(row.solution.value),
        memory_needed(network, job));
    row.fits = !warning;
    // A link changes nothing in memory; that the job as it is does not fit is said once.
    const bool of_link =
        row.unknown == Unknown::link_bandwidth || row.unknown == Unknown::link_latency;
    if (row.solution.outcome == Outcome::boundary && !of_link && warning)
      row_.warnings.push_back(*warning);
    row_.unknowns.push_back(std::move(row));
  }

  void vary_link() {
    const Axis axis{1 / kMostFactor, kMostFactor, 1, 0};
    const BytesPerSecond bandwidth = s_.link.bus_bandwidth();
    const Seconds latency = latency_of(s_.link);
    UnknownRow wide = solved(Unknown::link_bandwidth, "link bandwidth", axis, bandwidth.value(),
                             [&](double f) { return at(with_bandwidth(s_.link, f), s_.job); });
    add_figures(wide, axis, [&](double f) {
      return link_figures(bandwidth * f, std::max(latency, kShortest));
    });
    add(std::move(wide), network_, s_.job);
    if (!(latency.value() > 0)) {
      row_.left_out.push_back("link latency: the link " + s_.link.name + " has none");
      return;
    }
    UnknownRow quick = solved(Unknown::link_latency, "link latency", axis, latency.value(),
                              [&](double f) { return at(with_latency(s_.link, f), s_.job); });
    add_figures(quick, axis, [&](double f) { return link_figures(bandwidth, latency * f); });
    add(std::move(quick), network_, s_.job);
  }

  // The same answer of a link by two figures, as --link takes it and so as it is solved for; a link
  // between nodes has two such pairs, and no answer in one.
  void add_figures(UnknownRow& row, const Axis& axis,
                   const std::function<std::string(double)>& figures) {
    if (row.solution.outcome != Outcome::boundary || s_.nodes > 1) return;
    const Solution answer = solve(requirement_, axis, [&](double f) {
      return at(link_from_figures("--link", figures(f)), s_.job);
    });
    if (answer.outcome != Outcome::boundary) return;
    row.flags = "--link " + figures(answer.value);
    row.flags_reached = answer.reached;
  }

  void vary_batch() {
    const bool strong = s_.job.scaling == Scaling::strong;
    const double least = strong ? s_.job.gpus : 1;
    const Axis axis{least, kLargestBatch * least, s_.job.batch_per_rank, least};
    const auto job_at = [&](double batch) {
      Job job = s_.job;
      job.batch_per_rank = batch;
      return job;
    };
    UnknownRow row =
        solved(Unknown::batch_per_rank, strong ? "batch of all ranks" : "batch per rank", axis, 1,
               [&](double batch) { return at(s_.link, job_at(batch)); });
    const Job answer = job_at(row.solution.value);
    add(std::move(row), network_, answer);
  }

  void vary_accumulation() {
    const Axis axis{1, kMostMicroBatches, static_cast<double>(s_.job.strategy.micro_batches), 1};
    const auto job_at = [&](double micro_batches) {
      Job job = s_.job;
      job.strategy.micro_batches = static_cast<int>(micro_batches);
      return job;
    };
    UnknownRow row = solved(Unknown::accumulation, "accumulation", axis, 1,
                            [&](double k) { return at(s_.link, job_at(k)); });
    const Job answer = job_at(row.solution.value);
    add(std::move(row), network_, answer);
  }

  void vary_size() {
    if (!size_) {
      row_.left_out.emplace_back(
          "model size: only mlp, gpt and a model known by --params have one");
      return;
    }
    if (has_small_sizes(s_)) {
      row_.left_out.emplace_back(
          "model size: a larger one exchanges more at once than was measured on the link");
      return;
    }
    // The requirement's metric and the speedup: both questions look along the same sizes.
    std::map<double, std::pair<double, double>> known;
    const auto at = [&](double x) {
      if (const auto found = known.find(x); found != known.end()) return found->second;
      const Forecast f =
          point_forecast(s_.query.machine, s_.products, s_.link, size_->at(x), s_.job);
      return known[x] = {metric_of(requirement_.metric, f, s_.job.gpus), speedup_of(f)};
    };
    const auto metric_at = [&](double x) { return at(x).first; };
    UnknownRow row = solved(Unknown::model_size, size_->what, size_->axis, 1, metric_at);
    const Network answer = of_size(row);
    add(std::move(row), answer, s_.job);
    const Requirement even{Metric::speedup, 1};
    UnknownRow crossing;
    crossing.unknown = Unknown::model_size;
    crossing.what = size_->what;
    crossing.now = size_->axis.now;
    crossing.solution = solve(even, size_->axis, [&](double x) { return at(x).second; });
    static_cast<void>(of_size(crossing));
    row_.crossing = std::move(crossing);
  }

  // The model that a row answers with, which is noted in it.
  Network of_size(UnknownRow& row) const {
    const double size = row.solution.value;
    Network network = size_->at(size);
    row.parameters = network.parameters();
    if (size_->flags && row.solution.outcome == Outcome::boundary) {
      row.flags = size_->flags(size);
      row.flags_reached = row.solution.reached;
    }
    return network;
  }

  // GPUs of one node, or whole nodes; up to what the link is known to join.
  void vary_gpus() {
    const bool nodes = s_.nodes > 1;
    const int each = nodes ? s_.job.gpus / s_.nodes : 1;
    if (s_.job.strategy.hybrid) {
      row_.left_out.emplace_back("GPUs: hsdp=RxS names their number");
      return;
    }
    GpuCounts counts(most_units(nodes), [&](int units) { return count_of(units, each, nodes); });
    if (counts.last() > 0) row_.useful = counts.useful();
    row_.gpus_step = each;
    // One GPU has a speedup of 1, every efficiency and no exchange; it is no answer.
    const double fewest = each > 1 ? 1 : 2;
    const Axis axis{fewest, static_cast<double>(counts.last()),
                    static_cast<double>(nodes ? s_.nodes : s_.job.gpus), 1};
    if (axis.now > axis.high) return;
    UnknownRow row =
        solved(Unknown::gpus, nodes ? "nodes of " + std::to_string(each) : "GPUs", axis, 1,
               [&](double units) { return counts.at(static_cast<int>(units)).metric; });
    Job answer = s_.job;
    answer.gpus = static_cast<int>(row.solution.value) * each;
    add(std::move(row), network_, answer);
  }

  [[nodiscard]] std::optional<GpuCounts::Count> count_of(int units, int each, bool nodes) {
    Job job = s_.job;
    job.gpus = units * each;
    if (job.scaling == Scaling::strong && job.batch_per_rank < job.gpus) {
      row_.gpus_note = "no rank would have a whole sample";
      return std::nullopt;
    }
    try {
      const Forecast f = forecast_of(job, units, nodes);
      return GpuCounts::Count{metric_of(requirement_.metric, f, job.gpus), f.speedup.value};
    } catch (const InputError&) {
      row_.gpus_note = "the link is not known to join more";
      return std::nullopt;
    }
  }

  [[nodiscard]] int most_units(bool nodes) const {
    if (nodes) return std::max(kMostUnits, s_.nodes);
    if (s_.link.topology == Topology::network) return std::max(kMostUnits, s_.job.gpus);
    return std::max(s_.job.gpus, std::min(kMostUnits, s_.link.reach()));
  }

  [[nodiscard]] Forecast forecast_of(const Job& job, int units, bool nodes) {
    if (!nodes || units == s_.nodes) return forecasts_.of(s_.link, job);
    const Link& given = s_.given ? *s_.given : s_.link;
    const Link joined = link_of(s_.query, given, {units, job.gpus / units});
    return forecasts_.of(joined, job);
  }

  const Setting& s_;
  const Network& network_;
  const ModelSize* size_;
  const Requirement& requirement_;
  PointForecasts forecasts_;
  RequirementRow row_;
};

}  // namespace

RequirementRow requirement_of(const Setting& setting, const Network& network, const ModelSize* size,
                              const Requirement& requirement) {
  return Inverse(setting, network, size, requirement).take();
}

}  // namespace ddpx
