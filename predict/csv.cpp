// The CSV form of a forecast; declared in table.hpp beside the text form, so that both are found
// together.
#include <array>
#include <charconv>

#include "predict/table.hpp"

namespace ddpx {
namespace {

// Shortest text that reads back to the same number, whatever the locale.
std::string number(double value) {
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), error == std::errc() ? end : text.data()};
}

std::string optional_number(const std::optional<double>& value) {
  return value ? number(*value) : "";
}

std::string field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string result = "\"";
  for (char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + '"';
}

class Line {
 public:
  Line& add(std::string_view cell) {
    if (begun_) text_ += ',';
    begun_ = true;
    text_ += field(cell);
    return *this;
  }
  Line& add(double value) { return add(std::string_view(number(value))); }
  Line& add(const Interval& interval) {
    return add(interval.value).add(interval.low).add(interval.high);
  }
  [[nodiscard]] std::string take() { return std::move(text_) + "\r\n"; }

 private:
  std::string text_;
  bool begun_ = false;
};

std::string break_even(const ForecastRow& row) {
  if (!row.break_even_batch_per_rank) return "";
  return number(*row.break_even_batch_per_rank / row.job.ranks_sharing_batch());
}

void add_interval_names(Line& line, const std::string& key) {
  line.add(key).add(key + "_low").add(key + "_high");
}

struct PlanInterval {
  const char* name;
  std::optional<Interval> Plan::*member;
};
constexpr std::array<PlanInterval, 9> kPlanIntervals{
    {{"cost_per_million_samples", &Plan::cost_per_million},
     {"run_s", &Plan::run_s},
     {"run_cost", &Plan::run_cost},
     {"samples_ratio", &Plan::samples_ratio},
     {"target_samples", &Plan::target_samples},
     {"target_steps", &Plan::target_steps},
     {"target_speedup", &Plan::target_speedup},
     {"target_s", &Plan::target_s},
     {"target_cost", &Plan::target_cost}}};

std::string header() {
  Line line;
  for (const char* key :
       {"network", "parameters", "width", "batch_per_rank", "gpus", "nodes", "link", "strategy",
        "scaling", "machine", "engine", "dtype", "optimizer"}) {
    line.add(key);
  }
  for (const char* key : {"step_time_s", "speedup", "samples_per_s"}) add_interval_names(line, key);
  for (const char* key : {"verdict", "communication_share", "communication_busy_share"})
    line.add(key);
  for (std::size_t i = 0; i < kTerms; ++i) line.add(std::string(name(static_cast<Term>(i))) + "_s");
  line.add("bound_by").add("extrapolated").add("break_even_batch_per_rank");
  for (const char* key : {"global_batch", "fits", "learning_rate_factor", "learning_rate",
                          "rented_machine", "price_per_hour"})
    line.add(key);
  for (const PlanInterval& interval : kPlanIntervals) add_interval_names(line, interval.name);
  line.add("target_verdict").add("cheapest").add("judged_steps");
  return line.take();
}

// Empty fields where no plan was asked for.
void add_plan(Line& line, const std::optional<Plan>& plan, bool cheapest) {
  if (plan) {
    line.add(plan->global_batch).add(plan->fits ? "yes" : "no").add(plan->rate_factor);
    line.add(optional_number(plan->learning_rate)).add(plan->rent.machine);
    line.add(plan->rent.per_hour);
  } else {
    for (int i = 0; i < 6; ++i) line.add("");
  }
  for (const PlanInterval& known : kPlanIntervals) {
    const std::optional<Interval> interval = plan ? (*plan).*known.member : std::nullopt;
    if (interval) {
      line.add(*interval);
    } else {
      line.add("").add("").add("");
    }
  }
  line.add(plan && plan->target_verdict ? name(*plan->target_verdict) : "");
  line.add(cheapest ? "yes" : "");
}

std::string line_of(const ForecastRow& row, bool cheapest) {
  const Forecast& f = row.forecast;
  Line line;
  line.add(row.network)
      .add(row.parameters)
      .add(optional_number(row.width))
      .add(row.job.samples_per_micro_batch());
  line.add(row.job.gpus).add(row.nodes).add(row.link).add(describe(row.job.strategy));
  line.add(row.job.scaling == Scaling::strong ? "strong" : "weak")
      .add(row.machine)
      .add(name(row.job.engine));
  line.add(name(row.job.dtype)).add(name(row.job.optimizer));
  line.add(f.step_time_s).add(f.speedup).add(f.samples_per_s);
  line.add(f.verdict ? name(*f.verdict) : "");
  line.add(f.step.communication_share()).add(f.step.communication_busy_share());
  for (std::size_t i = 0; i < kTerms; ++i) line.add(f.step.terms[i].value());
  std::string outside;
  for (const std::string& reason : row.extrapolated)
    outside += (outside.empty() ? "" : "; ") + reason;
  line.add(name(f.step.bound_by())).add(outside).add(break_even(row));
  add_plan(line, row.plan, cheapest);
  line.add(f.learned ? std::to_string(f.learned->steps) : "");
  return line.take();
}

}  // namespace

std::string csv_of(const ForecastDocument& document) {
  std::string text = header();
  for (std::size_t i = 0; i < document.rows.size(); ++i)
    text += line_of(document.rows[i], document.decision && document.decision->row == i);
  return text;
}

ForecastDocument write_csv(const Query& query, const TextSink& write) {
  // A failure that comes with the first rows leaves nothing written.
  constexpr std::size_t kHeld = std::size_t{1} << 20;
  std::string text = header();
  ForecastDocument document = run(query, [&](const ForecastRow& row) {
    text += line_of(row, false);
    if (text.size() < kHeld) return;
    write(text);
    text.clear();
  });
  write(text);
  return document;
}

}  // namespace ddpx
