// What users reported about links, nodes and counts, and what the forecast says.
#include <fmt/format.h>

#include <cmath>

#include "io/catalog.hpp"
#include "model/forecast.hpp"
#include "model/gpu_type.hpp"
#include "model/two_level.hpp"
#include "predict/infer.hpp"
#include "predict/link_text.hpp"
#include "predict/measured.hpp"
#include "tests/studies/studies.hpp"

namespace ddpx::study {
namespace {

struct Question {
  std::string_view gpu;
  double parameters = 0;
  Seconds step{};  // on one GPU
  double batch = 1;
};

Link link_named(const std::string& name) {
  if (looks_like_figures(name)) return link_from_figures("--link", name);
  return io::find_link(name, Machine{}).link;
}

Forecast of(const Question& q, const Link& link, int gpus, Scaling scaling = Scaling::weak) {
  const Machine machine = for_known_step(machine_of(*find_gpu_type(q.gpu)));
  Job job;
  job.gpus = gpus;
  job.batch_per_rank = q.batch;
  job.scaling = scaling;
  const Network network = measured_network(machine, job, {q.parameters, q.step, q.batch});
  return forecast(machine, link, network, job);
}

Forecast of(const Question& q, const std::string& link, int gpus, Scaling scaling = Scaling::weak) {
  return of(q, link_named(link), gpus, scaling);
}

Link nodes(const std::string& inside, const std::string& between, NodeLayout layout,
           std::optional<int> nics = std::nullopt) {
  return two_level(link_named(inside), link_named(between), layout, nics);
}

double inferred(const Question& q, Seconds many, int gpus) {
  Job job;
  job.gpus = gpus;
  job.batch_per_rank = gpus;
  return infer_link(machine_of(*find_gpu_type(q.gpu)), job, q.parameters, {q.step, many})
             .bus_bandwidth.value() /
         1e9;
}

class Table {
 public:
  void row(std::string_view id, std::string_view asked, std::string_view right, double value,
           double low, double high, std::string_view note = "") {
    const bool ok = low <= value && value <= high;
    right_ += ok ? 1U : 0U;
    ++rows_;
    text_ += fmt::format("| {} | {} | {} | {:.3g} | {} | {} |\n", id, asked, right, value,
                         ok ? "right" : "**missed**", note);
  }
  [[nodiscard]] std::string text() const {
    return fmt::format(
        "\n## What users reported\n\nPublic reports about links, nodes and counts; the range is "
        "what a "
        "good answer was said to be before the forecast was made. {} of {} are right.\n\n"
        "| report | asked | right | forecast | | |\n| --- | --- | --- | ---: | --- | --- |\n{}",
        right_, rows_, text_);
  }

