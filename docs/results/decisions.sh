#!/usr/bin/env bash
# Makes docs/results/decisions.md: how well strategies are told apart, judged on the shipped runs.
# --check compares instead of writing. Run after building.
set -euo pipefail
cd "$(dirname "$0")/../.."
study=${DDPX_STUDY:-build/tests/ddpx_decisions_study}
file=docs/results/decisions.md
head() {
  cat <<'TEXT'
# Decisions: how well strategies are told apart

Made by docs/results/decisions.sh from validation/runs. Nothing was fitted on these rows.

TEXT
}
if [[ ${1:-} == --check ]]; then
  diff <(head && "$study") "$file"
  "$study" >/dev/null
else
  { head && "$study"; } >"$file.new"
  mv "$file.new" "$file"
fi
