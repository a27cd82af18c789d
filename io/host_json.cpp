#include "io/host_json.hpp"

#include "io/estimate_json.hpp"

namespace ddpx::io {
namespace {

struct Cost {
  const char* key;
  Estimate<Seconds> HostCosts::*member;
};

constexpr std::array<Cost, 6> kCosts{{{"step_per_tensor_s", &HostCosts::step_per_tensor},
                                      {"extra_micro_batch_s", &HostCosts::extra_micro_batch},
                                      {"sync_per_tensor_s", &HostCosts::sync_per_tensor},
                                      {"per_bucket_s", &HostCosts::per_bucket},
                                      {"hook_per_bucket_s", &HostCosts::hook_per_bucket},
                                      {"fsdp_s", &HostCosts::fsdp}}};

struct OptionalCost {
  const char* key;
  std::optional<Estimate<Seconds>> HostCosts::*member;
};

constexpr std::array<OptionalCost, 9> kOptional{
    {{"fsdp_launch_s", &HostCosts::fsdp_launch},
     {"step_s", &HostCosts::step},
     {"sync_s", &HostCosts::sync},
     {"hook_s", &HostCosts::hook},
     {"fsdp_block_s", &HostCosts::fsdp_block},
     {"fsdp_per_tensor_s", &HostCosts::fsdp_per_tensor},
     {"adamw_per_tensor_s", &HostCosts::adamw_per_tensor},
     {"fsdp_adamw_per_tensor_s", &HostCosts::fsdp_adamw_per_tensor},
     {"autocast_per_tensor_s", &HostCosts::autocast_per_tensor}}};

constexpr const char* kSpread = "spread";

HostCosts host_costs_of(const Reader& from) {
  HostCosts costs;
  std::vector<std::string_view> keys;
  keys.reserve(kCosts.size() + kOptional.size() + 1);
  for (const Cost& cost : kCosts) keys.emplace_back(cost.key);
  for (const OptionalCost& cost : kOptional) keys.emplace_back(cost.key);
  keys.emplace_back(kSpread);
  from.only(keys);
  for (const Cost& cost : kCosts) {
    costs.*cost.member = estimate_of<Seconds>(from.at(cost.key), kHostTime);
  }
  for (const OptionalCost& cost : kOptional) {
    if (const auto given = from.find(cost.key))
      costs.*cost.member = estimate_of<Seconds>(*given, kHostTime);
  }
  if (const auto spread = from.find(kSpread)) costs.spread = spread->plausible(kRelativeError);
  return costs;
}

JsonObject costs_json(const HostCosts& costs) {
  JsonObject members;
  for (const Cost& cost : kCosts) members.emplace_back(cost.key, estimate_json(costs.*cost.member));
  for (const OptionalCost& cost : kOptional) {
    if (const auto& given = costs.*cost.member)
      members.emplace_back(cost.key, estimate_json(*given));
  }
  if (costs.spread > 0) members.emplace_back(kSpread, costs.spread);
  return members;
}

}  // namespace

Hosts hosts_of(const Reader& from) {
  from.only({name(Engine::native), name(Engine::torch)});
  Hosts hosts;
  for (const Engine engine : kEngines) {
    if (const auto costs = from.find(name(engine))) {
      hosts.at(static_cast<std::size_t>(engine)) = host_costs_of(*costs);
    }
  }
  return hosts;
}

JsonObject hosts_json(const Hosts& hosts) {
  JsonObject members;
  for (const Engine engine : kEngines) {
    if (const auto& costs = hosts.at(static_cast<std::size_t>(engine))) {
      members.emplace_back(name(engine), costs_json(*costs));
    }
  }
  return members;
}

}  // namespace ddpx::io
