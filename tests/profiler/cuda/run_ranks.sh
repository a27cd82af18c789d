#!/usr/bin/env bash
# run_ranks.sh RANKS PROGRAM [ARGUMENT...]: one process per GPU of this host, joined as a RankJob
# would join them. Fails when any of them does.
set -uo pipefail
ranks=$1
shift
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
if ((gpus < ranks)); then
  echo "skipped: $ranks GPUs are needed, this host has $gpus"
  exit 0
fi
DDPX_JOB_DIRECTORY=$(mktemp -d)
trap 'rm -rf "$DDPX_JOB_DIRECTORY"' EXIT
export DDPX_JOB_DIRECTORY DDPX_RANKS=$ranks NCCL_NVLS_ENABLE=0
pids=()
for ((rank = 0; rank < ranks; ++rank)); do
  DDPX_RANK=$rank "$@" &
  pids+=($!)
done
status=0
for pid in "${pids[@]}"; do wait "$pid" || status=1; done
exit $status
