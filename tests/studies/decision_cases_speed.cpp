// Does it pay, and if not, why: reports of one box.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/amdahl.hpp"
#include "model/crossover.hpp"
#include "tests/studies/decision_cases.hpp"

namespace ddpx::study {
namespace {

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void rented_box(const Report& r, Verdicts& v) {
  Options o;
  o.batch = fmt::format("{}", r("batch_taken"));
  o.diagnose = fmt::format("r1={},r2={},r4={}", r("rate_1"), r("rate_2"), r("rate_4"));
  const DiagnosedRun run = diagnosed(o);
  const bool pair = run.flags.size() == 1 && run.flags[0].gpus == 2;
  v.fact("U002", "which of 1, 2, 4 GPUs looks broken", "15.4, 4.5, 14.0 samples/s", "2 GPUs",
         pair ? "2 GPUs" : "another", pair);
  const Question q{"rtx4090", r("parameters"), r("batch_taken") / r("rate_1"), r("batch_taken")};
  const Link link = through_host("4GB/s,20us");
  v.number("U002", "4 GPUs of which a pair has 4 GB/s: speedup", "0.91", "at most 1.3",
           forecast_of(q, link, 4).speedup.value, 0, 1.3,
           "peer-to-peer access is off, as reported: four ranks share what a pair has");
  std::string best;
  double most = 0;
  for (const char* words :
       {"ddp", "ddp,accumulate=8", "ddp,compress=fp16", "ddp,bucket=100MiB", "ddp,bucket-view"}) {
    const double speedup = forecast_of(q, link, 4, parse_strategy(words)).speedup.value;
    if (speedup > most) best = words;
    most = std::max(most, speedup);
  }
  v.fact("U002", "the mitigation that helps most", "", "accumulation", best,
         best == "ddp,accumulate=8");
}

void crossover_of_sizes(const Report& r, Verdicts& v) {
  std::vector<SweepPoint> reported;
  std::vector<SweepPoint> forecasts;
  const Link link = link_named("4GB/s,20us");
  for (std::size_t i = 0; i < r.list("parameters").size(); ++i) {
    const double s = r("speedup", i);
    reported.push_back({r("parameters", i), {s, s, s}});
    // Every model saw the same images: steps are as the reported hours, from ResNet-50's rate.
    const double step =
        r("batch_taken") / r("resnet50_samples_per_s_taken") * r("hours_1", i) / r("hours_1", 2);
    const Question q{"rtx4090", r("parameters", i), step, r("batch_taken")};
    forecasts.push_back({r("parameters", i), forecast_of(q, link, 2).speedup});
  }
  const auto measured = crossings(reported);
  v.number("U003", "where the reported speedups cross 1, M parameters", "about 10", "3.5 to 25",
           measured.empty() ? 0 : measured.front().x.value / 1e6, 3.5, 25);
  const auto found = crossings(forecasts);
  v.number("U003", "and where the forecast does", "about 10", "3.5 to 25",
           found.empty() ? 0 : found.front().x.value / 1e6, 3.5, 25,
           "no step time is stated; at the steps taken 5 MB of gradients take 1 ms of 18, and no "
           "link makes that 0.66: what slows the small models is not communication");
}

void same_epoch(const Reports& reports, Verdicts& v) {
  const Report& bert = reports.at("U005");
  const Question q{"v100-pcie", bert("parameters"), bert("epoch_s_1") / bert("steps_taken"),
                   bert("batch_taken")};
  v.number("U005", "2 GPUs, BERT-base, same total batch: speedup", "1.0", "0.9 to 1.15",
           forecast_of(q, link_named("pcie3"), 2, {}, Scaling::strong).speedup.value, 0.9, 1.15,
           "batch 16 of a set of 3,668 taken: 91 ms a step");
  const Report& contrastive = reports.at("U007");
  v.number("U007", "4 RTX 4090 through host memory: speedup", "0.92", "0.7 to 1.2",
           forecast_of({"rtx4090", contrastive("parameters_taken"), contrastive("step_s_taken"),
                        contrastive("batch")},
                       through_host("4GB/s,20us"), 4)
               .speedup.value,
           0.7, 1.2, "the model is not stated: 110M parameters, 50 ms taken");
  const Report& faces = reports.at("U010");
  Options o;
  o.params = fmt::format("{}", faces("parameters_taken"));
  o.diagnose = steps_text({{1, faces("step_s_1")}, {2, faces("step_s_2")}});
  const DiagnosedRun run = diagnosed(o);
  v.number("U010", "link that explains 0.75 to 1.33 s, GB/s", "1.13x", "is given",
           run.implied[1] ? run.implied[1]->value() / 1e9 : 0, 0.1, 50,
           "the size is not stated: 50M parameters taken");
}

void not_communication(const Reports& reports, Verdicts& v) {
  const Report& yolo = reports.at("U012");
  const double steps = yolo("images") / yolo("batch");
  const double one = mean(yolo.list("epoch_s_1")) / steps;
  const double two = mean(yolo.list("epoch_s_2")) / (steps / 2);
  const Question q{"v100-sxm", yolo("parameters"), one, yolo("batch")};
  v.number("U012", "2 V100, YOLOv5l, PCIe 3: speedup if only the link mattered", "1.145",
           "above 1.6", forecast_of(q, link_named("pcie3"), 2).speedup.value, 1.6, 2.0);
  Options o;
  o.gpu = "v100-sxm";
  o.params = fmt::format("{}", yolo("parameters"));
  o.links = {"pcie3"};
  o.diagnose = steps_text({{1, one}, {2, two}});
  const DiagnosedRun run = diagnosed(o);
  v.fact("U012", "what slows it", "", "not communication",
         run.diagnosis.not_communication ? "not communication" : "communication",
         run.diagnosis.not_communication);
  const Report& fault = reports.at("U029");
  o = {};
  o.params = fmt::format("{}", fault("parameters_taken"));
  o.diagnose = steps_text({{1, fault("step_s_1")}, {2, fault("step_s_2")}});
  const DiagnosedRun broken = diagnosed(o);
  const bool below = broken.verdict.find("below any working PCIe link") != std::string::npos;
  v.fact("U029", "2 A6000, 3 to 56 s a step: what explains it", "0.107x",
         "below any working PCIe link", below ? "below any working PCIe link" : "a link", below,
         "100M parameters taken");
}

void fixed_cost(const Report& r, Verdicts& v) {
  const Amdahl law = amdahl_through(2, r("epoch_min_1") / r("epoch_min_2"));
  v.number("U013", "minutes of an epoch of 17 that do not shrink", "17 to 13 min", "9",
           (1 - law.parallel_fraction) * r("epoch_min_1"), 8.9, 9.1,
           "Amdahl's law through the two epochs");
  const Amdahl toy = amdahl_through(2, r("toy_h_1") / r("toy_h_2"));
  v.fact("U013", "the toy set: can its epoch shrink", "0.86x", "no",
         toy.parallel_fraction < 0 ? "no: a negative parallel share" : "yes",
         toy.parallel_fraction < 0, "by its own two times; nothing else is stated of it");
}

}  // namespace

void speed_cases(const Reports& reports, Verdicts& v) {
  rented_box(reports.at("U002"), v);
  crossover_of_sizes(reports.at("U003"), v);
  same_epoch(reports, v);
  not_communication(reports, v);
  fixed_cost(reports.at("U013"), v);
}

}  // namespace ddpx::study