 private:
  std::string text_;
  std::size_t right_ = 0;
  std::size_t rows_ = 0;
};

void links_of_a_box(Table& table) {
  const Question rented{"rtx4090", 1.7e9, Seconds(1.04), 16};
  table.row("U002", "4 RTX 4090 without P2P, 1.7B parameters, 4 GB/s: speedup", "at most 1.3",
            of(rented, "4GB/s,20us", 4).speedup.value, 0, 1.3,
            "measured 0.91; its four ranks reach 2.9 GB/s, less than the pair's 4");
  const Question contrastive{"rtx4090", 110e6, Seconds(0.05), 32};
  table.row("U007", "4 RTX 4090, PCIe through host memory: speedup", "0.7 to 1.2",
            of(contrastive, "4GB/s,20us", 4).speedup.value, 0.7, 1.2,
            "the model is not stated: 110M parameters, 50 ms taken");
  const Question vgg{"v100-sxm", 138e6, Seconds(0.149), 32};
  table.row("U016", "4 V100 on NVLink, VGG16: speedup", "3.5 to 4.0",
            of(vgg, "nvlink2", 4).speedup.value, 3.5, 4.0, "measured 3.81");
  const Question bert{"v100-sxm", 110e6, Seconds(32 / 122.0), 32};
  table.row("U026", "BERT on 8 GPUs of one machine: speedup", "6.5 to 7.9",
            of(bert, "nvlink2", 8).speedup.value, 6.5, 7.9, "measured 7.21; batch 32 taken");
  const Question hundred{"h100-sxm", 100e6, Seconds(0.05), 32};
  table.row("U028", "8 H100 on NVLink, 100M parameters, 50 ms: speedup", "above 7",
            of(hundred, "nvlink4", 8).speedup.value, 7, 8);
  const Question gpt2{"rtx3090", 124e6, Seconds(0.51), 8};
  table.row(
      "U004", "2 GPUs, GPT-2, PCIe over NVLink bridge: step time", "1.15 to 1.45",
      of(gpt2, "pcie3", 2).step_time_s.value / of(gpt2, "nvlink2-bridge", 2).step_time_s.value,
      1.15, 1.45,
      "measured 1.30: 0.5 GB of gradients take 0.1 s over PCIe 3 and hide behind a "
      "backward of 0.3 s; the report's step is assumed (200 steps in 102 s), its path slower");
  const Question resnet18{"rtx3090", 11.7e6, Seconds(0.08), 64};
  table.row("U027", "2 GPUs, ResNet-18, PCIe over NVLink bridge", "below 1.05",
            of(resnet18, "pcie3", 2).step_time_s.value /
                of(resnet18, "nvlink2-bridge", 2).step_time_s.value,
            0.95, 1.05);
  const Question vgg2{"rtx3090", 138e6, Seconds(0.12), 32};
  table.row(
      "U027", "2 GPUs, VGG16, PCIe over NVLink bridge", "above 1.10",
      of(vgg2, "pcie3", 2).step_time_s.value / of(vgg2, "nvlink2-bridge", 2).step_time_s.value,
      1.10, 2);
}

void clusters(Table& table) {
  const Question roberta{"v100-sxm", 125e6, Seconds(0.20), 8};
  const double one = of(roberta, "nvlink2", 8).samples_per_s.value;
  table.row("U030", "16 V100 on 2 nodes with 25 Gb/s over 8 on one: throughput", "below 1",
            of(roberta, nodes("nvlink2", "1.7GB/s,60us", {2, 8}), 16).samples_per_s.value / one, 0,
            1, "measured 0.345; a step of 200 ms taken");
  const Question coca{"v100-sxm", 640e6, Seconds(0.8), 24};
  table.row("U032", "which link explains 0.8 to 2.4 s on 2 nodes of 8, GB/s", "1 to 3.5",
            inferred(coca, Seconds(2.4), 16), 1, 3.5);
  table.row("U032", "and 4.8 s on 3 nodes, GB/s", "below the 2 nodes'",
            inferred(coca, Seconds(4.8), 24), 0.5, 2.5);
  const Question ecapa{"v100-sxm", 16.3e6, Seconds(0.447), 8};
  table.row("U033", "4 GPUs over 2 hosts with 625 Mb/s: step, s", "1.76, 15 %",
            of(ecapa, "0.0781GB/s,100us", 4).step_time_s.value, 1.496, 2.02);
  const Question pair{"v100-sxm", 49.5e6, Seconds(0.057), 8};
  table.row("U038", "2 hosts with 10 Gb/s, 198 MB of gradients: step, ms", "237, 10 %",
            1e3 * of(pair, "1.1GB/s,60us", 2).step_time_s.value, 213, 261,
            "measured without overlap; the forecast hides a fifth of it");
  const Question large{"a100-sxm", 1.3e9, Seconds(60), 512};
  table.row("U045", "1.3B parameters, 4 nodes of one GPU with 400 Gb/s, strong: speedup",
            "3.7 to 4.0", of(large, "50GB/s,20us", 4, Scaling::strong).speedup.value, 3.7, 4.0,
            "a step of 60 s taken");
  table.row("U045", "and 16 nodes", "13.5 to 15.5",
            of(large, "50GB/s,20us", 16, Scaling::strong).speedup.value, 13.5, 15.5);
  Link nic = link_named("3.7GB/s,18us");
  nic.per_gpu = true;
  const auto seconds = [&](int per_node) {
    return price(two_level(link_named("nvlink4"), nic, {2, per_node}),
                 {Collective::all_reduce, DType::fp32, Bytes(1e9), 2 * per_node})
        .time.value();
  };
  table.row("U048", "2 nodes, a NIC per GPU: 1 GB with 1 over 2 GPUs per node", "2.08, 10 %",
            seconds(1) / seconds(2), 1.87, 2.29);
  table.row("U048", "with 2 over 4", "1.94, 10 %", seconds(2) / seconds(4), 1.75, 2.13);
  table.row("U061", "25 Gb/s Ethernet over TCP: share of the line rate", "below 1",
            link_named("tcp-25gbe").bandwidth.value / link_named("tcp-25gbe").peak, 0.3, 0.999);
}

}  // namespace

std::string cases_study() {
  Table table;
  links_of_a_box(table);
  clusters(table);
  return table.text();
}

}  // namespace ddpx::study
