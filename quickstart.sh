#!/usr/bin/env bash
# From a fresh clone to the whole loop: installs what is missing, builds the programs, holds forecasts
# against the published two-T4 runs, then calibrates this machine with ranks on its own cores,
# forecasts it, trains there for real, and ends with forecast beside measurement.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

log=build/quickstart.log
here=build/quickstart # what is measured on this machine

say() { printf '\n== %s\n' "$*"; }

./setup.sh

say "Building (a few minutes the first time)"
mkdir -p "$here"
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
bin=build/bin

say "Does data-parallel training pay over NVLink?   ddpx-predict --link nvlink"
$bin/ddpx-predict --machine t4x2 --link nvlink

say "How good is that? 66 published runs   ddpx-validate --measured validation/runs/t4x2.json"
$bin/ddpx-validate --machine t4x2 --measured validation/runs/t4x2.json --markdown build/quickstart-t4x2.md >$here/t4x2.txt
sed '/^$/q' $here/t4x2.txt
echo "The report: build/quickstart-t4x2.md"

say "Now this machine: two ranks on its cores   ddpx-calibrate --quick"
status=0
$bin/ddpx-calibrate --quick --backend cpu -o $here/machine.json --measurements $here/measurements.json >"$here/fit.txt" || status=$?
if ((status == 3 || status == 2)); then
  echo "No ranks can be started here (see above), so the loop ends with the published runs."
  exit 0
fi
((status == 0)) || exit "$status"
sed -n '1,/^Residuals/{/^Residuals/!p}' "$here/fit.txt"

networks=(--network mlp:width=256,depth=8 --network mlp:width=1024,depth=8)
strategies=(--strategy ddp --strategy ddp,accumulate=4)

say "Does a second rank pay here?   ddpx-predict --machine $here/machine.json"
$bin/ddpx-predict --machine $here/machine.json "${networks[@]}" "${strategies[@]}" --batch 64 --engine native

say "Training for real, three fresh process sets of each   ddpx-validate --run"
$bin/ddpx-validate --machine $here/machine.json --run "${networks[@]}" "${strategies[@]}" --batch 64 \
  --runs $here/runs.json --markdown build/quickstart-report.md
