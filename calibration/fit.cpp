#include "calibration/fit.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "calibration/fit_beside.hpp"
#include "calibration/fit_box.hpp"
#include "calibration/fit_compute.hpp"
#include "calibration/fit_host.hpp"
#include "calibration/fit_links.hpp"
#include "calibration/fit_memory.hpp"
#include "model/error.hpp"

namespace ddpx {
namespace {

// The constants a prior can set, by their name in the machine file.
using Setter = std::function<void(Machine&, const Prior&)>;

template <class Q>
Estimate<Q> estimate(const Prior& prior) {
  return {Q(prior.value), prior.relative_error, "prior: " + prior.source};
}

HostCosts& host(Machine& machine, Engine engine) {
  auto& costs = machine.host[static_cast<std::size_t>(engine)];
  if (!costs) costs.emplace();
  return *costs;
}

const std::map<std::string, Setter, std::less<>>& setters() {
  static const std::map<std::string, Setter, std::less<>> kTable = [] {
    std::map<std::string, Setter, std::less<>> t;
    t["copy_bandwidth_bytes_per_s"] = [](Machine& m, const Prior& p) {
      m.copy_bandwidth = estimate<BytesPerSecond>(p);
    };
    t["optimizer_bandwidth_bytes_per_s"] = [](Machine& m, const Prior& p) {
      m.optimizer_bandwidth = estimate<BytesPerSecond>(p);
    };
    t["adamw_bandwidth_bytes_per_s"] = [](Machine& m, const Prior& p) {
      m.adamw_bandwidth = estimate<BytesPerSecond>(p);
    };
    t["kernel_gap_s"] = [](Machine& m, const Prior& p) { m.kernel_gap = estimate<Seconds>(p); };
    t["memory_beside_factor"] = [](Machine& m, const Prior& p) {
      m.memory_beside = estimate<double>(p);
    };
    t["hook_gap_s"] = [](Machine& m, const Prior& p) { m.hook_gap = estimate<Seconds>(p); };
    t["hook_overlap"] = [](Machine& m, const Prior& p) { m.hook_overlap = estimate<double>(p); };
    t["boost_factor"] = [](Machine& m, const Prior& p) { m.boost = estimate<double>(p); };
    t["power_window_s"] = [](Machine& m, const Prior& p) { m.power_window = estimate<Seconds>(p); };
    t["sustained_factor"] = [](Machine& m, const Prior& p) { m.sustained = estimate<double>(p); };
    t["rank_spread"] = [](Machine& m, const Prior& p) { m.rank_spread = p.value; };
    t["residual"] = [](Machine& m, const Prior& p) { m.residual = p.value; };
    for (Engine engine : {Engine::native, Engine::torch}) {
      const std::string prefix = "host." + std::string(name(engine)) + ".";
      const auto cost = [&](const char* field, Estimate<Seconds> HostCosts::*member) {
        t[prefix + field] = [engine, member](Machine& m, const Prior& p) {
          host(m, engine).*member = estimate<Seconds>(p);
        };
      };
      cost("step_per_tensor_s", &HostCosts::step_per_tensor);
      cost("extra_micro_batch_s", &HostCosts::extra_micro_batch);
      cost("sync_per_tensor_s", &HostCosts::sync_per_tensor);
      cost("per_bucket_s", &HostCosts::per_bucket);
      cost("hook_per_bucket_s", &HostCosts::hook_per_bucket);
      cost("fsdp_s", &HostCosts::fsdp);
      const auto found = [&](const char* field,
                             std::optional<Estimate<Seconds>> HostCosts::*member) {
        t[prefix + field] = [engine, member](Machine& m, const Prior& p) {
          host(m, engine).*member = estimate<Seconds>(p);
        };
      };
      found("sync_s", &HostCosts::sync);
      found("fsdp_adamw_per_tensor_s", &HostCosts::fsdp_adamw_per_tensor);
      found("autocast_per_tensor_s", &HostCosts::autocast_per_tensor);
    }
    return t;
  }();
  return kTable;
}

// "links.NAME.beside_compute" is the one constant of a link that its collectives cannot give.
bool set_link_constant(Machine& machine, const Prior& prior) {
  constexpr std::string_view kPrefix = "links.";
  constexpr std::string_view kSuffix = ".beside_compute";
  if (!prior.constant.starts_with(kPrefix) || !prior.constant.ends_with(kSuffix)) return false;
  const std::string link = prior.constant.substr(
      kPrefix.size(), prior.constant.size() - kPrefix.size() - kSuffix.size());
  for (Link& candidate : machine.links) {
    if (candidate.name != link) continue;
    candidate.beside_compute = estimate<double>(prior);
    return true;
  }
  return false;
}

void apply_priors(const Measurements& measurements, const FitOptions& options, Machine& machine) {
  std::map<std::string, std::string> borrowed;  // constants by source
  for (const Prior& prior : measurements.priors) {
    const auto setter = setters().find(prior.constant);
    if (setter != setters().end()) {
      setter->second(machine, prior);
    } else if (!set_link_constant(machine, prior)) {
      std::string accepted;
      for (const auto& [constant, unused] : setters()) {
        accepted += constant;
        accepted += ", ";
      }
      throw InputError(options.place, "prior '" + prior.constant +
                                          "' is no constant of a machine; accepted: " + accepted +
                                          "links.NAME.beside_compute");
    }
    std::string& constants = borrowed[prior.source];
    constants += (constants.empty() ? "" : ", ") + prior.constant;
  }
  for (const auto& [source, constants] : borrowed)
    machine.notes.emplace_back("borrowed ").append(constants).append(": ").append(source);
}

}  // namespace

Machine fit_machine(const Measurements& measurements, const FitOptions& options,
                    FitReport& report) {
  Machine machine;
  machine.name = measurements.name;
  machine.device = measurements.device;
  machine.measurements = measurements.name;
  machine.notes = measurements.notes;
  for (std::string& note : box_notes(measurements)) machine.notes.push_back(std::move(note));
  // The native engine's hook is part of its streams; a Python hook's share is a prior.
  if (machine.device.multiprocessors == 0)
    machine.hook_overlap = {1.0, 0.0,
                            "CPU ranks run the native engine, whose hook costs no overlap"};
  fit_links(measurements, options, machine, report);
  apply_priors(measurements, options, machine);
  fit_memory(measurements, options, machine);
  fit_compute(measurements, options, machine, report);
  fit_beside(measurements, machine, report);
  fit_shared_host(measurements, machine, report, options);
  return machine;
}

}  // namespace ddpx
