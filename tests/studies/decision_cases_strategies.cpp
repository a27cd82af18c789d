// Which strategy, and whether inputs move the answer.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/error.hpp"
#include "model/gpu_type.hpp"
#include "model/network_spec.hpp"
#include "model/quantity.hpp"
#include "model/ranking.hpp"
#include "model/scaled_link.hpp"
#include "model/two_level.hpp"
#include "predict/options.hpp"
#include "predict/request.hpp"
#include "tests/studies/decision_cases.hpp"

namespace ddpx::study {
namespace {

// Throughput of one strategy over another's.
double ratio(const Question& q, const Link& link, int gpus, const std::string& one,
             const std::string& other) {
  return forecast_of(q, link, gpus, parse_strategy(one)).samples_per_s.value /
         forecast_of(q, link, gpus, parse_strategy(other)).samples_per_s.value;
}

// What --rank-strategies says of a GPT of 1.3B on 4 nodes of 8 H200; each has `memory`.
Ranking ranked(const std::string& memory) {
  const Machine machine = machine_of(*find_gpu_type("h200"));
  const Link link = nodes_of("nvlink4", "infiniband-ndr", {4, 8});
  const Network network = network_from("gpt:layers=24,hidden=2048,heads=16");
  Job job;
  job.gpus = 32;
  job.batch_per_rank = 4;
  job.dtype = DType::bf16;
  job.optimizer = Optimizer::adamw;
  return rank_strategies({machine, link, network, job, 4, parse_size("--gpu-memory", memory)});
}

// Nodes of 8 over a network on which HSDP on four keeps that share of one node's throughput of each
// GPU.
Link network_that_keeps(const Question& q, double share) {
  const Link inside = link_named("nvlink3");
  const Link between = link_named("roce-100");
  const auto joined = [&](double factor) {
    return two_level(inside, with_bandwidth(between, factor), {4, 8}, std::nullopt);
  };
  const double one = forecast_of(q, inside, 8, parse_strategy("fsdp=block")).samples_per_s.value;
  double slow = 1e-2;
  double fast = 1e2;
  for (int round = 0; round < 40; ++round) {
    const double middle = std::sqrt(slow * fast);
    const double four =
        forecast_of(q, joined(middle), 32, parse_strategy("hsdp=4x8")).samples_per_s.value;
    (four < 4 * share * one ? slow : fast) = middle;
  }
  return joined(fast);
}

void sharding(const Reports& reports, Verdicts& v) {
  const Report& olmo = reports.at("U092");
  const double step = olmo("micro") * olmo("tokens_taken") / olmo("ddp");
  const Question q{"a100-pcie", olmo("parameters"), step, olmo("micro")};
  v.number("U092", "4 GPUs over PCIe 4, 1B, 32 micro-batches: FSDP over DDP", "0.22",
           "0.15 to 0.35",
           ratio(q, link_named("pcie4"), 4, "fsdp=unit,accumulate=32", "ddp,accumulate=32"), 0.15,
           0.35, "GPU and link are not stated; DDP's own rate taken as one GPU's");
  const Report& llama = reports.at("U094");
  const Question two_b{"a100-sxm", llama("parameters"),
                       8 * llama("batch_taken") / llama("hybrid_1"), llama("batch_taken")};
  const std::string asked = "Llama 2B on 4 nodes of 8: HSDP over full sharding";
  const double kept = llama("hybrid_4") / (4 * llama("hybrid_1"));
  v.number("U094", asked, "1.34", "1.1 to 1.7",
           ratio(two_b, network_that_keeps(two_b, kept), 32, "hsdp=4x8", "fsdp=block"), 1.1, 1.7,
           "the network is not stated: inferred from what HSDP itself keeps of one node's rate");
  const Report& qwen = reports.at("U095");
  const std::string slower = "Qwen 1.5B, ZeRO-3, 2 nodes of 2 over one of 2: step time";
  const Strategy zero3 = parse_strategy("zero=3");
  const Question a10{"a10", qwen("parameters"), qwen("compute_s"), 1};
  const double one = forecast_of(a10, link_named("pcie4"), 2, zero3).step_time_s.value;
  const double two =
      forecast_of(a10, nodes_of("pcie4", "tcp-25gbe", {2, 2}), 4, zero3).step_time_s.value;
  v.number("U095", slower, "3.5", "above 1.5", two / one, 1.5, 10, "25 Gb/s taken");
  const std::string table = "FSDP on 4 nodes: step time and memory of each strategy";
  const Ranking all = ranked("141GB");
  const bool known =
      std::all_of(all.strategies.begin(), all.strategies.end(), [](const RankedStrategy& strategy) {
        return strategy.step_time_s.value > 0 && strategy.memory.total().value() > 0;
      });
  v.fact("U099", table, "", "a table", fmt::format("{} strategies", all.strategies.size()),
         known && all.strategies.size() > 10, "32 H200 and a GPT of 1.3B taken");
}

void zero2(const Report& r, Verdicts& v) {
  const Question q{"h100-sxm", r("parameters_taken"), r("batch_1") / r("rate_1"), r("batch_1")};
  v.number("U097", "8 GPUs, DDP: speedup", "7.99", "7.6 to 8.0",
           forecast_of(q, link_named("nvlink4"), 8).speedup.value, 7.6, 8.0,
           "3.5B parameters and NVLink taken; what is lost is the wait for the slowest of 8 ranks, "
           "which is assumed of a model known by its step alone (--straggler states it)");
  const std::string near = "and ZeRO-2 over DDP: throughput";
  v.number("U097", near, "0.35", "0.9 to 1.1", ratio(q, link_named("nvlink4"), 8, "zero=2", "ddp"),
           0.9, 1.1);
  Options o;
  o.gpu = "h100-sxm";
  o.params = fmt::format("{}", r("parameters_taken"));
  o.links = {"nvlink4"};
  o.diagnose = steps_text(
      {{1, r("batch_zero2") / r("rate_1")}, {8, 8 * r("batch_zero2") / r("rate_zero2")}});
  const DiagnosedRun run = diagnosed(o);
  const bool right =
      run.diagnosis.not_communication && run.next.find("busy8=") != std::string::npos;
  v.fact("U097", "what slows ZeRO-2's 28.7 samples/s", "host-side", "the host, not the link",
         right ? "not communication; measure the device's idle share" : "another", right,
         "the host is told from a slow kernel by the busy share, which is not reported");
}

void compression(const Reports& reports, Verdicts& v) {
  const Report& power = reports.at("U135");
  const Question q{"v100-pcie", power("parameters"),
                   power("batch_taken") / power("samples_per_s_taken"), power("batch_taken")};
  const std::string wire = fmt::format("{}Gb/s,60us", power("link_gbit"));
  v.number("U135", "ResNet-50 on 4x2 V100 over 3 Gb/s, no compression: speedup", "", "below 2",
           forecast_of(q, nodes_of("pcie3", wire, {4, 2}), 8).speedup.value, 0, 2,
           "380 samples/s of one GPU taken; the report's own is 5.46 with PowerSGD");
  std::string refusal;
  try {
    static_cast<void>(parse_strategy("ddp,compress=powersgd"));
  } catch (const InputError& error) {
    refusal = error.what();
  }
  v.fact("U135", "PowerSGD", "5.46", "refused by name", refusal.empty() ? "accepted" : "refused",
         refusal.find("powersgd") != std::string::npos);
  const Report& a100 = reports.at("U136");
  const Question nv{"a100-sxm", a100("parameters"), a100("step_s_taken"), a100("batch_taken")};
  const double gain = ratio(nv, link_named("nvlink3"), 8, "ddp,compress=fp16", "ddp") - 1;
  v.number("U136", "8 A100 on NVLink: gain of compression, percent", "slower", "at most 0",
           100 * gain, -100, 0);
}

void inputs(const Reports& reports, Verdicts& v) {
  const Report& r = reports.at("U139");
  const Question q{"a100-sxm", r("parameters"), r("step_s_taken"), 64};
  const double eight = forecast_of(q, link_named("nvlink3"), 8).step_time_s.value;
  const double more = forecast_of(q, nodes_of("nvlink3", "roce-100", {8, 8}), 64).step_time_s.value;
  const double slower = forecast_of(q, link_named("pcie4"), 8).step_time_s.value;
  v.fact(
      "U139", "8 to 64 GPUs, NVLink to PCIe: does the step move", "always the same", "upwards",
      fmt::format("{:+.1f} % and {:+.1f} %", 100 * (more / eight - 1), 100 * (slower / eight - 1)),
      more > eight && slower > eight);
  Options o;
  o.diagnose = "t1=1s,t2=2s";
  o.crossover = true;
  bool refused = false;
  try {
    check(o);
  } catch (const InputError&) {
    refused = true;
  }
  v.fact("U139", "an input that cannot move it", "", "an error", refused ? "an error" : "ignored",
         refused);
  const Forecast f = forecast_of(q, link_named("nvlink3"), 8);
  v.fact("U140", "a count that was not measured", "silent", "marked extrapolated",
         f.extrapolated ? "marked extrapolated" : "silent", f.extrapolated);
  const Ranking none = ranked("1GB");
  const auto least = std::min_element(none.strategies.begin(), none.strategies.end(),
                                      [](const RankedStrategy& a, const RankedStrategy& b) {
                                        return a.memory.total() < b.memory.total();
                                      });
  v.fact("U142", "nothing fits in 1 GB: what each strategy needs, and exit code 1", "", "a list",
         fmt::format("{} needs the least, {:.2g} GB", describe(least->strategy),
                     least->memory.total().value() / 1e9),
         none.nothing_fits());
  double sum = 0;
  for (const Seconds term : f.step.terms) sum += term.value();
  v.number("U143", "terms of a step over the step", "", "1", sum / f.step.total().value(), 1 - 1e-9,
           1 + 1e-9);
}

void overlap(const Reports& reports, Verdicts& v) {
  const Report& r = reports.at("U144");
  const Question q{"a100-sxm", r("parameters"), r("step_s_taken"), 32};
  const std::string asked = "no overlap: step over compute and communication";
  const Forecast apart = forecast_of(q, link_named("pcie4"), 4, parse_strategy("ddp,overlap=no"));
  const Forecast usual = forecast_of(q, link_named("pcie4"), 4);
  const double parts = 1 - apart.step.communication_share() + apart.step.communication_busy_share();
  // Copies out of the first buckets run beside the later ones.
  v.fact("U144", asked, "", "equal to 1 %; by default less", fmt::format("{:.3g}", 1 / parts),
         std::abs(1 / parts - 1) < 0.01 && usual.step_time_s.value < apart.step_time_s.value);
  const Report& small = reports.at("U147");
  const Question eight_mb{"a100-sxm", small("gradient_bytes") / kGradientBytes, 0.05, 32};
  v.number("U147", "buckets of 8 MB of gradients", "2", "2",
           static_cast<double>(forecast_of(eight_mb, link_named("nvlink3"), 2).buckets), 2, 2);
}

}  // namespace

void strategy_cases(const Reports& reports, Verdicts& v) {
  sharding(reports, v);
  zero2(reports.at("U097"), v);
  compression(reports, v);
  inputs(reports, v);
  overlap(reports, v);
}

}  // namespace ddpx::study
