#include "model/gpu_type.hpp"
#include "predict/setting.hpp"

namespace ddpx {

Situation situation_of(const Setting& setting, const Network& network) {
  Situation of;
  of.network = network.name;
  of.parameters = network.parameters();
  if (network.width > 0) of.width = network.width;
  of.job = setting.job;
  of.nodes = setting.nodes;
  of.link = setting.link.name;
  of.link_title = setting.link.title.empty() ? setting.link.name : setting.link.title;
  return of;
}

RankingRow ranking_of(const Setting& setting, const Network& network) {
  const Machine& machine = setting.query.machine;
  RankingRow row;
  row.of = situation_of(setting, network);
  if (setting.query.gpu_memory) {
    row.memory = *setting.query.gpu_memory;
    row.memory_from = "--gpu-memory";
  } else if (machine.device.memory.value() > 0) {
    row.memory = machine.device.memory;
    row.memory_from = "machine " + machine.name;
  } else if (const GpuType* type = gpu_type_of(machine.device)) {
    row.memory = type->memory_gib * kGiB;
    row.memory_from = type->title;
  }
  const RankQuestion question{machine,     setting.link,  network,
                              setting.job, setting.nodes, row.memory};
  row.ranking = rank_strategies(question);
  if (network.activation_bytes <= 0)
    row.ranking.notes.emplace_back(
        "memory leaves activations out: the network says nothing of them");
  return row;
}

}  // namespace ddpx
