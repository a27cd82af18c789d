// Writes the table of docs/results/decisions-cases.md. Run in the repository's root;
// docs/results/decisions-cases.sh does.
#include <fmt/format.h>

#include <exception>

#include "tests/studies/decision_cases.hpp"

int main() {
  using namespace ddpx::study;
  try {
    const Reports reports = read_reports("validation/decisions/cases.json");
    Verdicts verdicts;
    speed_cases(reports, verdicts);
    more_speed_cases(reports, verdicts);
    strategy_cases(reports, verdicts);
    cause_cases(reports, verdicts);
    fmt::print("{}", verdicts.text());
  } catch (const std::exception& error) {
    fmt::print(stderr, "decision_cases_study: {}\n", error.what());
    return 1;
  }
  return 0;
}
