// Training throughput of public series: the largest count from the one-GPU row and the link's name.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>

#include "io/catalog.hpp"
#include "model/forecast.hpp"
#include "model/gpu_type.hpp"
#include "model/two_level.hpp"
#include "nlohmann/json.hpp"
#include "predict/link_text.hpp"
#include "predict/measured.hpp"
#include "tests/studies/scaling_gpus.hpp"
#include "tests/studies/studies.hpp"

namespace ddpx::study {
namespace {

constexpr double kOneEfficiency = 0.93;
constexpr double kLargeError = 0.15;

struct Row {
  std::string id;
  std::string link_known;  // "stated", "form" or "kind"
  int gpus = 0;
  int nodes = 1;
  bool pcie = false;
  double measured = 0;  // speedup
  Interval forecast;
  Interval overlapped;  // as if every exchange ran beside backward
  double ring = 0;      // B1: max(compute, ring time)
  double lost = 0;      // seconds of a step beyond one GPU's
  std::string cause;

  [[nodiscard]] double error() const { return forecast.value / measured - 1.0; }
};

Link link_named(const std::string& name, const Machine& machine) {
  return looks_like_figures(name) ? link_from_figures("series", name)
                                  : io::find_link(name, machine).link;
}

Link link_of(const nlohmann::json& series, const Machine& machine) {
  Link inside = link_named(series.at("link"), machine);
  const int nodes = series.at("nodes");
  if (nodes == 1) return inside;
  return two_level(inside, link_named(series.at("inter_link"), machine),
                   {nodes, series.at("gpus").get<int>() / nodes}, series.at("nics").get<int>());
}

// What the forecast is told of a series besides its link.
struct Told {
  bool samples = true;      // which of them are alike
  bool read_alike = false;  // and of one shape is enough
  bool cycle = true;        // Horovod's
};

// A series as it is forecast.
struct Asked {
  Machine machine;
  Link link;
  Network network;
  Job job;
  double parameters = 0;
};

Asked asked_of(const nlohmann::json& series, Seconds framework, const Told& told) {
  Asked asked;
  asked.machine =
      for_known_step(machine_of(*find_gpu_type(series.at("gpu").get<std::string>())), framework);
  const std::string samples = series.value("samples", "");
  if (told.samples && (samples == "alike" || (told.read_alike && samples == "read")))
    asked.machine.sample_spread = 0;
  asked.link = link_of(series, asked.machine);
  Job& job = asked.job;
  job.gpus = series.at("gpus");
  job.batch_per_rank = series.at("batch");
  if (told.cycle) job.strategy = parse_strategy(series.value("strategy", "ddp"));
  job.strategy.overlap = series.value("wrapper", "") != "apex";
  job.dtype = *dtype_from(series.at("precision").get<std::string>());
  const Seconds step(job.batch_per_rank / series.at("one").get<double>());
  // A model held in fp16 exchanges half the bytes.
  const double held = series.value("gradients", "") == "fp16" ? 0.5 : 1.0;
  asked.parameters = held * series.at("parameters").get<double>();
  asked.network =
      measured_network(asked.machine, job, {asked.parameters, step, job.batch_per_rank});
  return asked;
}

std::string source_of(const nlohmann::json& series) {
  const std::string source = series.at("source");
  return source.substr(0, source.find('#'));
}

double speedup_of(const nlohmann::json& series) {
  return series.at("many").get<double>() / series.at("one").get<double>();
}

Row row_of(const nlohmann::json& series, Seconds framework, const Told& told) {
  Row row;
  row.id = series.at("id");
  row.link_known = series.at("link_known");
  row.cause = series.value("cause", "");
  row.gpus = series.at("gpus");
  row.nodes = series.at("nodes");
  row.pcie = series.at("link").get<std::string>().starts_with("pcie");
  row.measured = speedup_of(series);
  const Asked asked = asked_of(series, framework, told);
  Job job = asked.job;
  const Seconds step(job.batch_per_rank / series.at("one").get<double>());
  row.lost = step.value() * (row.gpus / row.measured - 1.0);
  row.forecast = forecast(asked.machine, asked.link, asked.network, job).speedup;
  job.strategy.overlap = true;
  row.overlapped = forecast(asked.machine, asked.link, asked.network, job).speedup;
  const double gradient = kGradientBytes * asked.parameters;
  const Seconds ring =
      price(asked.link, {Collective::all_reduce, DType::fp32, Bytes(gradient), row.gpus}).time;
  row.ring = row.gpus * step.value() / std::max(step.value(), ring.value());
  return row;
}

// Every series with what sharing takes the framework chosen on the stated series of other sources.
struct Chosen {
  std::vector<Row> rows;
  std::map<double, int> stated;  // how many stated series a cost was chosen for, by milliseconds
};

Chosen chosen_elsewhere(const nlohmann::json& series, const Told& told) {
  constexpr double kGrid = 0.5e-3;
  constexpr std::size_t kCosts = 17;
  const auto cost = [](std::size_t i) { return kGrid * static_cast<double>(i); };
  struct Error {
    std::string source;
    double value;
  };
  std::vector<std::vector<Error>> errors(kCosts);  // of stated series
  for (const auto& one : series) {
    if (one.at("link_known") != "stated") continue;
    for (std::size_t i = 0; i < kCosts; ++i) {
      const Asked a = asked_of(one, Seconds(cost(i)), told);
      const double speedup = point_forecast(a.machine, a.link, a.network, a.job).speedup.value;
      errors[i].push_back({source_of(one), std::log(speedup / speedup_of(one))});
    }
  }
  // The least median error, for what slows single series (loaders, short runs) is not the
  // framework's.
  const auto median = [&](std::size_t i, const std::string& left_out) {
    Errors others;
    for (const Error& error : errors[i])
      if (error.source != left_out) others.add(error.value);
    return others.quantile(0.5);
  };
  std::map<std::string, std::size_t> best;  // by source
  Chosen chosen;
  for (const auto& one : series) {
    const std::string source = source_of(one);
    if (!best.contains(source)) {
      std::size_t& index = best[source];
      for (std::size_t i = 1; i < kCosts; ++i)
        if (median(i, source) < median(index, source)) index = i;
    }
    chosen.rows.push_back(row_of(one, Seconds(cost(best[source])), told));
    if (chosen.rows.back().link_known == "stated") ++chosen.stated[1e3 * cost(best[source])];
  }
  return chosen;
}

// Amdahl's share by least squares on 1/S over every other series.
double amdahl_of_others(const std::vector<Row>& rows, const Row& judged) {
  double numerator = 0;
  double denominator = 0;
  for (const Row& row : rows) {
    if (&row == &judged) continue;
    const double x = 1.0 - 1.0 / row.gpus;  // 1/S = 1 - p x
    numerator += x * (1.0 - 1.0 / row.measured);
    denominator += x * x;
  }
  const double p = numerator / denominator;
  return 1.0 / ((1.0 - p) + p / judged.gpus);
}

using Rows = std::vector<const Row*>;

Rows those(const std::vector<Row>& rows, const std::function<bool(const Row&)>& wanted) {
  Rows result;
  for (const Row& row : rows)
    if (wanted(row)) result.push_back(&row);
  return result;
}

std::string line(const std::string& name, const Errors& errors, const std::string& interval) {
  return fmt::format("| {} | {} | {} | {} | {} | {} |\n", name, errors.values.size(),
                     percent(errors.quantile(0.5)), percent(errors.quantile(0.9)),
                     percent(errors.mean()), interval);
}

std::string forecast_line(const std::string& name, const Rows& rows,
                          Interval Row::*forecast = &Row::forecast) {
  Errors errors;
  double width = 0;
  for (const Row* row : rows) {
    const Interval& interval = row->*forecast;
    errors.add(interval.value / row->measured - 1.0, interval.contains(row->measured));
    width += interval.relative_half_width();
  }
  const auto n = static_cast<double>(rows.size());
  return line(
      name, errors,
      percent(static_cast<double>(errors.covered) / n) + ", half-width " + percent(width / n));
}

std::string baseline_line(const std::string& name, const Rows& rows,
                          const std::function<double(const Row&)>& speedup) {
  Errors errors;
  for (const Row* row : rows) errors.add(speedup(*row) / row->measured - 1.0);
  return line(name, errors, "");
}

std::string baselines(const std::vector<Row>& all, const Rows& rows) {
  return baseline_line("B0, N times", rows, [](const Row& r) { return r.gpus; }) +
         baseline_line("B1, max(compute, ring)", rows, [](const Row& r) { return r.ring; }) +
         baseline_line("B5, Amdahl fitted on the other series", rows,
                       [&](const Row& r) { return amdahl_of_others(all, r); }) +
         baseline_line("0.93 N", rows, [](const Row& r) { return kOneEfficiency * r.gpus; });
}

constexpr std::string_view kHead =
    "| | series | median | 90th percentile | mean | in 90 % interval |\n"
    "| --- | ---: | ---: | ---: | ---: | --- |\n";

constexpr std::string_view kIntroduction =
    "\n## Training throughput\n\nSpeedup at the largest count of public series, from the one-GPU "
    "row (`--params`, `--step-time`, `--batch`), the GPU's datasheet (`--gpu`) and the name of the "
    "link; parameters of the public model where the source has none, half of them where gradients "
    "are exchanged in fp16 (apex O2). The forecast is told what the training scripts say, and "
    "nothing of what was measured on several GPUs:\n\n"
    "- `--strategy ddp,overlap=no` where they import apex's DistributedDataParallel (what it is "
    "without that stands beside it);\n"
    "- `--strategy ddp,cycle=5ms` where Horovod exchanges, 1 ms from its 0.21 on;\n"
    "- `--straggler samples=0%` where every sample has one shape and comes from memory, a stored "
    "array, DALI or a generator, so that none is more work than another (165 of the series). That "
    "a file read and decoded on the host's cores is none of these was settled after WaveGlow's "
    "and Mask R-CNN's errors had been seen: a line of the table has what shape alone gives.\n\n"
    "What a step known by its time alone takes the framework besides (`FrameworkCost`) is chosen "
    "for each source (a model's README, a collection of logs) on the stated series of all others, "
    "by their median error: {}; the program takes 2 ms, by the same rule over all of them. The "
    "rest of what the forecast takes for "
    "such a model (ranks that differ by 2 %, samples by 30 %, a residual of 8 %), for boxes "
    "without "
    "peer-to-peer access (0.85 of the bus bandwidth per doubling) and of apex was set on the "
    "series of the second and third table, not on these, whose link the source or the name of the "
    "machine states; but the publisher is the same for the judged series on PCIe (Lambda), so "
    "that a third one could differ:\n\n";

// A short SQuAD run's rate holds its start-up; the collector of these logs says so.
bool short_run(const Row& row) {
  return row.id.starts_with("lambda/") && row.id.find("_squad/") != std::string::npos;
}

// The stated series where the forecast is told less of them, or something else.
std::string told_line(const std::string& name, const nlohmann::json& series, const Told& told) {
  const std::vector<Row> rows = chosen_elsewhere(series, told).rows;
  return forecast_line(name, those(rows, [](const Row& r) { return r.link_known == "stated"; }));
}

std::string stated_table(const std::vector<Row>& rows, const nlohmann::json& series) {
  const auto stated = those(rows, [](const Row& r) { return r.link_known == "stated"; });
  const auto kind = [&](const std::function<bool(const Row&)>& wanted) {
    return those(rows, [&](const Row& r) { return r.link_known == "stated" && wanted(r); });
  };
  return std::string(kHead) + forecast_line("**forecast**", stated) +
         forecast_line("forecast, apex taken to overlap", stated, &Row::overlapped) +
         told_line("forecast, Horovod's cycle not told", series, {.cycle = false}) +
         told_line("forecast, samples alike not told", series, {.samples = false}) +
         told_line("forecast, samples alike by shape alone", series, {.read_alike = true}) +
         baselines(rows, stated) +
         forecast_line("forecast, NVLink inside a node",
                       kind([](const Row& r) { return r.nodes == 1 && !r.pcie; })) +
         forecast_line("forecast, PCIe inside a node",
                       kind([](const Row& r) { return r.nodes == 1 && r.pcie; })) +
         forecast_line("forecast, between nodes", kind([](const Row& r) { return r.nodes > 1; })) +
         forecast_line("forecast, without short SQuAD runs",
                       kind([](const Row& r) { return !short_run(r); }));
}

std::string other_table(const std::vector<Row>& rows, std::string_view link_known) {
  const auto wanted = those(rows, [&](const Row& r) { return r.link_known == link_known; });
  return std::string(kHead) + forecast_line("**forecast**", wanted) +
         forecast_line("forecast, apex taken to overlap", wanted, &Row::overlapped) +
         baselines(rows, wanted);
}

// What a PCIe box of an unstated link loses in fp32 over what it loses where half the bytes are
// exchanged: 2 where nothing of the exchange hides, more where backward hides its share.
std::string exposure(const std::vector<Row>& rows) {
  std::map<std::string, double> full;
  std::vector<double> ratios;
  const auto box = [](const Row& r) { return r.id.substr(0, r.id.rfind('/')); };
  const auto wanted = [](const Row& r, std::string_view precision) {
    const bool exchanges = r.id.find("/gnmt/") != r.id.npos || r.id.find("_squad/") != r.id.npos;
    return r.link_known == "kind" && exchanges && r.id.ends_with(precision) && r.lost > 0;
  };
  for (const Row& r : rows)
    if (wanted(r, "/FP32")) full[box(r)] = r.lost;
  for (const Row& r : rows)
    if (wanted(r, "/FP16") && full.contains(box(r))) ratios.push_back(full[box(r)] / r.lost);
  std::sort(ratios.begin(), ratios.end());
  return fmt::format(
      "\nThat apex hides nothing is read off the third table: of {} pairs of gnmt and SQuAD series "
      "in "
      "one box, fp32 loses {:.2f} times (median) what fp16 loses, which exchanges half the bytes; "
      "were part of it hidden, it would be more. Why is not known: apex's default is to overlap.\n",
      ratios.size(), ratios[ratios.size() / 2]);
}

// Every series with a stated link that is off by more than kLargeError.
std::string misses(std::vector<Row> rows) {
  std::erase_if(rows, [](const Row& r) {
    return r.link_known != "stated" || std::abs(r.error()) <= kLargeError;
  });
  std::sort(rows.begin(), rows.end(),
            [](const Row& a, const Row& b) { return std::abs(a.error()) > std::abs(b.error()); });
  std::string text =
      "\nThose with a stated link that are off by more than 15 %:\n\n"
      "| error | series | GPUs | measured | forecast (90 %) | cause |\n"
      "| ---: | --- | ---: | ---: | ---: | --- |\n";
  for (const Row& r : rows) {
    text += fmt::format("| {:+.0f} % | {} | {} | {:.2f} | {:.2f} ({:.2f}-{:.2f}) | {} |\n",
                        100 * r.error(), r.id, r.gpus, r.measured, r.forecast.value, r.forecast.low,
                        r.forecast.high, r.cause);
  }
  return text;
}

std::string not_forecast(const nlohmann::json& left, std::size_t forecasts) {
  std::map<std::string, int> reasons;
  for (const auto& series : left) ++reasons[series.at("why").get<std::string>()];
  std::string text = fmt::format("\nNot forecast are {} of the {} public series:", left.size(),
                                 left.size() + forecasts);
  for (const auto& [why, count] : reasons) text += fmt::format(" {} ({});", why, count);
  text.back() = '.';
  return text + "\n";
}

}  // namespace

std::string scaling_study(const std::string& path) {
  std::ifstream file(path);
  const auto document = nlohmann::json::parse(file);
  const Chosen chosen = chosen_elsewhere(document.at("series"), {});
  const std::vector<Row>& rows = chosen.rows;
  std::string costs;
  for (const auto& [ms, count] : chosen.stated)
    costs += fmt::format("{}{} ms for {}", costs.empty() ? "" : ", ", ms, count);
  return fmt::format(kIntroduction, costs) + stated_table(rows, document.at("series")) +
         "\nSeries whose link follows from the form factor only (SXM):\n\n" +
         other_table(rows, "form") +
         "\nSeries on PCIe or TCP of an unstated generation, peer-to-peer access or rate (the "
         "usual link of the GPU is taken):\n\n" +
         other_table(rows, "kind") + exposure(rows) +
         not_forecast(document.at("not_forecast"), rows.size()) + misses(rows) +
         "\nWhat is left has causes that one GPU's step and a link's name do not show: loaders, "
         "hosts, short runs. Of the series that are off by more than 15 % most are slower than "
         "forecast, by as many milliseconds in fp32 as in fp16.\n" +
         gpus_text(document.at("pairs"));
}

}  // namespace ddpx::study
