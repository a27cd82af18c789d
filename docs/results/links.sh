#!/usr/bin/env bash
# Makes docs/results/links.md: the link model and what follows from it, judged on public data that
# nothing was fitted on. --check compares instead of writing. Run after building.
set -euo pipefail
cd "$(dirname "$0")/../.."
study=${DDPX_STUDY:-build/tests/ddpx_links_study}
file=docs/results/links.md
head() {
  cat <<'TEXT'
# Links, counts and nodes: how good the forecast is

Made by docs/results/links.sh from public data in validation/links and validation/scaling. Errors are forecast over measured, less one; nothing in a table was fitted on the rows it judges, except where it says so.

TEXT
}
if [[ ${1:-} == --check ]]; then
  diff <(head && "$study") "$file"
else
  { head && "$study"; } >"$file.new"
  mv "$file.new" "$file"
fi
