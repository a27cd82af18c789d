#include "calibration/summary.hpp"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <map>

#include "text/page.hpp"
#include "text/unicode.hpp"

namespace ddpx {
namespace {

// printf into a line, broken where it is longer than the page.
[[gnu::format(printf, 1, 2)]] std::string line(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const std::string printed = printable(text);
  const std::size_t indent = std::min(printed.find_first_not_of(' '), printed.size());
  if (printed.size() <= columns()) return printed + "\n";
  return wrapped(printed, {.first = indent, .rest = indent + 4});
}

std::string item(const std::string& text) {
  return wrapped(printable("- " + text), {.first = 2, .rest = 4});
}

template <class Q>
double plain(const Q& quantity) {
  if constexpr (std::is_same_v<Q, double>) {
    return quantity;
  } else {
    return quantity.value();
  }
}

template <class Q>
std::string constant(const char* what, const Estimate<Q>& estimate, double unit,
                     const char* unit_name) {
  return line("  %-28s %9.4g %-4s +- %4.1f %%  %s", what, plain(estimate.value) / unit, unit_name,
              100 * estimate.relative_error,
              estimate.origin.starts_with("prior") ? "borrowed" : "fitted");
}

std::string products_text(const Machine& machine) {
  std::map<DType, std::vector<double>> rates;
  std::size_t with_grid = 0;
  for (const ProductPoint& p : machine.products) {
    rates[p.product.dtype].push_back(p.product.flops() / p.time.value / FlopsPerSecond(1e12));
    with_grid += p.grid.has_value();
  }
  std::string text;
  for (const auto& [dtype, values] : rates) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    text += line("  %-28s %zu shapes, %.3g to %.3g TFLOP/s",
                 ("products " + std::string(name(dtype))).c_str(), values.size(), *low, *high);
  }
  return text + line("  %-28s %zu of %zu products", "kernel grids known", with_grid,
                     machine.products.size());
}

std::string points_text(const std::vector<MemoryPoint>& points) {
  std::string text;
  for (const MemoryPoint& point : points) {
    char word[64];
    std::snprintf(word, sizeof word, "%s%.3g in %.3g MiB", text.empty() ? "" : ", ",
                  point.bandwidth / kGBPerSecond, point.working_set / kMiB);
    text += word;
  }
  return text.empty() ? text : wrapped("by working set: " + text, {.first = 6, .rest = 6});
}

std::string host_text(const Machine& machine) {
  std::string text;
  for (Engine engine : {Engine::native, Engine::torch}) {
    const HostCosts* costs = machine.host_costs(engine);
    if (!costs) continue;
    const std::string who = "host " + std::string(name(engine)) + " ";
    const auto add = [&](const char* what, const Estimate<Seconds>& cost) {
      if (!cost.origin.empty()) text += constant((who + what).c_str(), cost, 1e-6, "us");
    };
    const auto add_found = [&](const char* what, const std::optional<Estimate<Seconds>>& cost) {
      if (cost) add(what, *cost);
    };
    add_found("step", costs->step);
    add("step per tensor", costs->step_per_tensor);
    add("extra micro-batch", costs->extra_micro_batch);
    add_found("sync", costs->sync);
    add("sync per tensor", costs->sync_per_tensor);
    add("per bucket", costs->per_bucket);
    add_found("hook", costs->hook);
    add("hook per bucket", costs->hook_per_bucket);
    add("fsdp", costs->fsdp);
    add_found("fsdp block", costs->fsdp_block);
    add_found("fsdp launch", costs->fsdp_launch);
    add_found("fsdp per tensor", costs->fsdp_per_tensor);
    add_found("adamw per tensor", costs->adamw_per_tensor);
    add_found("fsdp adamw per tensor", costs->fsdp_adamw_per_tensor);
    add_found("autocast per tensor", costs->autocast_per_tensor);
  }
  return text;
}

std::string time_text(Seconds time) {
  char text[32];
  const bool micro = time < kMillisecond;
  std::snprintf(text, sizeof text, "%.3g %s", time / (micro ? kMicrosecond : kMillisecond),
                micro ? "us" : "ms");
  return text;
}

std::string curve_text(const Curve& curve) {
  std::string text =
      line("  %s %s, %d ranks: %.4g GB/s bus bandwidth, %s smallest, +- %.1f %%",
           std::string(name(curve.kind)).c_str(), std::string(name(curve.dtype)).c_str(),
           curve.ranks, curve.peak_bus_bandwidth() / kGBPerSecond,
           time_text(curve.smallest_time()).c_str(), 100 * curve.relative_error);
  for (const ProtocolLine& l : curve.lines()) {
    text += line("    %9s (+- %.0f %%) + bytes / %.4g GB/s (+- %.1f %%)",
                 time_text(l.latency.value).c_str(), 100 * l.latency.relative_error,
                 l.bandwidth.value / kGBPerSecond, 100 * l.bandwidth.relative_error);
  }
  return text;
}

std::string residual_line(const Residual& r) {
  const double unit = r.measured < 1e-3 ? 1e-6 : 1e-3;
  return line("  %-41s %8.4g %s  fit %8.4g %+5.1f %%", r.what.c_str(), r.measured / unit,
              unit < 1e-4 ? "us" : "ms", r.fitted / unit, 100 * r.relative());
}

// Every value that was left out, under its reason; with every_residual all others as well.
std::string residuals_text(const FitReport& report, const SummaryOptions& options) {
  std::map<std::string, std::vector<const Residual*>> left_out;
  std::size_t dropped = 0;
  for (const Residual& r : report.residuals) {
    if (!r.dropped) continue;
    left_out[r.reason].push_back(&r);
    ++dropped;
  }
  std::string text =
      line("Residuals: %zu measured values, %zu left out", report.residuals.size(), dropped);
  for (const auto& [reason, residuals] : left_out) {
    text += wrapped(printable("left out, " + reason + ":"), {.first = 2, .rest = 4});
    for (const Residual* r : residuals) text += residual_line(*r);
  }
  if (!options.every_residual) return text;
  text += line("  kept:");
  for (const Residual& r : report.residuals) {
    if (!r.dropped) text += residual_line(r);
  }
  return text;
}

std::string notes_text(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += item(note);
  return text;
}

}  // namespace

