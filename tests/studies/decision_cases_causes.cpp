// Slow ranks, loaders, accumulation, money.
#include <fmt/format.h>

#include "model/conditions.hpp"
#include "model/gpu_type.hpp"
#include "model/plan.hpp"
#include "predict/infer.hpp"
#include "predict/measured.hpp"
#include "predict/rank_report.hpp"
#include "profiler/cuda/preflight.hpp"
#include "tests/studies/decision_cases.hpp"

namespace ddpx::study {
namespace {

std::string times(const std::vector<double>& milliseconds) {
  std::string text;
  for (double t : milliseconds) text += fmt::format("{}{}ms", text.empty() ? "" : ",", t);
  return text;
}

std::string named(const DiagnosedRun& run) {
  for (const Finding& finding : run.diagnosis.findings) {
    if (finding.rank) return fmt::format("rank {}", *finding.rank);
  }
  return "no rank";
}

void ranks(const Reports& reports, Verdicts& v) {
  const Report& injected = reports.at("U119");
  Options o;
  o.diagnose = fmt::format("t4={}ms", injected("step_ms"));
  o.rank_wall = times(injected.list("wall_ms"));
  const std::string by_wall = named(diagnosed(o));
  v.fact("U119", "the slow rank from wall times", "293.0, 292.2, 293.0, 293.1 ms", "no rank",
         by_wall, by_wall == "no rank");
  o.rank_wall.reset();
  std::vector<double> compute = injected.list("wall_ms");
  for (std::size_t i = 0; i < compute.size(); ++i)
    compute[i] -= i == 1 ? 0 : injected("injected_ms");
  o.rank_compute = times(compute);
  const std::string by_compute = named(diagnosed(o));
  v.fact("U119", "and from compute alone (200 ms injected)", "rank 1", "rank 1", by_compute,
         by_compute == "rank 1", "compute is the wall less what the other ranks waited");
  o.rank_compute.reset();
  o.rank_data = times(injected.list("data_ms"));
  const std::string by_data = named(diagnosed(o));
  v.fact("U119", "control run: the rank whose loader stalls", "rank 2", "rank 2", by_data,
         by_data == "rank 2");
  const Report& tiny = reports.at("U120");
  o = {};
  o.diagnose = fmt::format("message={}B,took={}ms", tiny("bytes"), tiny("took_ms"));
  o.links = {"nvlink3"};
  o.inter_link = "infiniband-hdr";
  o.gpus = fmt::format("{}x{}", tiny("nodes"), tiny("gpus") / tiny("nodes"));
  const DiagnosedRun run = diagnosed(o);
  v.fact("U120", "228 B take 4 ms on 160 A100", "a late rank", "a wait, not bandwidth",
         run.diagnosis.verdict == Cause::slow_rank ? "a wait for a late rank" : "the transfer",
         run.diagnosis.verdict == Cause::slow_rank, "InfiniBand HDR taken");
  const Report& healthy = reports.at("U122");
  o = {};
  o.diagnose = "t6=50ms";
  o.rank_compute = times(healthy.list("rank_ms"));
  const std::string flagged = named(diagnosed(o));
  v.fact("U122", "six ranks of 9.2 to 10.1 ms: one more than 5 % slow", "1.10x", "rank 1", flagged,
         flagged == "rank 1", "held against the median, 9.46 ms");
  std::string report;
  for (std::size_t i = 0; i < healthy.list("rank_ms").size(); ++i)
    report += fmt::format("[default0]:    Rank {}: {}ms\n", i, healthy("rank_ms", i));
  std::vector<double> milliseconds;
  for (const Seconds time : rank_times("U122", report)) milliseconds.push_back(1e3 * time.value());
  o.rank_compute = times(milliseconds);
  const std::string read = named(diagnosed(o));
  v.fact("U122", "the report itself as an input, with the launcher's prefix", "1.10x", "rank 1",
         read, read == "rank 1");
}

void loaders(const Reports& reports, Verdicts& v) {
  const Report& r = reports.at("U123");
  const Machine machine = for_known_step(machine_of(*find_gpu_type("t4")));
  Job job;
  job.gpus = static_cast<int>(r("gpus"));
  job.batch_per_rank = r("batch_taken");
  job.loader = Loader{r("loader_taken"), false};
  const Network network = measured_network(
      machine, job,
      {r("parameters"), Seconds(r("batch_taken") / r("samples_per_s_taken")), r("batch_taken")});
  const Forecast f = forecast(machine, link_named("pcie3"), network, job);
  v.number("U123", "4 GPUs of 300 samples/s, a loader of 700: samples/s", "", "700",
           f.samples_per_s.value, 699, 701, "rates taken");
  cuda::PreflightFacts facts;
  facts.ranks = 4;
  facts.gpus_visible = 4;
  facts.cores = 1;
  std::string warned = "nothing";
  for (const cuda::Finding& finding : cuda::preflight(facts)) {
    if (finding.cause == "ranks share a core") warned = finding.value;
  }
  v.fact("U127", "loaders that share one core", "", "ddpx-calibrate warns of it", warned,
         warned == "1 core allowed for 4 ranks", "4 ranks taken");
}

void accumulation(const Reports& reports, Verdicts& v) {
  const Report& r = reports.at("U128");
  const double k = r("micro_batches_taken");
  const auto gain = [&](double synced, double kept) {
    // compute + exchange = synced, compute + exchange/K = kept.
    const double exchange = (synced - kept) / (1 - 1 / k);
    Machine machine = for_known_step(machine_of(*find_gpu_type("v100-sxm")));
    machine.sample_spread = 0;  // the batch is not stated
    Job job;
    job.gpus = 2;
    job.batch_per_rank = 2;
    const double one = synced - exchange;
    const Link link =
        link_named(fmt::format("{}GB/s,20us", infer_link(machine, job, r("parameters_taken"),
                                                         {Seconds(one), Seconds(synced)})
                                                      .bus_bandwidth.value() /
                                                  1e9));
    const Network network =
        measured_network(machine, job, {r("parameters_taken"), Seconds(one), job.batch_per_rank});
    const double plain = StepModel(machine, link, network, job).run().total().value();
    job.strategy.micro_batches = static_cast<int>(k);
    return k * plain / StepModel(machine, link, network, job).run().total().value();
  };
  v.number("U128", "no_sync on several nodes: gain", "2.20", "2.20, 15 %",
           gain(r("multi_s"), r("multi_no_sync_s")), 1.87, 2.53,
           "link inferred from the synchronised step; 8 micro-batches, 110M parameters taken");
  v.number("U128", "and on one node", "1.22", "1.22, 15 %",
           gain(r("single_s"), r("single_no_sync_s")), 1.04, 1.40);
  const Question q{"v100-sxm", 110e6, 0.3, 8};
  const double none =
      forecast_of(q, link_named("pcie3"), 2, parse_strategy("ddp,accumulate=1")).step_time_s.value /
      forecast_of(q, link_named("pcie3"), 2).step_time_s.value;
  v.number("U128", "one micro-batch: gain, percent", "0", "0", 100 * (none - 1), 0, 0);
  const Report& pythia = reports.at("U129");
  const Question rtx{"v100-pcie", pythia("parameters"), pythia("step_s_taken"), 8};
  Strategy eight;
  eight.micro_batches = static_cast<int>(pythia("micro_batches"));
  const double gained = forecast_of(rtx, link_named("pcie3"), 2, eight).speedup.value /
                            forecast_of(rtx, link_named("pcie3"), 2).speedup.value -
                        1;
  v.number("U129", "2 RTX 8000, Pythia-125M, 8 micro-batches: gain, percent", "5", "3 to 8",
           100 * gained, 3, 8, "a step of 1 s taken");
  const std::string every = "8 micro-batches that all exchange: communication over that of one";
  const auto busy = [&](const Strategy& strategy) {
    return forecast_of(q, link_named("pcie3"), 2, strategy).step.communication_busy.value();
  };
  v.number("U131", every, "K", "8",
           busy(parse_strategy("ddp,accumulate=8,sync=every")) / busy(eight), 7.6, 8.4);
}

void money(const Reports& reports, Verdicts& v) {
  const Report& r = reports.at("U002");
  const Prices prices{"EUR", 0, {{"one", 1, r("price_1"), {}}, {"four", 4, r("price_4"), {}}}};
  const auto cost = [&](int gpus, const char* rate) {
    return cost_of(1000, r(rate), rent(prices, {1, gpus}, "pcie").per_hour);
  };
  v.number("U102", "EUR per 1000 samples on 1 GPU, U002's prices and rates", "", "0.0027",
           cost(1, "rate_1"), 0.00265, 0.00275);
  v.number("U102", "and on 4", "", "0.0115", cost(4, "rate_4"), 0.01145, 0.01155);
  v.number("U102", "4 over 1", "", "4.25", cost(4, "rate_4") / cost(1, "rate_1"), 4.2, 4.3);
}

}  // namespace

void cause_cases(const Reports& reports, Verdicts& v) {
  ranks(reports, v);
  loaders(reports, v);
  accumulation(reports, v);
  money(reports, v);
}

}  // namespace ddpx::study
