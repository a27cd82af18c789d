// Training throughput of public series: the largest count from the one-GPU row and the link's name.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "io/catalog.hpp"
#include "model/forecast.hpp"
#include "model/gpu_type.hpp"
#include "model/two_level.hpp"
#include "nlohmann/json.hpp"
#include "predict/measured.hpp"
#include "tests/studies/studies.hpp"

namespace ddpx::study {
namespace {

constexpr double kOneEfficiency = 0.93;

struct Row {
  std::string id;
  bool stated = false;
  int gpus = 0;
  double measured = 0;  // speedup
  Interval forecast;
  double ring = 0;  // B1: max(compute, ring time)
};

DType precision_of(const std::string& word) { return dtype_from(word).value_or(DType::fp16); }

Row row_of(const nlohmann::json& series) {
  Row row;
  row.id = series.at("id");
  row.stated = series.at("stated");
  row.gpus = series.at("gpus");
  const double one = series.at("one");
  row.measured = series.at("many").get<double>() / one;
  const Machine machine =
      for_known_step(machine_of(*find_gpu_type(series.at("gpu").get<std::string>())));
  const Link inside = io::find_link(series.at("link").get<std::string>(), machine).link;
  const int nodes = series.at("nodes");
  Link link = inside;
  if (nodes > 1) {
    const Link between = io::find_link(series.at("inter_link").get<std::string>(), machine).link;
    link = two_level(inside, between, {nodes, row.gpus / nodes}, 1);
  }
  Job job;
  job.gpus = row.gpus;
  job.batch_per_rank = series.at("batch");
  job.dtype = precision_of(series.at("precision"));
  const Seconds step(job.batch_per_rank / one);
  const double parameters = series.at("parameters");
  const Network network = measured_network(machine, job, {parameters, step, job.batch_per_rank});
  row.forecast = forecast(machine, link, network, job).speedup;
  const double gradient = kGradientBytes * parameters;
  const Seconds ring =
      price(link, {Collective::all_reduce, DType::fp32, Bytes(gradient), row.gpus}).time;
  row.ring = row.gpus * step.value() / std::max(step.value(), ring.value());
  return row;
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

std::string lines(const std::vector<Row>& rows, bool stated) {
  struct Method {
    std::string name;
    Errors errors;
  };
  std::vector<Method> methods{{"**forecast**", {}},
                              {"B0, N times", {}},
                              {"B1, max(compute, ring)", {}},
                              {"B5, Amdahl fitted on the other series", {}},
                              {"0.93 N", {}}};
  double width = 0;
  for (const Row& row : rows) {
    if (row.stated != stated) continue;
    const double values[] = {row.forecast.value, static_cast<double>(row.gpus), row.ring,
                             amdahl_of_others(rows, row), kOneEfficiency * row.gpus};
    for (std::size_t i = 0; i < methods.size(); ++i)
      methods[i].errors.add(values[i] / row.measured - 1.0,
                            i == 0 && row.forecast.contains(row.measured));
    width += row.forecast.relative_half_width();
  }
  std::string text;
  for (const Method& method : methods) {
    const auto& e = method.errors;
    const auto n = static_cast<double>(e.values.size());
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", method.name, e.values.size(),
                        percent(e.quantile(0.5)), percent(e.quantile(0.9)), percent(e.mean()),
                        &method == methods.data() ? percent(static_cast<double>(e.covered) / n) +
                                                        ", half-width " + percent(width / n)
                                                  : "");
  }
  return text;
}

constexpr std::string_view kHead =
    "| | series | median | 90th percentile | mean | in 90 % interval |\n"
    "| --- | ---: | ---: | ---: | ---: | --- |\n";

std::string gpus_text(const nlohmann::json& pairs) {
  Errors errors;
  std::string worst;
  double largest = 0;
  for (const auto& pair : pairs) {
    const GpuType& from = *find_gpu_type(pair.at("from").get<std::string>());
    const GpuType& to = *find_gpu_type(pair.at("to").get<std::string>());
    const double measured = pair.at("throughput_ratio");
    const double forecast = 1.0 / step_ratio(from, to, precision_of(pair.at("precision")));
    const double error = forecast / measured - 1.0;
    errors.add(error, std::abs(std::log1p(error)) <= kNormalQuantile90 * kGpuCarryError);
    if (std::abs(error) > std::abs(largest)) {
      largest = error;
      worst = fmt::format("{}, {} to {}", pair.at("series").get<std::string>(), from.name, to.name);
    }
  }
  return fmt::format(
      "\n## One-GPU throughput from one GPU to another\n\nThe same network, batch and precision on "
      "two GPUs of the table (`--gpu`): {} pairs of the same public series. Median error {}, 90th "
      "percentile {}, {} inside the 90 % interval. Worst: {:+.0f} %, {}. The weight of compute "
      "against "
      "memory (0.4) and the error were chosen with these pairs and others of workstation cards in "
      "view: there is one constant, and 0.2 to 0.6 change the median by less than 2 points.\n",
      errors.values.size(), percent(errors.quantile(0.5)), percent(errors.quantile(0.9)),
      percent(static_cast<double>(errors.covered) / static_cast<double>(errors.values.size())),
      100 * largest, worst);
}

}  // namespace

std::string scaling_study(const std::string& path) {
  std::ifstream file(path);
  const auto document = nlohmann::json::parse(file);
  std::vector<Row> rows;
  for (const auto& series : document.at("series")) rows.push_back(row_of(series));
  std::string text =
      "\n## Training throughput\n\nSpeedup at the largest count of public series, from the one-GPU "
      "row "
      "(`--params`, `--step-time`, `--batch`), the GPU's datasheet (`--gpu`) and the name of the "
      "link; "
      "parameters of the public model where the source has none. Series whose link is stated:\n\n" +
      std::string(kHead) + lines(rows, true) +
      "\nSeries whose link follows from the form factor only (SXM); the spread between ranks that "
      "the "
      "forecast takes for a model known by its step alone was set on these:\n\n" +
      std::string(kHead) + lines(rows, false) +
      "\nThe worst:\n\n| error | series | GPUs | measured | forecast (90 %) |\n"
      "| ---: | --- | ---: | ---: | ---: |\n";
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    const auto off = [](const Row& r) { return std::abs(r.forecast.value / r.measured - 1); };
    return off(a) > off(b);
  });
  for (std::size_t i = 0; i < 10 && i < rows.size(); ++i) {
    const Row& r = rows[i];
    text += fmt::format("| {:+.0f} % | {} | {} | {:.2f} | {:.2f} ({:.2f}-{:.2f}) |\n",
                        100 * (r.forecast.value / r.measured - 1), r.id, r.gpus, r.measured,
                        r.forecast.value, r.forecast.low, r.forecast.high);
  }
  text +=
      "\nThese are bound by what neither links nor parameters show: input pipelines and hosts "
      "(MaskRCNN "
      "and SSD in TensorFlow; UNet at batch 1 reaches 5.4 on V100 and 4.6 on A100, whose link is "
      "faster), and SQuAD fine-tuning whose start-up counts. The 90th percentile stays at what one "
      "efficiency for all gives; Amdahl's share fitted on the others is pulled down by these and "
      "so "
      "closer to them, and twice as far off the rest.\n";
  return text + gpus_text(document.at("pairs"));
}

}  // namespace ddpx::study
