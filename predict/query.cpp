#include "predict/query.hpp"

#include <algorithm>

#include "model/error.hpp"
#include "model/memory.hpp"
#include "predict/grounds.hpp"
#include "predict/measured_sizes.hpp"
#include "predict/request_gpus.hpp"
#include "predict/setting.hpp"
#include "predict/text.hpp"

namespace ddpx {

namespace {

ForecastRow row_of(const Setting& setting, const Network& network, const Job& job,
                   const SharedTexts& rests_on) {
  const Machine& machine = setting.query.machine;
  ForecastRow row;
  row.network = network.name;
  row.parameters = network.parameters();
  if (network.width > 0) row.width = network.width;
  row.job = job;
  row.nodes = setting.nodes;
  row.link = setting.link.name;
  row.link_title = setting.link.title.empty() ? setting.link.name : setting.link.title;
  row.machine = machine.name;
  row.forecast =
      forecast(machine, setting.products, setting.link, network, job, setting.intervals());
  if (row.forecast.extrapolated)
    row.extrapolated = outside_calibration(setting.products, setting.link, network, job);
  row.rests_on = rests_on;
  if (job.gpus > 1) {
    row.amdahl = amdahl_through(job.gpus, row.forecast.speedup.value);
    const Step unshared =
        StepModel(machine, setting.products, setting.link, network, without_sharing(job)).run();
    row.conditions = conditions(row.forecast.step, unshared,
                                machine.spread(job.samples_per_step() / job.gpus), job);
  }
  row.plan = plan_in(setting, row.forecast, job);
  if (row.plan) row.plan->fits = gpu_memory_of(setting.query).holds(memory_needed(network, job));
  if (setting.query.explain) row.explanation = explain(machine, setting.link, network, job);
  if (row.explanation && job.gpus == 1 && row.forecast.one_gpu_measured)
    row.explanation->residual_half_width = row.forecast.step_time_s.relative_half_width();
  return row;
}

class Runner {
 public:
  Runner(const Query& query, const RowSink* sink) : query_(query), sink_(sink) {}

  // Networks vary fastest, batches next.
  void add_rows(const Setting& base) {
    rests_on_ = borrowed(query_.machine, base.link, base.job);
    for (const NetworkSeries& series : query_.networks) {
      if (query_.batch_swept) {
        add_batches(base, series);
      } else {
        for (double batch : query_.batches) add_networks(base, series, batch);
      }
    }
  }

  ForecastDocument take() {
    if (!more_than_linear_.empty()) warn(more_than_linear_);
    warn_of_memory();
    if (query_.plan.asked()) decide();
    document_.conditions_asked =
        query_.job.imbalance || query_.job.straggler || query_.job.loader || query_.spread_given;
    return std::move(document_);
  }
  void expect(std::size_t rows) {
    if (sink_ == nullptr && !query_.rank && query_.requirements.empty())
      document_.rows.reserve(rows);
  }
  void warn(std::string text) { document_.warnings.push_back(std::move(text)); }
  void describe_machine() {
    document_.machine = query_.machine.name;
    document_.device = query_.machine.device.name;
    document_.warnings = query_.warnings;
    if (auto nics = assumed_nics(query_)) warn(std::move(*nics));
    if (query_.machine.host_costs(query_.job.engine) == nullptr) {
      warn("machine " + query_.machine.name + " has no host costs for the " +
           std::string(name(query_.job.engine)) + " engine: the forecast leaves the host out");
    }
  }

 private:
  [[nodiscard]] bool crosses(const Setting& setting) const { return setting.job.gpus > 1; }

