#!/usr/bin/env bash
# Inside a network namespace of its own (unshare -n): capture two models on one core, then over plain and over shaped loopback measure
# PyTorch's collectives, and train there. Leaves plain.json and slow.json, the validations, in the folder given, and the runs they judge.
#
#   loop.sh FOLDER PYTHON ["LINKS"], programs in DDPX_BIN_DIR
set -euo pipefail
tree=$PWD
cd "$1"
python=$2
bin=$DDPX_BIN_DIR
export PYTHONPATH=$tree/torch
torch() { "$python" -m ddpx_torch "$@" 2>>log.txt; }
ip link set lo up
networks=(gpt:layers=2,hidden=128,heads=4,sequence=32,vocabulary=1000 resnet:depth=18,width=16,image=32,classes=10)

for link in ${3:-plain slow}; do
  if [[ $link == slow ]]; then tc qdisc add dev lo root tbf rate 500mbit burst 128kb latency 100ms; fi
  torch measure --link "$link" --widths 256 --batches 16 -o "$link-measurements.json"
  "$bin/ddpx-calibrate" --from "$link-measurements.json" -o "$link-machine.json" >>log.txt
  words=()
  for i in "${!networks[@]}"; do
    torch capture "${networks[i]}" --batch 16 -o "$link-net$i.json"
    words+=(--network "$link-net$i.json")
  done
  torch run "${words[@]}" --batch 16 --strategy ddp --strategy ddp,accumulate=4 --strategy no-sync --link "$link" --processes 2 --seconds 0.5 -o "$link-runs.json"
  "$bin/ddpx-validate" --machine "./$link-machine.json" --measured "$link-runs.json" --json >"$link.json"
done
