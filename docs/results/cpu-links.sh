#!/usr/bin/env bash
# Two CPU ranks on TCP loopback shaped to 4, 1 and 0.25 Gb/s: the machine is calibrated on the plain link, each shaped link gives its
# all-reduces' curves and nothing else, and the forecasts meet fresh runs. Writes cpu-links.md, its charts and the raw files.
#
#   docs/results/cpu-links.sh [FOLDER]      (one that is there; default: docs/results; build/bin holds the programs)
#
# Takes about half an hour; a step whose file is there already is not done again, so it can be stopped and started. STEPS=N does N
# steps and leaves with 75 when others remain. Needs root, or user namespaces (unshare -rn). Loopback is shared by both directions, so
# two ranks only. The machine should have nothing else to do.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

folder=${1:-docs/results}
[[ -d $folder ]] || { echo "cpu-links.sh: '$folder' is no folder; make it, or give none for docs/results" >&2; exit 2; }

if [[ -z ${DDPX_SHAPED:-} ]]; then
  # A network namespace of our own: nobody else's loopback is shaped.
  enter=(unshare -n)
  ((EUID == 0)) || enter=(unshare -rn)
  "${enter[@]}" true || { echo "cpu-links.sh: no network namespaces here: ${enter[*]} fails" >&2; exit 77; }
  exec env DDPX_SHAPED=1 "${enter[@]}" "${BASH_SOURCE[0]}" "$@"
fi

bin=${DDPX_BIN_DIR:-build/bin}
raw=$folder/cpu-links
rates=(4gbit 1gbit 250mbit)
widths=(128 256 512 1024)
rows=(--batch 16,128,512 --strategy ddp --strategy ddp,accumulate=4 --strategy ddp,compress=fp16)
ranks=(--backend cpu --ranks 2 --transport socket)
mkdir -p "$raw"
ip link set lo up

# 64kb of burst hangs, and 512kb lets small messages pass unshaped.
shape() {
  tc qdisc del dev lo root 2>/dev/null || true
  [[ $1 == plain ]] || tc qdisc add dev lo root tbf rate "$1" burst 128kb latency 100ms
}

steps=${STEPS:-1000}
# step FILE COMMAND...: makes FILE, unless it is there.
step() {
  local file=$1
  shift
  [[ ! -e $file ]] || return 0
  ((steps-- > 0)) || exit 75
  echo "== $file" >&2
  "$@"
}

# What is finished of an interrupted run is no whole run.
train() {
  "$bin/ddpx-validate" --run --machine "$raw/machine.json" --transport socket --link "$link=$raw/$link.json" \
    --network "mlp:width=$width,depth=8" "${rows[@]}" --runs "$runs.part" >/dev/null
  mv "$runs.part" "$runs"
}

shape plain
step "$raw/machine.json" "$bin/ddpx-calibrate" "${ranks[@]}" --full \
  --measurements "$raw/measurements.json" -o "$raw/machine.json"

step "$raw/quick.json" "$bin/ddpx-calibrate" "${ranks[@]}" --quick \
  --measurements "$raw/quick-measurements.json" -o "$raw/quick.json"

links=()
measured=()
for rate in "${rates[@]}"; do
  shape "$rate"
  link=tcp-$rate
  links+=(--link "$link=$raw/$link.json")
  step "$raw/$link.json" "$bin/ddpx-calibrate" "${ranks[@]}" --budget 60s --only-link --collectives all_reduce --link "$link" \
    --measurements "$raw/$link-measurements.json" -o "$raw/$link.json"
  for width in "${widths[@]}"; do
    runs=$raw/$link-$width-runs.json
    step "$runs" train
    measured+=(--measured "$runs")
  done
done

"$bin/ddpx-validate" --machine "$raw/quick.json" "${measured[@]}" "${links[@]}" >"$raw/quick.txt"
"$bin/ddpx-validate" --machine "$raw/machine.json" "${measured[@]}" "${links[@]}" --markdown "$folder/cpu-links.md" --tolerance 10%
