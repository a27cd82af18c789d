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

GpuMemory gpu_memory_of(const Query& query) {
  const Machine& machine = query.machine;
  if (query.gpu_memory) return {*query.gpu_memory, "--gpu-memory"};
  if (machine.device.memory.value() > 0) return {machine.device.memory, "machine " + machine.name};
  if (const GpuType* type = gpu_type_of(machine.device))
    return {type->memory_gib * kGiB, std::string(type->title)};
  return {};
}

RankingRow ranking_of(const Setting& setting, const Network& network) {
  const Machine& machine = setting.query.machine;
  RankingRow row;
  row.of = situation_of(setting, network);
  const GpuMemory memory = gpu_memory_of(setting.query);
  row.memory = memory.size;
  row.memory_from = memory.from;
  const RankQuestion question{machine,     setting.link,  network,
                              setting.job, setting.nodes, row.memory};
  row.ranking = rank_strategies(question);
  if (network.activation_bytes <= 0)
    row.ranking.notes.emplace_back(
        "memory leaves activations out: the network says nothing of them");
  return row;
}

}  // namespace ddpx
