#include "report/validation_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "report/figures.hpp"
#include "report/validation_tables.hpp"
#include "report/validation_words.hpp"
#include "report/words.hpp"
#include "validation/summary.hpp"

namespace ddpx::report {
namespace {

constexpr std::size_t kLargestErrors = 10;

std::string link_sentence(const Link& link) {
  std::string text = "Link " + link.name;
  if (!link.title.empty() && link.title != link.name) text += " (" + link.title + ")";
  text +=
      link.curves.empty()
          ? fmt::format(
                ", by its figures: {}/s all-reduce bus bandwidth, {} for the smallest message",
                bytes_text(link.bus_bandwidth().value()), seconds_text(link.latency.value.value()))
          : fmt::format(", measured: {}/s all-reduce bus bandwidth, {}",
                        bytes_text(link.bus_bandwidth().value()),
                        counted(link.curves.size(), "curve"));
  if (!link.source.empty()) text += ", from " + link.source;
  return text + ".";
}

std::string runs_sentence(const Runs& runs) {
  const auto judged = static_cast<std::size_t>(std::count_if(
      runs.rows.begin(), runs.rows.end(), [](const RunRow& row) { return row.job.gpus > 1; }));
  std::string text =
      judged == 0
          ? fmt::format(
                "Judged on {}: {} of one GPU, the work alone. What sharing it costs is not in "
                "question",
                runs.name, counted(runs.rows.size(), "row"))
          : fmt::format(
                "Judged on {}: {} with more than one GPU. Not judged: {} of one GPU, for speedups "
                "and regimes",
                runs.name, counted(judged, "row"), counted(runs.rows.size() - judged, "row"));
  if (!runs.source.empty()) text += ". Source: " + runs.source;
  return text + ".";
}

// Files of one name and source are parts of one campaign.
std::vector<Runs> joined(std::span<const Runs> files) {
  std::vector<Runs> all;
  for (const Runs& runs : files) {
    const auto same = std::find_if(all.begin(), all.end(), [&](const Runs& other) {
      return other.name == runs.name && other.source == runs.source;
    });
    if (same == all.end()) {
      all.push_back(runs);
      continue;
    }
    same->rows.insert(same->rows.end(), runs.rows.begin(), runs.rows.end());
    for (const std::string& note : runs.notes) {
      if (std::find(same->notes.begin(), same->notes.end(), note) == same->notes.end())
        same->notes.push_back(note);
    }
  }
  return all;
}

Bullets grounds(const ValidationFacts& facts) {
  const Machine& machine = facts.machine;
  Bullets bullets;
  std::string fitted = "Machine " + machine.name + " (" + machine.device.name + ")";
  if (!machine.measurements.empty())
    fitted += ", fitted on the measurements " + machine.measurements;
  if (!machine.measurements_hash.empty()) fitted += " (" + machine.measurements_hash + ")";
  bullets.items.push_back(fitted + ".");
  for (const Link& link : facts.links) bullets.items.push_back(link_sentence(link));
  for (const Runs& runs : joined(facts.files)) {
    bullets.items.push_back(runs_sentence(runs));
    for (const std::string& note : runs.notes)
      bullets.items.push_back("Runs " + runs.name + ": " + note);
  }
  for (const std::string& note : facts.notes) bullets.items.push_back(note + ".");
  return bullets;
}

Bullets largest_errors(const Comparison& comparison) {
  Bullets bullets;
  for (const ComparedRow* row : worst_first(comparison.rows)) {
    if (bullets.items.size() == kLargestErrors) break;
    bullets.items.push_back(fmt::format("{} {}: forecast {}, measured {}; {}.",
                                        signed_percent(row->error), row_name(*row),
                                        seconds_text(row->forecast.step_time_s.value),
                                        seconds_text(row->measured.value), explanation(*row)));
  }
  return bullets;
}

// Each said in one sentence or two, in the order in which the report needs them.
constexpr const char* kDefinitions[] = {
    R"(Error is forecast / measured - 1 of the step time; medians and percentiles are of its size,
the signed median of itself. Percentiles are linearly interpolated.)",
    R"(A measured step is the median over fresh processes of each process's median step.)",
    R"(Speedup is samples per second on N GPUs over samples per second of one GPU with plain
steps.)",
    R"(A row is GPU-bound when its one-GPU step keeps the device busy for 90 % or, without records,
follows the flops of its neighbour in width within 10 %; this is decided from measurements, before
any forecast.)",
    R"(A verdict is judged where the measured speedup lies more than 5 % from 1. A forecast that
calls such a row too close is wrong.)",
    R"(The conformal half-width is what the errors of a link and regime would give as a 90 %
interval; its coverage judges each network's rows by the errors of the other networks alone.)",
    R"(Baselines B0 to B4 get the machine's one-GPU step and the link's bus bandwidth; B5 and B6
get measured speedups of other rows and the measured one-GPU step.)"};

Bullets definitions() { return {{std::begin(kDefinitions), std::end(kDefinitions)}}; }

// A chart needs a sweep; a report on single sizes has none.
void add_figure(Document& document, Figure figure) {
  if (!figure.charts.empty()) document.blocks.emplace_back(std::move(figure));
}

}  // namespace

Document validation_document(const ValidationFacts& facts) {
  const Comparison& comparison = facts.comparison;
  Document document{"Forecast beside measurement: " + facts.machine.name, {}};
  const auto add = [&](Block block) { document.blocks.push_back(std::move(block)); };
  add(Callout{tone(facts), headline(facts)});
  add(Bullets{findings(comparison)});
  add(Heading{"What was fitted, what was judged"});
  add(grounds(facts));
  add(Heading{"Errors"});
  add(summary_table(comparison));
  const bool shared = shares_work(comparison);
  add(Heading{shared ? "Speedup, communication and errors" : "Every step"});
  add_figure(document, speedup_figure(comparison));
  add_figure(document, communication_figure(comparison));
  add_figure(document, errors_figure(comparison));
  if (!comparison.crossings.empty()) {
    add(Heading{"Where another GPU stops paying"});
    add(
        Paragraph{"Parameters at which the speedup crosses 1. Forecast and measurement are "
                  "interpolated alike, on the same points; a "
                  "forecast's interval spans the sizes whose verdict is open."});
    add(crossing_table(comparison));
  }
  if (shared) {
    add(Heading{"Verdicts that were wrong"});
    const Table misses = misses_table(comparison);
    misses.rows.empty() ? add(Paragraph{"None."}) : add(misses);
  }
  add(Heading{"Largest errors"});
  add(largest_errors(comparison));
  if (shared) {
    add(Heading{"Baselines on the same rows"});
    add(baseline_table(comparison));
  }
  add(Heading{"By link and regime"});
  add(conformal_table(comparison));
  add(Heading{"By strategy"});
  add(strategy_table(comparison));
  add(Heading{"Every row"});
  add(rows_table(comparison));
  if (!facts.machine.notes.empty()) {
    add(Heading{"What the machine rests on"});
    add(Bullets{facts.machine.notes});
  }
  add(Heading{"How to read this"});
  add(definitions());
  if (!facts.program.empty()) add(Paragraph{"Written by " + facts.program + "."});
  return document;
}

}  // namespace ddpx::report
