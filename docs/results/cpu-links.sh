#!/usr/bin/env bash
# Two CPU ranks on TCP loopback shaped to 4, 1 and 0.25 Gb/s: the machine is calibrated on the plain link, each shaped link gives its
# collectives' curves and nothing else, and the forecasts meet fresh runs. Writes cpu-links.md, its charts and the raw files.
#
#   docs/results/cpu-links.sh [FOLDER]      (default: docs/results; build/bin holds the programs)
#
# QUICK=1 runs a few rows in some minutes instead of all in about an hour. Needs root, or user namespaces (unshare -rn). Loopback is
# shared by both directions, so two ranks only. The machine should have nothing else to do.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if [[ -z ${DDPX_SHAPED:-} ]]; then
  # A network namespace of our own: nobody else's loopback is shaped.
  enter=(unshare -n)
  ((EUID == 0)) || enter=(unshare -rn)
  "${enter[@]}" true || { echo "cpu-links.sh: no network namespaces here: ${enter[*]} fails" >&2; exit 77; }
  exec env DDPX_SHAPED=1 "${enter[@]}" "${BASH_SOURCE[0]}" "$@"
fi

folder=${1:-docs/results}
bin=${DDPX_BIN_DIR:-build/bin}
raw=$folder/cpu-links
rates=(4gbit 1gbit 250mbit)
mkdir -p "$raw"
ip link set lo up

if [[ -n ${QUICK:-} ]]; then
  effort=(--quick)
  link_effort=(--budget 90s)
  rows=(--sweep width=128:512 --batch 16,128 --strategy ddp --strategy ddp,compress=fp16)
else
  effort=(--full)
  link_effort=(--budget 300s)
  rows=(--sweep width=128:1024 --batch 16,64,256,512 --strategy ddp --strategy ddp,accumulate=4 --strategy ddp,compress=fp16)
fi

# 64kb of burst hangs, and 512kb lets small messages pass unshaped.
shape() {
  tc qdisc del dev lo root 2>/dev/null || true
  [[ $1 == plain ]] || tc qdisc add dev lo root tbf rate "$1" burst 128kb latency 100ms
}

shape plain
"$bin/ddpx-calibrate" --backend cpu --ranks 2 --transport socket "${effort[@]}" \
  -o "$raw/machine.json" --measurements "$raw/measurements.json"

judged=()
for rate in "${rates[@]}"; do
  shape "$rate"
  link=tcp-$rate
  "$bin/ddpx-calibrate" --backend cpu --ranks 2 --transport socket "${link_effort[@]}" --only-link --link "$link" \
    -o "$raw/$link.json" --measurements "$raw/$link-measurements.json"
  "$bin/ddpx-validate" --run --machine "$raw/machine.json" --transport socket --link "$link=$raw/$link.json" \
    "${rows[@]}" --runs "$raw/$link-runs.json"
  judged+=(--measured "$raw/$link-runs.json" --link "$link=$raw/$link.json")
done

shape plain
"$bin/ddpx-validate" --machine "$raw/machine.json" "${judged[@]}" --markdown "$folder/cpu-links.md" --tolerance 10%
