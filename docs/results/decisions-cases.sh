#!/usr/bin/env bash
# Makes docs/results/decisions-cases.md: what public reports asked and what the tool says of them.
# --check compares instead of writing. Run after building.
set -euo pipefail
cd "$(dirname "$0")/../.."
study=${DDPX_STUDY:-build/tests/ddpx_decision_cases_study}
file=docs/results/decisions-cases.md
head() {
  cat <<'TEXT'
# What users asked, and what the tool says

Made by docs/results/decisions-cases.sh from validation/decisions/cases.json: public reports of people who asked what to do, or blamed the wrong part, with their numbers and sources. Numbers are the reports'; where a report gives none the right answer is in our words, some of them chosen, and U144's tolerance of 1 % set, with the answer in view. A number that a report does not state was taken as the reason says; it is marked `_taken` in the file. A case that the tool does not answer is a miss.

TEXT
}
if [[ ${1:-} == --check ]]; then
  diff <(head && "$study") "$file"
else
  { head && "$study"; } >"$file.new"
  mv "$file.new" "$file"
fi
