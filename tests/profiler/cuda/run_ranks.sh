#!/usr/bin/env bash
# run_ranks.sh RANKS PROGRAM [ARGUMENT...]: one process per GPU of this host, joined as a RankJob
# would join them. Fails when any of them does; the others then have 20 s to end by themselves.
# run_ranks.sh --hosts RANKS PROGRAM ...: every rank on a "host" of its own (NCCL_HOSTID), started as
# torchrun would on each. Hosts share GPUs where there are fewer: all but times can be tested so.
set -uo pipefail
hosts=
if [[ $1 == --hosts ]]; then
  hosts=1
  shift
fi
ranks=$1
shift
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
if ((gpus < (hosts ? 1 : ranks))); then
  echo "skipped: $((hosts ? 1 : ranks)) GPUs are needed, this host has $gpus"
  exit 0
fi
DDPX_JOB_DIRECTORY=$(mktemp -d)
trap 'rm -rf "$DDPX_JOB_DIRECTORY"' EXIT
export NCCL_NVLS_ENABLE=0
if [[ $hosts ]]; then
  export WORLD_SIZE=$ranks LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=127.0.0.1
  export MASTER_PORT=$((20000 + RANDOM % 10000)) NCCL_SOCKET_IFNAME=lo
else
  export DDPX_JOB_DIRECTORY DDPX_RANKS=$ranks
fi
pids=()
for ((rank = 0; rank < ranks; ++rank)); do
  if [[ $hosts ]]; then
    RANK=$rank CUDA_VISIBLE_DEVICES=$((rank % gpus)) NCCL_HOSTID=host$rank "$@" &
  else
    DDPX_RANK=$rank "$@" &
  fi
  pids+=($!)
done
status=0
killer=
while ((${#pids[@]})); do
  code=0
  wait -n -p ended "${pids[@]}" 2>/dev/null || code=$?
  for rank in "${!pids[@]}"; do
    [[ ${pids[rank]} == "$ended" ]] && unset "pids[rank]" && break
  done
  ((code && !status)) || continue
  status=1
  echo "rank $rank failed first, with status $code"
  (sleep 20 && kill -KILL "${pids[@]}") >/dev/null 2>&1 &
  killer=$!
  disown
done
# All have ended: their numbers may be other processes' in 20 s.
[[ $killer ]] && kill "$killer" 2>/dev/null
exit $status
