#!/usr/bin/env bash
# From a fresh clone to a first answer: installs what is missing, builds the programs, forecasts on
# the shipped two-T4 machine, then holds the forecasts against the steps measured there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

report=build/quickstart-report.md
log=build/quickstart.log

say() { printf '\n== %s\n' "$*"; }

./setup.sh

say "Building (a few minutes the first time)"
mkdir -p build
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 # clones in other folders share compiled files
build() {
  cmake --preset release >"$log" 2>&1 || return
  local programs=(ddpx-calibrate ddpx-predict ddpx-validate)
  if [[ -t 1 ]]; then
    cmake --build build --target "${programs[@]}" # ninja keeps to one line on a terminal
  else
    cmake --build build --target "${programs[@]}" >>"$log" 2>&1
  fi
}
build || { tail -n 30 "$log" >&2; echo "quickstart.sh: the build failed; all of it is in $log" >&2; exit 1; }

say "Does data-parallel training pay over NVLink?   ddpx-predict --link nvlink"
build/bin/ddpx-predict --machine t4x2 --link nvlink

say "How good are the forecasts?   ddpx-validate --measured validation/runs/t4x2.json"
status=0
build/bin/ddpx-validate --machine t4x2 --measured validation/runs/t4x2.json --markdown "$report" || status=$?

case $status in
  0) say "Within tolerance. The report: $report" ;;
  1) say "Outside tolerance. The report: $report" ;;
  *) echo "quickstart.sh: ddpx-validate failed with exit code $status" >&2 ;;
esac
exit "$status"
