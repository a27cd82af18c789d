#!/usr/bin/env bash
# Inside a network namespace of its own (unshare -n): calibrate on plain loopback, forecast loopback shaped to 0.25 Gb/s from that
# link's all-reduce curve alone, run there. Leaves validation.json in the folder given.
#
#   link_loop.sh FOLDER, programs in DDPX_BIN_DIR
set -euo pipefail
cd "$1"
bin=$DDPX_BIN_DIR
network=mlp:width=256,depth=4
ip link set lo up
"$bin/ddpx-calibrate" --ranks 2 --transport socket --widths 256 --batches 16 --budget 20s -o machine.json \
  --measurements measurements.json >&2
tc qdisc add dev lo root tbf rate 250mbit burst 128kb latency 100ms
"$bin/ddpx-calibrate" --ranks 2 --transport socket --only-link --collectives all_reduce --dtypes fp32 --budget 30s \
  --link slow -o slow.json --measurements slow-measurements.json >&2
"$bin/ddpx-validate" --run --machine ./machine.json --transport socket --link slow=slow.json --network $network --batch 16 \
  --runs runs.json --json >validation.json
