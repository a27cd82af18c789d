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
export PYTHONPATH=$tree/torch:$tree/tests/torch
torch() { "$python" -m ddpx_torch "$@"; }
ip link set lo up

torch measure --link tcp --widths 256,512 --batches 16,64 --dtypes fp32 -o plain-measurements.json
"$bin/ddpx-calibrate" --from plain-measurements.json -o plain-machine.json >&2
i=0
words=()
for network in mlp:width=512,depth=4 mlp:width=768,depth=3 gpt:layers=2,hidden=128,heads=4,sequence=64,vocabulary=1000 \
  resnet:depth=18,width=16,image=64,classes=10; do
  torch capture "$network" --batch 16 -o "net$i.json"
  words+=(--network "net$i.json")
  i=$((i + 1))
done
train=(--batch 16 --strategy ddp --strategy ddp,accumulate=4 --seconds 1.5 --transport tcp=socket)
torch run "${words[@]}" "${train[@]}" -o plain-runs.json
"$bin/ddpx-validate" --machine ./plain-machine.json --measured plain-runs.json --json >plain.json

tc qdisc add dev lo root tbf rate 500mbit burst 128kb latency 100ms
torch measure --parts link --link tcp --add-to none.json -o slow-measurements.json 2>/dev/null || true
torch measure --link tcp --widths 256 --batches 16 -o slow-measurements.json
"$bin/ddpx-calibrate" --from slow-measurements.json -o slow-machine.json >&2
torch run "${words[@]}" "${train[@]}" -o slow-runs.json
"$bin/ddpx-validate" --machine ./plain-machine.json --link tcp=slow-machine.json:tcp --measured slow-runs.json --json >slow.json
