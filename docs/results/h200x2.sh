#!/usr/bin/env bash
# The two-H200 study of the native engine: fits the shipped machine from the shipped measurements,
# judges it on the shipped runs, and writes docs/results/h200x2/report.md with every row. Needs no
# GPU.
#
#   docs/results/h200x2.sh            fit, judge, write
#   docs/results/h200x2.sh measure    on two GPUs: measures all of it anew, into a folder `measured`
#   docs/results/h200x2.sh fresh [FOLDER]    on two GPUs: what a fresh lease is judged on, into FOLDER
#       (default: measured/fresh), for LIMIT seconds (default: 570): machine, links and three process
#       sets of the rows. A file that is there is not made again: the same command goes on where its
#       time ended, of the rows with those that lack a process set, and says "complete" when nothing
#       is left. DRY=cpu tries it on two CPU ranks with few sizes and rows.
#   docs/results/h200x2.sh judge FOLDER    no GPU: fits and judges what `fresh` left there
#   docs/results/h200x2.sh nccl-tests DIR    on two GPUs: three rounds of nccl-tests (its programs in
#       DIR) and of ours in turn, over NVLink and host memory. One process per GPU where DIR's
#       programs were built with MPI=1 and mpirun is there; else one process for both, which cannot
#       issue fast enough below 2 MB.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
bin=${DDPX_BIN_DIR:-build/bin}
stop() { echo "h200x2.sh: $1" >&2; exit 2; }
case ${1-} in
  "" | measure | fresh | judge | nccl-tests) ;;
  *) stop "'$1' is unknown; accepted: measure, fresh, judge, nccl-tests, or nothing to fit, judge and write" ;;
esac
links=(host-memory tcp nvlink-1ch nvlink-2ch nvlink-4ch nvlink-8ch nvlink-16ch)
# Measured once more in another lease, with products beside them.
again=(nvlink host-memory nvlink-4ch nvlink-8ch)

# FOLDER: its measurements fitted into $machine, its rows judged by it.
judge() {
  local from=() f
  for f in "$1"/measurements-*.json; do from+=(--from "$f"); done
  machine=$(mktemp)
  trap 'rm -f "$machine" "$machine.channels"' EXIT
  $bin/ddpx-calibrate "${from[@]}" -o "$machine" | grep -v "^Wrote" >"$1/fit.txt"
  if grep -q kernel_share "$1"/measurements-*.json; then # pairs by kernel records
    $bin/ddpx-calibrate "${from[@]}" --dry-run 2>/dev/null |
      docs/results/h200x2-contention.py "$machine" "$1"/measurements-*.json >"$1/contention.md"
  fi
  $bin/ddpx-validate --machine "$machine" --measured "$1/runs.json" --markdown "$1/report.md" >"$1/report.txt"
}

if [[ ${1:-} == judge ]]; then
  folder=${2:-}
  [[ -d $folder ]] || stop "judge: '$folder' is no folder; give the one that fresh left its files in"
  judge "$folder"
  sed -n '/^all/,/^family/p' "$folder/report.txt"
  exit
fi

if [[ ${1:-} == fresh ]]; then
  exec docs/results/h200x2-fresh.sh "${@:2}"
fi

if [[ ${1:-} == measure ]]; then
  mkdir -p measured
  $bin/ddpx-calibrate --full --budget 150s --measurements measured/h200x2.json -o measured/machine.json
  only() { # only NAME OPTION...
    $bin/ddpx-calibrate --only-link "${@:2}" --measurements "measured/h200x2-$1.json" -o "measured/$1.json"
  }
  # These two have moods: what lies between process sets is part of their error.
  only host-memory --full --budget 60s --processes 3 --transport shm
  only tcp --full --budget 90s --processes 3 --transport socket
  only nvlink-1ch --full --budget 25s --transport p2p --channels 1 --link nvlink-1ch
  for c in 2 4 8 16; do
    only "nvlink-${c}ch" --quick --collectives all_reduce --channels $c --link "nvlink-${c}ch"
  done
  named=()
  for l in "${links[@]}"; do named+=(--link "$l=measured/$l.json"); done
  exec $bin/ddpx-validate --run --rows docs/results/h200x2/rows.json --machine measured/machine.json \
    "${named[@]}" --processes 3 --seed 11 --runs measured/runs.json --markdown measured/report.md
fi

if [[ ${1:-} == nccl-tests ]]; then
  programs=${2:-}
  [[ -d $programs ]] || stop "nccl-tests: '$programs' is no folder; give the one that holds its programs"
  mkdir -p measured
  start=("-g" 2)
  before=()
  if command -v mpirun >/dev/null && ldd "$programs/all_reduce_perf" | grep -q libmpi; then
    before=(mpirun --allow-run-as-root -n 2)
    start=(-g 1)
  fi
  for transport in p2p shm; do
    off=0
    [[ $transport == shm ]] && off=1
    mine=()
    declare -A logs=()
    for round in 1 2 3; do
      $bin/ddpx-calibrate --only-link --full --budget 20s --dtypes fp32 --transport $transport \
        --measurements "measured/turn-$transport-$round.json" -o "measured/turn-$transport.json"
      mine+=("measured/turn-$transport-$round.json")
      for what in all_reduce all_gather reduce_scatter; do
        log=measured/nccl-tests-$transport-$what-$round.txt
        NCCL_NVLS_ENABLE=0 NCCL_P2P_DISABLE=$off "${before[@]}" "$programs/${what}_perf" -b 4K -e 1G -f 2 \
          -n 20 -w 5 "${start[@]}" >"$log"
        logs[$what]+="${logs[$what]:+,}$log"
      done
    done
    echo "$transport, ${before[0]:-one process}:"
    docs/results/h200x2-nccl-tests.py "$(IFS=,; echo "${mine[*]}")" "all_reduce=${logs[all_reduce]}" \
      "all_gather=${logs[all_gather]}" "reduce_scatter=${logs[reduce_scatter]}"
  done
  exit
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

# Lease by lease: the fresh one of the study, its channels, PyTorch beside it, and what each term buys.
fresh=docs/results/h200x2/fresh
judge "$fresh"
$bin/ddpx-validate --machine "$machine" --measured "$fresh/channels-runs.json" --json >"$machine.channels"
docs/results/h200x2-channels.py "$machine.channels" >"$fresh/channels.md"
docs/results/h200x2-paired.py "$fresh/paired-native.json" "$fresh"/paired-torch-*.json >"$fresh/paired.md"
docs/results/ablation.py "$machine" "$fresh/runs.json" >docs/results/h200x2/ablation.md
sed -n '/^all/,/^family/p' "$fresh/report.txt"
