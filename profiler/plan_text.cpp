#include <cstdio>
#include <map>
#include <set>

#include "profiler/plan.hpp"
#include "text/page.hpp"
#include "text/table.hpp"

namespace ddpx {
namespace {

std::string kind_of(const Work& work) {
  if (const auto* beside = std::get_if<Beside>(&work)) {
    return std::holds_alternative<Copy>(beside->work) ? "copies beside collectives"
                                                      : "products beside collectives";
  }
  if (const auto* recorded = std::get_if<Recorded>(&work))
    return "records of products in " + std::string(name(recorded->product.dtype));
  struct Word {
    std::string operator()(const Product& p) const {
      return "products in " + std::string(name(p.dtype));
    }
    std::string operator()(const CollectiveCall& c) const {
      if (c.rested) return std::string(name(c.kind)) + " after a pause";
      return std::string(name(c.kind)) + " in " + std::string(name(c.dtype));
    }
    std::string operator()(const Copy& /*unused*/) const { return "copies"; }
    std::string operator()(const OptimizerStep& o) const {
      return std::string(name(o.optimizer)) + " updates";
    }
    std::string operator()(const Elementwise& /*unused*/) const {
      return "kernels between products";
    }
    std::string operator()(const Launch& /*unused*/) const { return "launch cost"; }
  };
  return std::visit(Word{}, std::get<Operation>(work));
}

std::string printed(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string list(const std::set<double>& values) {
  std::string text;
  for (double v : values) text += (text.empty() ? "" : ", ") + printed("%.0f", v);
  return text;
}

std::string seconds_text(Seconds time) { return printed("%.1f s", time.value()); }

struct Row {
  std::size_t count = 0;
  Seconds time{};
};

}  // namespace

std::string plan_text(const MeasurementPlan& plan) {
  std::vector<std::string> order;
  std::map<std::string, Row> rows;
  std::set<double> widths;
  std::set<double> batches;
  for (const Task& task : plan.tasks) {
    const std::string kind = kind_of(task.work);
    if (!rows.contains(kind)) order.push_back(kind);
    rows[kind].count += 1;
    rows[kind].time += task.estimate;
    const auto* operation = std::get_if<Operation>(&task.work);
    if (operation == nullptr) continue;
    if (const auto* product = std::get_if<Product>(operation)) {
      widths.insert(product->in);
      batches.insert(product->rows);
    }
  }
  TextTable table({{"To measure", true, 32}, {"count", false, 5}, {"about", false, 8}});
  for (const std::string& kind : order)
    table.add({kind, std::to_string(rows[kind].count), seconds_text(rows[kind].time)});
  table.add({"together", std::to_string(plan.tasks.size()), seconds_text(plan.estimate)});
  std::string text = table.text();
  text += wrapped("a budget of " + printed("%.4g s", plan.budget.value()));
  if (!widths.empty())
    text += wrapped("widths " + list(widths) + "; batches " + list(batches), {.rest = 2});
  if (plan.left_out > 0)
    text +=
        wrapped(std::to_string(plan.left_out) + " finer points are left out to keep to the budget");
  return text + wrapped("times rest on " + plan.rates_origin, {.rest = 2});
}

}  // namespace ddpx
