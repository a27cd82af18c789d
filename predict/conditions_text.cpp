#include "predict/conditions_text.hpp"

#include "predict/text.hpp"
#include "predict/words.hpp"

namespace ddpx {
namespace {

std::string noun(ConditionKind kind) {
  switch (kind) {
    case ConditionKind::communication:
      return "communication negligible";
    case ConditionKind::even_work:
      return "work even";
    case ConditionKind::no_straggler:
      return "no rank slow";
    case ConditionKind::loader:
      break;
  }
  return "loader keeps up";
}

std::string figure_text(const Condition& condition) {
  switch (condition.kind) {
    case ConditionKind::communication:
      return "takes " + percent_text(condition.figure) + " of the step";
    case ConditionKind::even_work:
      return "fullest rank " + factor_text(condition.figure) + " the mean";
    case ConditionKind::no_straggler:
      return "slowest rank " + factor_text(condition.figure) + " the mean";
    case ConditionKind::loader:
      break;
  }
  return factor_text(condition.figure) + " of what the ranks consume";
}

// What nobody measured or stated, and by which flag it would be.
std::string unknown_text(const Condition& condition) {
  switch (condition.kind) {
    case ConditionKind::communication:
      break;
    case ConditionKind::even_work:
      return "work even (--imbalance)";
    case ConditionKind::no_straggler:
      return "no rank slow (--straggler)";
    case ConditionKind::loader:
      return "loader gives " + amount_text(condition.figure) + " samples/s (--loader-rate)";
  }
  return noun(condition.kind);
}

std::string row_text(const ForecastDocument& document, const ForecastRow& row) {
  TextTable table({{"condition", true}, {"figure", true}, {"costs"}, {"holds", true}});
  std::string broken;
  std::string assumed;
  for (const Condition& c : *row.conditions) {
    if (!c.known) {
      assumed += (assumed.empty() ? "" : ", ") + unknown_text(c);
      continue;
    }
    table.add({noun(c.kind), figure_text(c), percent_text(c.lost), c.holds() ? "yes" : "no"});
    if (!c.holds()) broken += (broken.empty() ? "" : "; ") + noun(c.kind);
  }
  const std::string where = setting_text(row.job.gpus, document.device, row.link) + ", " +
                            shortened(printable(row.network), 48) + ", " +
                            describe(row.job.strategy);
  std::string verdict = broken.empty() ? "No condition of ideal scaling that is known is broken"
                                       : "Not ideal for lack of: " + broken;
  if (document.rows.size() > 1) verdict += " (" + where + ")";
  std::string text = "\n" + wrapped(verdict + ".") + table.text();
  if (!assumed.empty()) text += wrapped("Not known, so assumed: " + assumed + ".");
  if (row.job.imbalance.value_or(0) > 0 && row.job.straggler.value_or(0) > 0)
    text +=
        wrapped("Ranks wait once, for the fullest or the slowest: the step has the larger cost.");
  if (row.forecast.step.term(Term::host).value() > 0)
    text += wrapped("The host sets the pace; what the device does meanwhile costs nothing.");
  if (row.forecast.step.term(Term::loader).value() > 0)
    text +=
        wrapped("The loaders set the pace; what ends before their data is there costs nothing.");
  return text;
}

}  // namespace

std::string conditions_text(const ForecastDocument& document, const ForecastRow& row) {
  const bool asked = document.conditions_asked || row.explanation;
  return row.conditions && asked ? row_text(document, row) : "";
}

}  // namespace ddpx
