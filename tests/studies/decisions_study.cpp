// Writes the table of docs/results/decisions-cases.md. Run in the repository's root;
// docs/results/decisions.sh does.
#include <fmt/format.h>

#include <exception>

#include "tests/studies/decisions.hpp"

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
    fmt::print(stderr, "decisions_study: {}\n", error.what());
    return 1;
  }
  return 0;
}
