#!/usr/bin/env bash
# Measures what a fresh lease of two H200 is judged on: see docs/results/h200x2.sh, whose part it is.
#
#   measurements-0-machine.json           compute, memory, host and NVLink
#   measurements-3-*.json, -4-*.json      NVLink with 1, 2, 4, 8 and 16 channels
#   measurements-1-host-memory.json,      links that have moods, in three process sets right before the
#   measurements-5-tcp.json               rows: what lies between is part of their error
#   runs.json                             the rows, three process sets of each: what has been measured of
#                                         them so far
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
here=docs/results
bin=${DDPX_BIN_DIR:-build/bin}
folder=${1:-measured/fresh}
limit=${LIMIT:-570}
stop() { echo "h200x2.sh fresh: $1" >&2; exit 2; }
[[ $limit =~ ^[1-9][0-9]*$ ]] || stop "LIMIT is '$limit'; a number of seconds is needed"
[[ -z ${DRY:-} || $DRY == cpu ]] || stop "DRY is '$DRY'; accepted: cpu"
[[ $(realpath -m "$folder") != "$(realpath $here/h200x2/fresh)" ]] || stop "$folder holds the study's own lease; give another folder"
if [[ ! ${DRY:-} ]]; then
  gpus=$( (nvidia-smi -L 2>/dev/null || true) | grep -c '^GPU' || true)
  ((gpus >= 2)) || stop "two GPUs are needed, this host has $gpus (DRY=cpu tries it without any)"
fi
export NCCL_NVLS_ENABLE=0
mkdir -p "$folder"

rows=$here/h200x2/rows.json
backend=(--backend cuda)
machine=(--full --budget 100s)
host_memory=(--full --budget 35s --processes 3)
tcp=(--full --budget 45s --processes 3)
one_channel=(--full --budget 15s)
few_channels=(--quick --collectives all_reduce)
channels=(1 2 4 8 16)
if [[ ${DRY:-} ]]; then
  rows=$folder/few-rows.json
  "$here/h200x2-few-rows.py" $here/h200x2/rows.json >"$rows"
  backend=(--backend cpu)
  machine=(--quick --widths 64 --batches 16 --dtypes fp32 --collectives all_reduce)
  host_memory=(--quick --dtypes fp32 --collectives all_reduce --processes 3)
  tcp=("${host_memory[@]}")
  channels=()
fi

begun=$SECONDS
status=0
short=15 # nothing begins with less time than this
now=$folder/runs-now.json
left() { echo $((limit - (SECONDS - begun))); }

# FILE COMMAND...: makes FILE, whole or not at all, unless it is there or the time is short. Whether
# it is there then.
make() {
  local file=$1 start=$SECONDS code=0
  shift
  [[ ! -e $file ]] || return 0
  if (($(left) <= short)); then
    echo "no time is left for $file"
    status=75
    return 1
  fi
  timeout -k 15 -s TERM "$(left)" "$@" >>"$folder/log.txt" 2>>"$folder/stderr.txt" || code=$?
  if ((code == 0)) && [[ -e $file.part ]]; then
    mv "$file.part" "$file"
    echo "$file: $((SECONDS - start)) s"
    return 0
  fi
  # Rows that have been measured are of use without the others.
  if [[ $file == "$now" && -e $file.part ]]; then mv "$file.part" "$file"; else rm -f "$file.part"; fi
  echo "$file: exit code $code after $((SECONDS - start)) s: $(tail -n 1 "$folder/stderr.txt" | cut -c 1-200)"
  status=$((code ? code : 1))
  return 1
}

# FILE LINK OPTION...: a link alone, fitted into LINK.json.
only() {
  make "$folder/$1.json" "$bin/ddpx-calibrate" "${backend[@]}" --ranks 2 --only-link --link "$2" "${@:3}" \
    --measurements "$folder/$1.json.part" -o "$folder/$2.json"
}

make "$folder/measurements-0-machine.json" "$bin/ddpx-calibrate" "${backend[@]}" --ranks 2 --link nvlink "${machine[@]}" \
  --measurements "$folder/measurements-0-machine.json.part" -o "$folder/machine.json" || true
for c in "${channels[@]}"; do
  if ((c == 1)); then
    only "measurements-3-nvlink-1ch" nvlink-1ch "${one_channel[@]}" --transport p2p --channels 1 || true
  else
    only "measurements-4-nvlink-${c}ch" "nvlink-${c}ch" "${few_channels[@]}" --transport p2p --channels "$c" || true
  fi
done
only "measurements-1-host-memory" host-memory "${host_memory[@]}" --transport shm || true
only "measurements-5-tcp" tcp "${tcp[@]}" --transport socket || true
named=()
for f in host-memory tcp "${channels[@]/#/nvlink-}"; do
  [[ $f != nvlink-* ]] || f+=ch
  [[ ! -e $folder/$f.json ]] || named+=(--link "$f=$folder/$f.json")
done
# Every call measures what its predecessors had no time for.
joined() {
  [[ ! -e $now ]] || { "$here/h200x2-rest.py" join "$folder/runs.json" "$now" && rm "$now"; }
}
joined
lacking=$("$here/h200x2-rest.py" lacking "$rows" 3 "$folder/runs.json" "$folder/rest.json")
if ((lacking)); then
  make "$now" "$bin/ddpx-validate" --run --rows "$folder/rest.json" --machine "$folder/machine.json" "${named[@]}" \
    --processes 3 --seed 1 --runs "$now.part" || true
  joined
fi
if ((status)); then
  echo "not complete: give the same command again"
else
  echo "complete"
fi
exit "$status"