std::string summary_text(const std::vector<Link>& links, const FitReport& report,
                         const SummaryOptions& options) {
  std::string text;
  for (const Link& link : links) {
    text += line("Link %s (%s)%s%s", link.name.c_str(), std::string(name(link.topology)).c_str(),
                 link.title.empty() ? "" : ": ", link.title.c_str());
    for (const Curve& curve : link.curves) text += curve_text(curve);
    if (link.burst.value.value() > 0)
      text += line("  a pause saves up to %s (+- %.0f %%) of the next collective",
                   time_text(link.burst.value).c_str(), 100 * link.burst.relative_error);
  }
  return text + residuals_text(report, options) + notes_text(report.notes);
}

std::string summary_text(const Machine& machine, const FitReport& report,
                         const SummaryOptions& options) {
  std::string text = line("Machine %s: %s, %d multiprocessors", machine.name.c_str(),
                          machine.device.name.c_str(), machine.device.multiprocessors);
  text += products_text(machine);
  text += constant("copy bandwidth", machine.copy_bandwidth, 1e9, "GB/s");
  text += points_text(machine.copy_points);
  text += constant("optimizer bandwidth", machine.optimizer_bandwidth, 1e9, "GB/s");
  text += points_text(machine.optimizer_points);
  if (machine.adamw_bandwidth) {
    text += constant("AdamW bandwidth", *machine.adamw_bandwidth, 1e9, "GB/s");
    text += points_text(machine.adamw_points);
  }
  if (machine.forward_bandwidth)
    text += constant("bias and activation", *machine.forward_bandwidth, 1e9, "GB/s");
  if (machine.backward_bandwidth)
    text += constant("their gradients", *machine.backward_bandwidth, 1e9, "GB/s");
  text += constant("gap between kernels", machine.kernel_gap, 1e-6, "us");
  if (machine.hook_gap) text += constant("gap more with a hook", *machine.hook_gap, 1e-6, "us");
  for (const Engine engine : {Engine::native, Engine::torch}) {
    const std::string what = "beside collectives, " + std::string(name(engine));
    if (const auto& longer = machine.longer_gap.at(static_cast<std::size_t>(engine)))
      text += constant(what.c_str(), *longer, 1e-6, "us");
  }
  text += host_text(machine);
  if (machine.boost) text += constant("full clock, time factor", *machine.boost, 1, "");
  if (machine.power_window)
    text += constant("power averaged over", *machine.power_window, 1e-3, "ms");
  if (machine.sustained)
    text += constant("sustained clock, time factor", *machine.sustained, 1, "");
  text += summary_text(machine.links, report, options);
  return text + (machine.notes.empty() ? "" : "Notes:\n") + notes_text(machine.notes);
}

}  // namespace ddpx
