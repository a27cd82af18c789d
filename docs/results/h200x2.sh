#!/usr/bin/env bash
# The two-H200 study of the native engine: fits the shipped machine from the shipped measurements,
# judges it on the shipped runs, and writes docs/results/h200x2/report.md with every row. Needs no
# GPU.
#
#   docs/results/h200x2.sh            fit, judge, write
#   docs/results/h200x2.sh measure    on two GPUs: measures all of it anew, into a folder `measured`
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
bin=build/bin
links=(host-memory tcp nvlink-1ch nvlink-2ch nvlink-4ch nvlink-8ch nvlink-16ch)
# Measured once more in another lease, with products beside them.
again=(nvlink host-memory nvlink-4ch nvlink-8ch)

if [[ ${1:-} == measure ]]; then
  mkdir -p measured
  $bin/ddpx-calibrate --full --budget 150s --measurements measured/h200x2.json -o measured/machine.json
  only() { # only NAME OPTION...
    $bin/ddpx-calibrate --only-link "${@:2}" --measurements "measured/h200x2-$1.json" -o "measured/$1.json"
  }
  only host-memory --full --budget 25s --transport shm
  only tcp --full --budget 25s --transport socket
  only nvlink-1ch --full --budget 25s --transport p2p --channels 1 --link nvlink-1ch
  for c in 2 4 8 16; do
    only "nvlink-${c}ch" --quick --collectives all_reduce --channels $c --link "nvlink-${c}ch"
  done
  named=()
  for l in "${links[@]}"; do named+=(--link "$l=measured/$l.json"); done
  exec $bin/ddpx-validate --run --rows docs/results/h200x2/rows.json --machine measured/machine.json \
    "${named[@]}" --processes 3 --seed 11 --runs measured/runs.json --markdown measured/report.md
fi

from=(--from calibration/measurements/h200x2.json)
for l in "${again[@]}"; do from+=(--from "calibration/measurements/h200x2-$l-second.json"); done
for l in "${links[@]}"; do from+=(--from "calibration/measurements/h200x2-$l.json"); done
$bin/ddpx-calibrate "${from[@]}" -o calibration/machines/h200x2.json >docs/results/h200x2/fit.txt
$bin/ddpx-calibrate "${from[@]}" --dry-run 2>/dev/null |
  docs/results/h200x2-contention.py calibration/machines/h200x2.json calibration/measurements/h200x2-*-second.json \
    >docs/results/h200x2/contention.md
$bin/ddpx-validate --machine calibration/machines/h200x2.json \
  --measured validation/runs/h200x2-native.json --markdown docs/results/h200x2/report.md

# A fresh lease, its own calibration, one process set.
fresh=docs/results/h200x2/fresh
from=()
for f in "$fresh"/measurements-*.json; do from+=(--from "$f"); done
machine=$(mktemp)
trap 'rm -f "$machine"' EXIT
$bin/ddpx-calibrate "${from[@]}" -o "$machine" | grep -v "^Wrote" >"$fresh/fit.txt"
$bin/ddpx-validate --machine "$machine" --measured "$fresh/runs.json" >"$fresh/report.txt"
sed -n '/^all/,/^family/p' "$fresh/report.txt"
