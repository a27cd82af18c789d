#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <set>

#include "profiler/plan.hpp"

namespace ddpx {
namespace {

std::string kind_of(const Work& work) {
  if (const auto* beside = std::get_if<Beside>(&work)) {
    return std::holds_alternative<Copy>(beside->work) ? "copies beside collectives"
                                                      : "products beside collectives";
  }
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

std::string list(const std::set<double>& values) {
  std::string text;
  for (double v : values) {
    char word[32];
    std::snprintf(word, sizeof word, "%s%.0f", text.empty() ? "" : ", ", v);
    text += word;
  }
  return text;
}

struct Row {
  std::size_t count = 0;
  Seconds time{};
};

}  // namespace

std::string plan_text(const Plan& plan) {
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
  std::array<char, 200> line{};
  std::string text;
  const auto print = [&](const char* format, auto... values) {
    std::snprintf(line.data(), line.size(), format, values...);
    text += line.data();
  };
  print("%-32s %6s %9s\n", "To measure", "count", "about");
  for (const std::string& kind : order)
    print("%-32s %6zu %7.1f s\n", kind.c_str(), rows[kind].count, rows[kind].time.value());
  print("%-32s %6zu %7.1f s of %.4g s\n", "together", plan.tasks.size(), plan.estimate.value(),
        plan.budget.value());
  if (!widths.empty()) text += "widths " + list(widths) + "; batches " + list(batches) + "\n";
  if (plan.left_out > 0)
    print("%zu finer points are left out to keep to the budget\n", plan.left_out);
  text += "times rest on " + plan.rates_origin + "\n";
  return text;
}

}  // namespace ddpx
