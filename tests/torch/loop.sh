#!/usr/bin/env bash
# Inside a network namespace of its own (unshare -n): measure PyTorch on loopback, capture models on one core, forecast
# DistributedDataParallel on two ranks over plain and over shaped loopback from each link's collectives alone, train there. Leaves
# plain.json and slow.json, the validations, in the folder given.
#
#   loop.sh FOLDER PYTHON, programs in DDPX_BIN_DIR
set -euo pipefail
tree=$PWD
cd "$1"
python=$2
bin=$DDPX_BIN_DIR
export PYTHONPATH=$tree/torch
torch() { "$python" -m ddpx_torch "$@"; }
ip link set lo up

torch measure --link plain --widths 256,512 --batches 16,64 -o plain-measurements.json
networks=(mlp:width=512,depth=4 mlp:width=768,depth=3 gpt:layers=2,hidden=128,heads=4,sequence=32,vocabulary=1000
  resnet:depth=18,width=16,image=32,classes=10)
words=()
for i in "${!networks[@]}"; do
  torch capture "${networks[i]}" --batch 16 -o "net$i.json"
  words+=(--network "net$i.json")
done
train=("${words[@]}" --batch 16 --strategy ddp --strategy ddp,accumulate=4 --seconds 0.7)
torch run "${train[@]}" --link plain -o plain-runs.json

tc qdisc add dev lo root tbf rate 500mbit burst 128kb latency 100ms
torch measure --parts link --link slow --add-to plain-measurements.json -o measurements.json
torch run "${train[@]}" --link slow -o slow-runs.json
"$bin/ddpx-calibrate" --from measurements.json -o machine.json >&2
for link in plain slow; do
  "$bin/ddpx-validate" --machine ./machine.json --measured $link-runs.json --markdown $link.md --json >$link.json
done
