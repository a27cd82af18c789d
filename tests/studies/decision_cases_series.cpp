// Does it pay: series over GPU counts, and small networks.
#include <fmt/format.h>

#include <cmath>

#include "model/error.hpp"
#include "predict/diagnose.hpp"
#include "tests/studies/decision_cases.hpp"

namespace ddpx::study {
namespace {

void series(const Reports& reports, Verdicts& v) {
  const Report& vgg = reports.at("U016");
  const Question q{"v100-sxm", 138e6, vgg("batch") / vgg("rate_1"), vgg("batch")};
  v.number("U016", "4 V100 on NVLink, VGG16: speedup", "3.81", "3.5 to 4.0",
           forecast_of(q, link_named("nvlink2"), 4).speedup.value, 3.5, 4.0);
  const Report& bert = reports.at("U026");
  const double step = bert("batch_taken") / bert("each");
  const Question base{"v100-sxm", bert("parameters"), step, bert("batch_taken")};
  const double eight = forecast_of(base, link_named("nvlink2"), 8).speedup.value;
  v.number("U026", "BERT on 8 GPUs of one machine: speedup", "7.21", "6.5 to 7.9", eight, 6.5, 7.9,
           "base size and batch 32 taken");
  const double sixteen =
      forecast_of(base, nodes_of("nvlink2", "tcp-25gbe", {2, 8}), 16).speedup.value;
  v.number("U026", "and what each GPU loses from 8 to 2x8, percent", "27", "19 to 35",
           100 * (1 - sixteen / 16 / (eight / 8)), 19, 35,
           "the network is not stated: 25 Gb/s taken");
  const Report& h100 = reports.at("U028");
  v.number("U028", "8 H100 on NVLink, 100M parameters, 50 ms: speedup", "3.5, then 7.3", "above 7",
           forecast_of({"h100-sxm", h100("parameters_taken"), h100("step_s_taken"), 32},
                       link_named("nvlink4"), 8)
               .speedup.value,
           7, 8,
           "batch 32 taken; what is lost is the wait for the slowest of 8 ranks, which is assumed "
           "of a model known by its step alone (--straggler samples=0% states that samples have "
           "one shape)");
}

void bert_on_2080ti(const Report& r, Verdicts& v) {
  Options o;
  o.batch = fmt::format("{}", r("batch_fp32"));
  o.diagnose = fmt::format("r1={},r2={},r4={}", r("fp32", 0), r("fp32", 1), r("fp32", 2));
  const DiagnosedRun run = diagnosed(o);
  const bool four = run.flags.size() == 1 && run.flags[0].gpus == 4;
  v.fact("U017", "which of 13, 18, 59 ex/s on 1, 2, 4 GPUs is suspect", "59", "59, on 4 GPUs",
         four ? "4 GPUs: more than linear" : "another", four);
  const Question q{"t4", r("parameters_taken"), r("batch_amp") / r("amp"), r("batch_amp")};
  Strategy accumulate;
  accumulate.micro_batches = static_cast<int>(r("accumulate"));
  v.number("U017", "4 RTX 2080 Ti, mixed precision, accumulation 100: speedup", "2.78",
           "2.2 to 2.8", forecast_of(q, link_named("pcie3"), 4, accumulate).speedup.value, 2.2, 2.8,
           "with one exchange in 100 micro-batches the link takes nothing: the 30 % that are lost "
           "are not communication");
  v.number("U017", "and without accumulation", "2.41", "2.2 to 2.8",
           forecast_of(q, link_named("pcie3"), 4).speedup.value, 2.2, 2.8,
           "BERT-large; the measured pair has 1.34");
}

// What is said where the step at a rank's share of the batch is not given.
std::string asked_for_the_share(const Report& report) {
  Options o;
  o.gpu = "v100-sxm";
  o.links = {"nvlink2"};
  o.params = fmt::format("{}", report("parameters"));
  o.gpus = fmt::format("{}", report("gpus"));
  o.batch = "256";
  o.step_time = "100ms";
  o.scaling = "strong";
  try {
    static_cast<void>(query_from(o, shipped_names()));
  } catch (const InputError& error) {
    if (std::string(error.what()).find("32 samples") != std::string::npos)
      return "asks for the step at 32 samples";
  }
  return "does not ask";
}

void small_ones(const Reports& reports, Verdicts& v) {
  const Report& ppo = reports.at("U018");
  Options o;
  o.batch = fmt::format("{}", ppo("batch_taken"));
  o.diagnose = fmt::format("r1={},r2={}", ppo("rate_1"), ppo("rate_2"));
  const DiagnosedRun run = diagnosed(o);
  v.number("U018", "ppo on 2 GPUs from its rates: speedup", "0.909", "0.909", 2 * *run.each[1], 0.9,
           0.918);
  o.diagnose = "suite.txt";
  Resolvers names = shipped_names();
  names.text_file = [&](const std::string&) {
    return fmt::format(
        "bench                Plan          metric     GPU1     GPU2\n"
        "-----------------------------------------------------------\n"
        "hf_t5                         train_rate     2.28     2.22\n"
        "ppo                  DDP      train_rate   {}   {}\n",
        ppo("rate_1"), ppo("rate_2"));
  };
  const DiagnosedRun read = *ddpx::diagnose(o, names).diagnosed;
  v.fact("U018", "the table itself as an input", "0.909", "rows without a plan left out",
         read.notes.empty() ? "nothing is left out" : "ppo alone; hf_t5 left out",
         !read.notes.empty() && read.notes.front().find("hf_t5") != std::string::npos &&
             std::abs(2 * *read.each[1] - 0.909) < 0.009);
  const Report& resnet = reports.at("U019");
  double smallest = 0;
  for (double batch = 1; batch <= 1024 && smallest == 0; batch *= 2) {
    const Question q{"rtx3090", resnet("parameters"), batch / resnet("samples_per_s_taken"), batch};
    if (forecast_of(q, link_named("nvlink2-bridge"), 2).step.communication_busy_share() <
        resnet("share"))
      smallest = batch;
  }
  v.number("U019", "ResNet-50, NVLink bridge: batch from which NCCL runs for < 20 % of the step",
           "75 % at an unstated batch", "a batch is named", smallest, 1, 1024,
           "370 samples/s of one GPU taken");
  const std::string asks = asked_for_the_share(reports.at("U022"));
  v.fact("U022", "ResNet-50 on CIFAR-10, 8 GPUs, same total batch: without its step at an eighth",
         "0.5", "is asked for", asks, asks == "asks for the step at 32 samples",
         "batch 256 taken; no step time is stated");
  const Report& lenet = reports.at("U023");
  const double steps = lenet("samples") / lenet("batch");
  const double one = lenet("epoch_s_1") / steps;
  v.number(
      "U023", "LeNet at batch 256, 3.0 s an epoch: speedup on 2", "1.0", "at most 1.05",
      forecast_of({"v100-sxm", lenet("parameters"), one, lenet("batch")}, link_named("pcie3"), 2)
          .speedup.value,
      0, 1.05, "a step of 12.8 ms for LeNet is the host and its loader, which --loader-rate says");
  o = {};
  o.params = fmt::format("{}", lenet("parameters"));
  o.links = {"pcie3"};
  o.diagnose = steps_text({{1, one}, {2, 2 * lenet("epoch_s_2") / steps}});
  v.fact("U023", "and what slows it", "", "not the link",
         diagnosed(o).diagnosis.not_communication ? "not communication" : "communication",
         diagnosed(o).diagnosis.not_communication);
}

}  // namespace

void more_speed_cases(const Reports& reports, Verdicts& v) {
  series(reports, v);
  bert_on_2080ti(reports.at("U017"), v);
  small_ones(reports, v);
}

}  // namespace ddpx::study
