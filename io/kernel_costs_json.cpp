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
    kLaunch, kOfElement, kOfElement, kOfStep, kOfElement, kLaunch, kOfElement, kOfByte};

std::string key_of(std::string_view part) { return std::string(part) + "_s"; }

KernelCosts costs_of(const Reader& from) {
  std::vector<std::string> keys;
  for (const std::string_view part : kKernelParts) keys.push_back(key_of(part));
  std::vector<std::string_view> members{"pass", "dtype", "error", "error_outside"};
  members.insert(members.end(), keys.begin(), keys.end());
  from.only(members);
  KernelCosts costs;
  costs.pass = from.at("pass").one_of({Pass::forward, Pass::data_gradient, Pass::weight_gradient});
  costs.dtype = dtype_of(from.at("dtype"));
  for (std::size_t i = 0; i < keys.size(); ++i)
    costs.seconds[i] = from.at(keys[i]).plausible(kParts[i]);
  if (!any_kernel_costs(costs))
    from.at(keys.front()).refuse_value("more than 0 where the other costs are 0");
  costs.error = from.at("error").plausible(kRelativeError);
  // Files of before it was fitted.
  const auto outside = from.find("error_outside");
  costs.error_outside = outside ? outside->plausible(kRelativeError) : costs.error;
  return costs;
}

}  // namespace

std::vector<KernelCosts> kernel_costs_of(const Reader& list) {
  std::vector<KernelCosts> all;
  for (const Reader& element : list.filled()) {
    all.push_back(costs_of(element));
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
    for (std::size_t i = 0; i < kKernelParts.size(); ++i)
      members.emplace_back(key_of(kKernelParts[i]), costs.seconds[i]);
    members.emplace_back("error", costs.error);
    members.emplace_back("error_outside", costs.error_outside);
    list.emplace_back(std::move(members));
  }
  return list;
}

}  // namespace ddpx::io
