#include "io/kernel_costs_json.hpp"

#include <array>
#include <string>

#include "io/operation_json.hpp"

namespace ddpx::io {
namespace {

constexpr Plausible kLaunch{0, 1, "seconds of a kernel"};
constexpr Plausible kOfElement{0, 1e-6, "seconds of one element"};
constexpr Plausible kOfStep{0, 1e-3, "seconds of one step of the inner dimension"};
constexpr Plausible kOfByte{0, 1e-7, "seconds of one byte"};
// As kKernelParts.
constexpr std::array<Plausible, kKernelParts.size()> kParts{
    kLaunch, kOfElement, kOfElement, kOfStep, kOfElement, kLaunch, kOfElement, kOfByte, kOfElement};

std::string key_of(std::string_view part) { return std::string(part) + "_s"; }

// Files of before it was a part have no "l2": it cost nothing.
KernelParts parts_of(const Reader& from) {
  KernelParts parts{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string key = key_of(kKernelParts[i]);
    if (kKernelParts[i] == "l2" && !from.find(key)) continue;
    parts[i] = from.at(key).plausible(kParts[i]);
  }
  if (!any_kernel_costs(parts))
    from.at(key_of(kKernelParts.front())).refuse_value("more than 0 where the other costs are 0");
  return parts;
}

void only_parts_and(const Reader& from, std::vector<std::string_view> members) {
  std::vector<std::string> keys;
  for (const std::string_view part : kKernelParts) keys.push_back(key_of(part));
  members.insert(members.end(), keys.begin(), keys.end());
  from.only(members);
}

void append_parts(JsonObject& members, const KernelParts& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i)
    members.emplace_back(key_of(kKernelParts[i]), parts[i]);
}

std::vector<GenerationCosts> generations_of(const Reader& list) {
  std::vector<GenerationCosts> all;
  for (const Reader& element : list.filled()) {
    only_parts_and(element, {"generation"});
    const int generation = element.at("generation").integer(0, kNewestGeneration);
    for (const GenerationCosts& other : all) {
      if (other.generation == generation)
        element.at("generation").refuse_value("a generation that is not there yet");
    }
    all.push_back({generation, parts_of(element)});
  }
  return all;
}

KernelCosts pass_costs_of(const Reader& from) {
  only_parts_and(from, {"pass", "dtype", "error", "error_outside", "generations"});
  KernelCosts costs;
  costs.pass = from.at("pass").one_of({Pass::forward, Pass::data_gradient, Pass::weight_gradient});
  costs.dtype = dtype_of(from.at("dtype"));
  costs.seconds = parts_of(from);
  costs.error = from.at("error").plausible(kRelativeError);
  // Files of before it was fitted.
  const auto outside = from.find("error_outside");
  costs.error_outside = outside ? outside->plausible(kRelativeError) : costs.error;
  if (const auto generations = from.find("generations"))
    costs.generations = generations_of(*generations);
  return costs;
}

}  // namespace

std::vector<KernelCosts> kernel_costs_of(const Reader& list) {
  std::vector<KernelCosts> all;
  for (const Reader& element : list.filled()) {
    all.push_back(pass_costs_of(element));
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
      if (all[i].pass == all.back().pass && all[i].dtype == all.back().dtype)
        element.at("pass").refuse_value("a pass that this dtype does not have yet");
    }
  }
  return all;
}

JsonArray kernel_costs_json(const std::vector<KernelCosts>& all) {
  JsonArray list;
  for (const KernelCosts& costs : all) {
    JsonObject members;
    members.emplace_back("pass", name(costs.pass));
    members.emplace_back("dtype", name(costs.dtype));
    append_parts(members, costs.seconds);
    members.emplace_back("error", costs.error);
    members.emplace_back("error_outside", costs.error_outside);
    JsonArray generations;
    for (const GenerationCosts& own : costs.generations) {
      JsonObject of_one;
      of_one.emplace_back("generation", own.generation);
      append_parts(of_one, own.seconds);
      generations.emplace_back(std::move(of_one));
    }
    if (!costs.generations.empty()) members.emplace_back("generations", std::move(generations));
    list.emplace_back(std::move(members));
  }
  return list;
}

}  // namespace ddpx::io