  void take_row(ForecastRow row) {
    if (more_than_linear_.empty() && row.job.gpus > 1 &&
        row.forecast.speedup.value > row.job.gpus) {
      more_than_linear_ = row.network + ": more than " + std::to_string(row.job.gpus) + "x with " +
                          describe(row.job.strategy) + ", for " + more_than_linear(row);
    }
    if (sink_ != nullptr) return (*sink_)(row);
    document_.rows.push_back(std::move(row));
  }
  static std::string more_than_linear(const ForecastRow& row) {
    if (row.job.strategy.micro_batches > 1)
      return "speedup is against one GPU's plain steps, which update more often";
    if (row.job.scaling == Scaling::strong)
      return "the smaller batch of each GPU is forecast to be faster in proportion";
    return "one GPU's step was timed slower than its parts (x" +
           three_digits(row.forecast.work_scale) + "), which several GPUs may not be";
  }

  // The row that needs the most, where that is more than the GPU has.
  void note_memory(const Network& network, const Job& job) {
    const Bytes needed = memory_needed(network, job);
    if (needed <= most_memory_) return;
    most_memory_ = needed;
    hungriest_ = network.name + " at batch " + count_text(job.batch_per_rank);
  }
  void warn_of_memory() {
    if (auto warning = does_not_fit(gpu_memory_of(query_), hungriest_, most_memory_))
      warn(std::move(*warning));
    for (const RequirementRow& row : document_.requirements)
      for (const std::string& warning : row.warnings) warn(warning);
  }

  // Without a length of the run, or with several networks, plans are shown and none is chosen:
  // cheaper ones would be those of the smaller network.
  void decide() {
    document_.decision.emplace();
    document_.decision->question = query_.plan;
    document_.decision->memory = gpu_memory_of(query_);
    std::vector<Plan> plans;
    for (const ForecastRow& row : document_.rows) plans.push_back(row.plan.value());
    if (!query_.plan.samples || query_.networks.size() > 1 ||
        !query_.networks.front().sweep.empty())
      return;
    if (const auto choice = cheapest(plans, query_.plan.deadline)) {
      document_.decision->row = choice->plan;
      document_.decision->certain = choice->certain;
    }
  }

  void add_row(const Setting& setting, const Network& network) {
    note_memory(network, setting.job);
    ForecastRow row = row_of(setting, network, setting.job, rests_on_);
    if (query_.crossover && crosses(setting))
      row.break_even_batch_per_rank = break_even(setting, network);
    take_row(std::move(row));
  }

  void add_networks(const Setting& base, const NetworkSeries& series, double batch) {
    Setting setting = base;
    setting.job.batch_per_rank = batch;
    if (query_.rank || !query_.requirements.empty()) return add_decisions(setting, series);
    const std::size_t first = document_.rows.size();
    if (series.sweep.empty()) add_row(setting, series.at(0));
    for (double value : series.sweep) add_row(setting, series.at(value));
    if (series.sweep.empty() || !crosses(setting)) return;
    add_crossover(setting, series, first, SweepAxis::parameters);
  }

  void add_decisions(const Setting& setting, const NetworkSeries& series) {
    std::vector<double> sizes = series.sweep;
    if (sizes.empty()) sizes = {0};
    for (double size : sizes) {
      const Network network = series.at(size);
      if (query_.rank) document_.rankings.push_back(ranking_of(setting, network));
      if (!query_.requirements.empty()) note_memory(network, setting.job);
      const ModelSize* grows = series.size ? &*series.size : nullptr;
      for (const Requirement& requirement : query_.requirements)
        document_.requirements.push_back(requirement_of(setting, network, grows, requirement));
    }
  }

  void add_batches(const Setting& base, const NetworkSeries& series) {
    const Network network = series.at(0);
    const std::size_t first = document_.rows.size();
    Setting setting = base;
    for (double batch : query_.batches) {
      setting.job.batch_per_rank = batch;
      if (query_.rank) {
        add_decisions(setting, series);
        continue;
      }
      note_memory(network, setting.job);
      take_row(row_of(setting, network, setting.job, rests_on_));
    }
    if (crosses(setting) && !query_.rank)
      add_crossover(setting, series, first, SweepAxis::batch_per_rank);
  }

