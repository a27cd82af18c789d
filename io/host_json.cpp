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

constexpr const char* kFsdpLaunch = "fsdp_launch_s";

constexpr std::array<Engine, 2> kEngines{Engine::native, Engine::torch};

HostCosts costs_of(const Reader& from) {
  HostCosts costs;
  std::vector<std::string_view> keys;
  keys.reserve(kCosts.size() + 1);
  for (const Cost& cost : kCosts) keys.emplace_back(cost.key);
  keys.emplace_back(kFsdpLaunch);
  from.only(keys);
  for (const Cost& cost : kCosts) {
    costs.*cost.member = estimate_of<Seconds>(from.at(cost.key), &Reader::non_negative);
  }
  if (const auto launch = from.find(kFsdpLaunch))
    costs.fsdp_launch = estimate_of<Seconds>(*launch, &Reader::non_negative);
  return costs;
}

JsonObject costs_json(const HostCosts& costs) {
  JsonObject members;
  for (const Cost& cost : kCosts) members.emplace_back(cost.key, estimate_json(costs.*cost.member));
  if (costs.fsdp_launch) members.emplace_back(kFsdpLaunch, estimate_json(*costs.fsdp_launch));
  return members;
}

}  // namespace

Hosts hosts_of(const Reader& from) {
  from.only({name(Engine::native), name(Engine::torch)});
  Hosts hosts;
  for (const Engine engine : kEngines) {
    if (const auto costs = from.find(name(engine))) {
      hosts.at(static_cast<std::size_t>(engine)) = costs_of(*costs);
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
