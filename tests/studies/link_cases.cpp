// What users reported about links, counts and nodes (validation/links/cases.json), and what the
// program says from their own numbers.
#include <fmt/format.h>

#include <cmath>
#include <sstream>

#include "io/catalog.hpp"
#include "model/forecast.hpp"
#include "model/gpu_type.hpp"
#include "model/network_spec.hpp"
#include "model/two_level.hpp"
#include "predict/infer.hpp"
#include "predict/measured.hpp"
#include "predict/resolve.hpp"
#include "tests/studies/decision_cases.hpp"
#include "tests/studies/studies.hpp"

namespace ddpx::study {
namespace {

Link figures(double gb_per_s, std::string_view latency) {
  return link_named(fmt::format("{}GB/s,{}", gb_per_s, latency));
}

InferredLink inferred(const Question& q, double many_s, int gpus) {
  Job job;
  job.gpus = gpus;
  job.batch_per_rank = q.batch;
  return infer_link(for_known_step(machine_of(*find_gpu_type(q.gpu))), job, q.parameters,
                    {Seconds(q.step_s), Seconds(many_s)});
}

// The longest step on one GPU with which a second node over `two` makes training slower.
double longest_slower_step(Question q, const Link& two) {
  double low = 0.01;
  double high = q.step_s;
  for (int i = 0; i < 30; ++i) {
    q.step_s = 0.5 * (low + high);
    const bool slower = forecast_of(q, two, 16).samples_per_s.value <
                        forecast_of(q, link_named("nvlink2"), 8).samples_per_s.value;
    (slower ? low : high) = q.step_s;
  }
  return low;
}

void second_node(const Reports& reports, Verdicts& v) {
  const Report& r = reports.at("U030");
  const Question q{"v100-sxm", r("parameters"), r("step_s_taken"), r("batch_taken")};
  const double one = forecast_of(q, link_named("nvlink2"), 8).samples_per_s.value;
  for (const double rate : r.list("link_gb_per_s")) {
    const Link two = two_level(link_named("nvlink2"), figures(rate, "60us"), {2, 8});
    v.number("U030", fmt::format("a second node of 8 V100 over {} GB/s: throughput over one", rate),
             fmt::format("{:.3f}", r("time_min_1") / r("time_min_2")), "below 1",
             forecast_of(q, two, 16).samples_per_s.value / one, 0, 0.999,
             rate > 2
                 ? fmt::format("the link is not stated, nor the step: 200 ms at batch 8 taken; "
                               "up to {:.0f} ms it is below 1",
                               1e3 * longest_slower_step(q, two))
                 : "");
    int micro_batches = 1;
    const auto pays = [&] {
      const Strategy k = parse_strategy(fmt::format("ddp,accumulate={}", micro_batches));
      return forecast_of(q, two, 16, k).samples_per_s.value / one > 1.5;
    };
    while (micro_batches < 64 && !pays()) ++micro_batches;
    v.fact("U030", "and the accumulation from which it gives 1.5 times", "", "a count",
           fmt::format("{}", micro_batches), micro_batches < 64);
  }
}

void inferred_networks(const Reports& reports, Verdicts& v) {
  const Report& r = reports.at("U032");
  const Question coca{"v100-sxm", r("parameters"), r("step_s_1"), r("batch")};
  const double two = inferred(coca, r("step_s_2"), 16).bus_bandwidth.value() / kGb;
  v.number("U032", "the link that explains 0.8 to 2.4 s on 2 nodes of 8, GB/s", "", "1 to 3.5", two,
           1, 3.5);
  const double three = inferred(coca, r("step_s_3"), 24).bus_bandwidth.value() / kGb;
  v.fact("U032", "does it explain 4.8 s on 3 nodes", "", "no: worse",
         fmt::format("no: that takes {:.2f} GB/s", three), three < 0.8 * two);
  const Report& moe = reports.at("U037");
  const Question tutel{"a100-sxm", moe("parameters_taken"), moe("step_s_1"), 32};
  const InferredLink slow = inferred(tutel, moe("step_s_4"), 32);
  v.fact("U037", "12 ms to 1 s on 4 nodes with 100 Gb/s InfiniBand: what it looks like",
         "NCCL fell back to Ethernet", "TCP, not InfiniBand",
         slow.reading.find("TCP") != std::string::npos ? "TCP" : "no TCP",
         slow.reading.find("TCP") != std::string::npos, "50M parameters taken");
}

void two_hosts(const Reports& reports, Verdicts& v) {
  const Report& r = reports.at("U033");
  const Question ecapa{"v100-sxm", r("parameters"), r("step_s_1"), r("batch")};
  const Forecast four = forecast_of(ecapa, figures(r("wire_gb_per_s"), "100us"), 4);
  v.number("U033", "4 GPUs on 2 hosts with 625 Mb/s: step, s", "1.757", "1.76, 15 %",
           four.step_time_s.value, 1.76 * 0.85, 1.76 * 1.15);
  v.number("U033", "and speedup", "1.02", "1.02, 15 %", four.speedup.value, 1.02 * 0.85,
           1.02 * 1.15, "the report's speedup is of epochs, its step of another GPU count's");
  const Report& pair = reports.at("U038");
  const Link wire = figures(pair("wire_gb_per_s"), "60us");
  const auto step_of = [&](double megabytes, const char* strategy) {
    const Question q{"v100-sxm", megabytes * 1e6 / 4, pair("backward_s_1"), 32};
    return forecast_of(q, wire, 2, parse_strategy(strategy)).step_time_s.value;
  };
  const auto gradients = [&](const char* strategy) {
    double low = 1;
    double high = 1000;
    for (int i = 0; i < 40; ++i) {
      const double middle = 0.5 * (low + high);
      (step_of(middle, strategy) < pair("backward_s_2") ? low : high) = middle;
    }
    return low;
  };
  v.number("U038", "57 to 237 ms over 1.1 GB/s: MB of gradients that explain it", "about 200",
           "180 to 220", gradients("ddp,overlap=no"), pair("gradient_mb", 0),
           pair("gradient_mb", 1), "overlap=no: what was timed is the backward that waits");
  v.number("U038", "and if the exchange hides behind backward", "", "180 to 220", gradients("ddp"),
           pair("gradient_mb", 0), pair("gradient_mb", 1),
           "part of the exchange is hidden, so that more explains the same step");
}

void many_nodes(const Reports& reports, Verdicts& v) {
  const Report& r = reports.at("U045");
  const Question large{"a100-sxm", r("parameters"), r("step_s_taken"), r("batch_taken")};
  for (const auto& [nodes, low, high] : {std::tuple{4, 3.7, 4.0}, std::tuple{16, 13.5, 15.5}}) {
    const Forecast f = forecast_of(large, figures(50, "20us"), nodes, {}, Scaling::strong);
    v.number(
        "U045", fmt::format("1.3B parameters on {} nodes with 400 Gb/s, strong: speedup", nodes),
        fmt::format("{}", nodes == 4 ? r("speedup_4") : r("speedup_16")),
        fmt::format("{} to {}", low, high), f.speedup.value, low, high, "a step of 60 s taken");
  }
  const Report& n = reports.at("U048");
  Link nic = figures(3.7, "18us");
  nic.per_gpu = true;
  const auto seconds = [&](int per_node) {
    return price(two_level(link_named("nvlink4"), nic, {2, per_node}),
                 {Collective::all_reduce, DType::fp32, Bytes(1e9), 2 * per_node})
        .time.value();
  };
  v.number("U048", "2 nodes, a NIC per GPU: 1 GB with 1 over 2 GPUs per node",
           fmt::format("{:.2f}", n("seconds_1") / n("seconds_2")), "2.08, 10 %",
           seconds(1) / seconds(2), 1.87, 2.29);
  v.number("U048", "with 2 over 4", fmt::format("{:.2f}", n("seconds_2") / n("seconds_4")),
           "1.94, 10 %", seconds(2) / seconds(4), 1.75, 2.13);
}

// Efficiency on two nodes of four, of a network that the report does not state.
void shardings(const Report& r, Verdicts& v) {
  const Machine machine = machine_of(*find_gpu_type("a100-sxm"));
  const Network network = network_from("gpt:layers=24,hidden=1024,heads=16");
  const Link link = nodes_of("nvlink3", "infiniband-hdr", {2, 4});
  const auto efficiency = [&](const char* strategy) {
    Job job;
    job.gpus = 8;
    job.batch_per_rank = 16;
    job.dtype = DType::bf16;
    job.optimizer = Optimizer::adamw;
    job.strategy = parse_strategy(strategy);
    return forecast(machine, link, network, job).speedup.value / job.gpus;
  };
  const double ddp = efficiency("ddp");
  const double hsdp = efficiency("hsdp=2x4");
  const double fsdp = efficiency("fsdp=block");
  const std::string said = fmt::format("{:.3f}, {:.3f}, {:.3f}", ddp, hsdp, fsdp);
  const std::string reported = fmt::format("{}, {}, {}", r("ddp"), r("hsdp"), r("fsdp"));
  const auto [low, high] = std::minmax({ddp, hsdp, fsdp});
  v.fact("U047", "DDP, HSDP, FSDP on 2 nodes: efficiency", reported, "gaps below 3 points", said,
         high - low < 0.03, "a GPT of 355M on A100 and InfiniBand HDR taken");
  v.fact("U047", "and their order", "DDP, HSDP, FSDP", "DDP >= HSDP >= FSDP", said,
         ddp >= hsdp && hsdp >= fsdp,
         ddp >= hsdp && hsdp >= fsdp ? "" : "HSDP is ahead by less than a point");
}

void bridges(const Reports& reports, Verdicts& v) {
  const Report& r = reports.at("U004");
  const auto ratio = [](const Question& q) {
    return forecast_of(q, link_named("pcie3"), 2).step_time_s.value /
           forecast_of(q, link_named("nvlink2-bridge"), 2).step_time_s.value;
  };
  v.number(
      "U004", "2 TITAN RTX, GPT-2: step over PCIe 3 over that over the NVLink bridge", "1.30",
      "1.15 to 1.45",
      ratio({"rtx8000", r("parameters"), r("seconds_1") / r("steps_taken"), r("batch_taken")}),
      1.15, 1.45,
      "0.5 GB take 0.1 s over PCIe 3 and hide behind a backward of 0.3 s; the step is assumed");
  const Report& n = reports.at("U027");
  v.number("U027", "2 RTX 2080 Ti, ResNet-18: PCIe over the bridge", "", "below 1.05",
           ratio({"rtx2080ti", n("parameters_resnet18"), n("step_s_resnet18_taken"), 64}), 0.95,
           1.05);
  v.number("U027", "and VGG16", "", "above 1.10",
           ratio({"rtx2080ti", n("parameters_vgg16"), n("step_s_vgg16_taken"), 32}), 1.10, 2);
}

}  // namespace

std::string cases_study() {
  const Reports reports = read_reports("validation/links/cases.json");
  Verdicts verdicts;
  second_node(reports, verdicts);
  inferred_networks(reports, verdicts);
  two_hosts(reports, verdicts);
  many_nodes(reports, verdicts);
  shardings(reports.at("U047"), verdicts);
  bridges(reports, verdicts);
  curve_cases(reports, verdicts);
  return "\n## What users reported\n\nPublic reports about links, counts and nodes "
         "(validation/links/cases.json has their numbers and sources), asked of the program; what "
         "is right was said before the forecast was made. Logs are tested one by one in "
         "tests/io. " +
         verdicts.text();
}

}  // namespace ddpx::study