  void add_crossover(const Setting& setting, const NetworkSeries& series, std::size_t first,
                     SweepAxis axis) {
    if (sink_ != nullptr) return;
    const std::span<const ForecastRow> rows = std::span(document_.rows).subspan(first);
    std::optional<CrossoverRow> found = crossover(setting, series, rows, axis);
    if (!found) return;
    if (query_.crossover) {
      const double largest = series.sweep.empty() ? 0 : series.sweep.back();
      found->break_even_batch_per_rank = rows.back().break_even_batch_per_rank;
      if (axis == SweepAxis::batch_per_rank)
        found->break_even_batch_per_rank = break_even(setting, series.at(largest));
    }
    document_.crossovers.push_back(std::move(*found));
  }

  const Query& query_;
  const RowSink* sink_;  // nullptr: rows are kept
  ForecastDocument document_;
  SharedTexts rests_on_;          // of the setting's rows
  std::string more_than_linear_;  // of the first such row
  Bytes most_memory_{};
  std::string hungriest_;
};

std::size_t rows_of(const Query& query) {
  double networks = 0;
  for (const NetworkSeries& series : query.networks)
    networks += static_cast<double>(std::max<std::size_t>(1, series.sweep.size()));
  const double rows =
      networks * static_cast<double>(query.links.size()) * static_cast<double>(query.gpus.size()) *
      static_cast<double>(query.strategies.size()) * static_cast<double>(query.batches.size());
  if (rows > static_cast<double>(kMostRows)) {
    throw InputError("--sweep", "and the other lists combine to more than " +
                                    std::to_string(kMostRows) +
                                    " forecasts; give fewer values or a larger --sweep step");
  }
  return static_cast<std::size_t>(rows);
}

template <class Visit>
void each_setting(const Query& query, const ProductTable& products, const Visit& visit) {
  for (const Link& link : query.links) {
    for (const NodeLayout& layout : query.gpus) {
      for (const Strategy& strategy : query.strategies) {
        check_groups(strategy, layout);
        const Link& given = link_at_channels(query.machine, link, strategy);
        const Link joined = link_of(query, given, layout);
        Setting setting{query, joined, query.job, layout.nodes, &given, products};
        setting.job.gpus = layout.gpus();
        setting.job.strategy = strategy;
        setting.job.batch_per_rank = query.batches.front();
        check_sizes(setting, layout);
        visit(setting);
      }
    }
  }
}

// What the model refuses it refuses of a setting's first network or its last.
void forecast_ends(const Setting& base) {
  for (const NetworkSeries& series : base.query.networks) {
    for (double batch : base.query.batches) {
      Job job = base.job;
      job.batch_per_rank = batch;
      std::vector<double> ends{0};
      if (!series.sweep.empty()) ends = {series.sweep.front(), series.sweep.back()};
      for (double end : ends)
        static_cast<void>(
            point_forecast(base.query.machine, base.products, base.link, series.at(end), job));
    }
  }
}

ForecastDocument answered(const Query& query, const RowSink* sink) {
  const std::size_t rows = rows_of(query);
  Runner runner(query, sink);
  runner.expect(rows);
  runner.describe_machine();
  const ProductTable products(query.machine, query.job.dtype);
  if (sink != nullptr) each_setting(query, products, forecast_ends);
  each_setting(query, products, [&](const Setting& setting) { runner.add_rows(setting); });
  return runner.take();
}

}  // namespace

bool ForecastDocument::unmet() const {
  const bool fits = std::any_of(rankings.begin(), rankings.end(),
                                [](const RankingRow& row) { return !row.ranking.nothing_fits(); });
  const bool met = std::all_of(requirements.begin(), requirements.end(),
                               [](const RequirementRow& row) { return row.can_be_met(); });
  const bool plan = std::any_of(rows.begin(), rows.end(),
                                [](const ForecastRow& row) { return row.plan && row.plan->fits; });
  return (!rankings.empty() && !fits) || !met || (inferred && !inferred->explained) ||
         (decision && decision->question.samples && !plan);
}

ForecastDocument run(const Query& query) { return answered(query, nullptr); }

ForecastDocument run(const Query& query, const RowSink& sink) { return answered(query, &sink); }

}  // namespace ddpx
