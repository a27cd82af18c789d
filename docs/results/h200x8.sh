#!/usr/bin/env bash
# shellcheck disable=SC2054  # commas within words
# Does a calibration of two GPUs say what four and eight of the same host do? Everything that this takes on a machine with 4 or 8 H200,
# in under 20 minutes, and the judging, which needs no GPU.
#
#   docs/results/h200x8.sh [PART...] [FOLDER]      (default: all, docs/results/h200x8; a folder has a / in it)
#
#   machine         two GPUs: products, memory, host and NVLink, by the native engine    -> raw/machine-2.json, machine-2.json
#   links           NVLink, host memory and TCP at every count, products beside them     -> raw/LINK-COUNT.json, links/LINK-COUNT.json
#   native          rows.json at every count, the largest first                          -> native-COUNT-*.json
#   torch-measure   two GPUs through PyTorch: products, memory, host, three links        -> raw/torch-2.json
#   capture         GPT of 162 M and 656 M parameters, a GPU each                        -> gpt-*.json
#   torch           torch-rows.json at every count, the largest first                    -> torch-COUNT-*.json
#   counts          a coarse machine at each larger count: what every GPU does under load, the host -> raw/machine-COUNT.json
#   all             these, one after the other, for LIMIT seconds (default: 580)
#   judge           no GPU: fits the machines, forecasts every row, writes summary.md and the files that it names
#
# Every file is written whole or not at all, what is there is not measured again, and rows that have a time are not trained again: the
# same command, given again, goes on where the last ended, also in a fresh lease with the folder brought along. It says "complete" when
# nothing is left. GPUS=4 or 8 is looked up. GPUS=2 tries the script on two GPUs with few sizes and rows (LIMIT=175 is enough), DRY=cpu
# on two and four CPU ranks (no GPU, a minute); neither is a result, and both want a FOLDER of their own. DDPX_PYTHON names the Python
# (default: python3; PyTorch >= 2.6 with NCCL), DDPX_BIN_DIR the programs (default: build/bin).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
here=docs/results
python=${DDPX_PYTHON:-python3}
bin=${DDPX_BIN_DIR:-build/bin}
limit=${LIMIT:-580}
folder=$here/h200x8
parts=()
for word in "$@"; do
  if [[ $word == */* ]]; then folder=${word%/}; else parts+=("$word"); fi
done
((${#parts[@]})) || parts=(all)
stop() { echo "h200x8.sh: $1" >&2; exit 2; }

export PYTHONPATH=$PWD/torch NCCL_NVLS_ENABLE=0 PYTHONUNBUFFERED=1
[[ $limit =~ ^[1-9][0-9]*$ ]] || stop "LIMIT is '$limit'; a number of seconds is needed"
links=(nvlink host-memory tcp)
declare -A transports=([nvlink]=p2p [host-memory]=shm [tcp]=socket)
if [[ ${DRY:-} ]]; then
  [[ $DRY == cpu ]] || stop "DRY is '$DRY'; accepted: cpu"
  counts=(4 2)
elif [[ ${parts[*]} != judge ]]; then
  gpus=${GPUS:-$( (nvidia-smi -L 2>/dev/null || true) | grep -c '^GPU' || true)}
  case $gpus in
    8) counts=(8 4 2) ;;
    4) counts=(4 2) ;;
    2) counts=(2) ;;
    *) stop "GPUS is '$gpus'; 4 or 8 GPUs are needed (2 to try the script, DRY=cpu without any)" ;;
  esac
fi
if [[ ${DRY:-} || ${gpus:-} == 2 ]] && [[ $(realpath -m "$folder") == "$(realpath $here/h200x8)" ]]; then
  stop "a try is no result: give it a folder of its own, as ./measured"
fi
mkdir -p "$folder/raw" "$folder/links"

# What is measured: on 4 and 8 GPUs, on 2 to try the script, on CPU ranks.
machine=(--full --budget 60s --widths 512,1024,2048,4096,8192 --batches 64,256,1024)
link=(--full --budget 15s --dtypes fp32,bf16,fp16 --collectives all_reduce,all_gather,reduce_scatter)
link_tcp=(--quick --budget 25s "${link[@]:3}") # its largest messages take half a second each
coarse=(--quick --widths 2048,4096 --batches 256)
torch_device=cuda
torch_measure=(--dtypes fp32,bf16 --widths 512,1024,2048,4096,8192 --batches 64,256,1024)
torch_run=(--processes 1 --seconds 0.25 --patience 90 --keep-going --rows-per-process 60)
captures=("gpt:layers=12,hidden=896,heads=14,sequence=1024,vocabulary=50257 16 gpt-162m" "gpt:layers=30,hidden=1280,heads=20,sequence=1024,vocabulary=50257 8 gpt-656m")
capture=(--dtype bf16 --optimizer adamw)
backend=()
native_most=95 torch_most=130 which=whole
if [[ ${gpus:-} == 2 ]]; then
  machine=(--quick)
  link=(--quick --dtypes fp32 --collectives all_reduce)
  link_tcp=("${link[@]}")
  torch_measure=(--parts compute,link --widths 512,2048 --batches 256)
  captures=("gpt:layers=4,hidden=512,heads=8,sequence=512,vocabulary=8192 8 gpt-162m")
  links=(nvlink tcp)
  native_most=35 torch_most=35 which=few
fi
if [[ ${DRY:-} ]]; then
  links=(nvlink tcp)
  transports=([nvlink]=shm [tcp]=socket)
  backend=(--backend cpu)
  machine=(--quick --widths 64 --batches 16 --dtypes fp32 --collectives all_reduce)
  coarse=("${machine[@]}")
  link=(--quick --dtypes fp32 --collectives all_reduce --budget 20s)
  link_tcp=("${link[@]}")
  torch_device=cpu
  torch_measure=(--widths 64 --batches 16)
  torch_run=(--processes 1 --seconds 0.05 --patience 90 --keep-going)
  captures=("gpt:layers=2,hidden=64,heads=4,sequence=16,vocabulary=300 4 gpt-162m")
  capture=()
  native_most=60 torch_most=60 which=tiny
fi

begun=$SECONDS
# SECONDS that are left, at most $1.
left() { local rest=$((limit - (SECONDS - begun))); echo $((rest < $1 ? rest : $1)); }
short=25 # nothing begins with less time than this

# FILE MOST COMMAND...: makes FILE or, whole only when the command ends well, FILE.part; unless it is there or the time is short.
make() {
  local file=$1 most=$2
  shift 2
  [[ ! -e $file ]] || return 0
  (($(left 1000) > short)) || { echo "no time is left for $file"; return 75; }
  local start=$SECONDS code=0
  timeout -k 15 -s TERM "$(left "$most")" "$@" >>"$folder/log.txt" 2>>"$folder/stderr.txt" || code=$?
  ((code)) || [[ ! -e $file.part ]] || mv "$file.part" "$file"
  [[ -e $file ]] || code=$((code ? code : 1))
  ((code == 0)) && echo "$file: $((SECONDS - start)) s" && return 0
  echo "$file: exit code $code after $((SECONDS - start)) s: $(tail -n 1 "$folder/stderr.txt" | cut -c 1-200)"
  return "$code"
}

# FILE FITTED MOST OPTION...: raw measurements and what is fitted from them.
calibrate() {
  local file=$1 fitted=$2 most=$3
  shift 3
  make "$file" "$most" "$bin/ddpx-calibrate" "${backend[@]}" "$@" --measurements "$file.part" -o "$fitted"
}

# ENGINE COUNT: the rows without a time, for as long as there is time.
train() {
  local engine=$1 count=$2 n=1 todo=$folder/todo-$1-$2.json name named=() code=0
  "$python" $here/h200x8/rows.py "$engine" "$count" "$which" "$folder" >"$todo" 2>>"$folder/stderr.txt"
  [[ -s $todo ]] || return 0
  while [[ -e $folder/$engine-$count-$n.json ]]; do n=$((n + 1)); done
  for name in "${links[@]}"; do
    grep -q "\"link\": \"$name\"" "$todo" || continue
    if [[ $engine == native ]]; then
      named+=(--link "$name=$folder/links/$name-2.json")
    elif [[ ${DRY:-} ]]; then
      named+=(--transport "$name=socket")
    else
      named+=(--transport "$name=${transports[$name]}")
    fi
  done
  if [[ $engine == native ]]; then
    make "$folder/$engine-$count-$n.json" "$native_most" "$bin/ddpx-validate" --run --rows "$todo" --machine "$folder/machine-2.json" \
      "${named[@]}" --seed "$n" --runs "$folder/$engine-$count-$n.json" || code=$?
  else
    make "$folder/$engine-$count-$n.json" $((torch_most + 20)) "$python" -m ddpx_torch run --rows "$todo" "${named[@]}" "${torch_run[@]}" \
      --device $torch_device --no-solo --profile solo --seed "$n" --budget "$(left "$torch_most")" -o "$folder/$engine-$count-$n.json" || code=$?
  fi
  # Ended by its time it has kept what was finished: the rest is of another call.
  [[ -e $folder/$engine-$count-$n.json ]] || return "$code"
  "$python" $here/h200x8/rows.py "$engine" "$count" "$which" "$folder" >"$todo" 2>>"$folder/stderr.txt"
  [[ ! -s $todo ]] || { echo "$engine at $count: rows are left"; return 75; }
  rm "$todo"
}

do_part() {
  local count name i network batch code=0
  case $1 in
    machine) calibrate "$folder/raw/machine-2.json" "$folder/machine-2.json" 240 --ranks 2 --link nvlink "${machine[@]}" ;;
    links)
      for count in $(printf '%s\n' "${counts[@]}" | sort -n); do
        for name in "${links[@]}"; do
          local words=("${link[@]}")
          [[ $name != tcp ]] || words=("${link_tcp[@]}")
          calibrate "$folder/raw/$name-$count.json" "$folder/links/$name-$count.json" 60 --ranks "$count" --only-link \
            --transport "${transports[$name]}" --link "$name-${count}gpus" "${words[@]}" || code=$?
        done
      done
      return $code
      ;;
    counts)
      for count in "${counts[@]}"; do
        ((count > 2)) || continue
        calibrate "$folder/raw/machine-$count.json" "$folder/machine-$count.json" 75 --ranks "$count" --link "nvlink-${count}gpus" "${coarse[@]}" || code=$?
      done
      return $code
      ;;
    native | torch)
      for count in "${counts[@]}"; do train "$1" "$count" || code=$?; done
      return $code
      ;;
    torch-measure)
      local ways=()
      for name in "${links[@]}"; do
        [[ ${DRY:-} ]] && ways+=(--transport "$name=socket") || ways+=(--transport "$name=${transports[$name]}")
      done
      make "$folder/raw/torch-2.json" 280 "$python" -m ddpx_torch measure --device $torch_device "${ways[@]}" "${torch_measure[@]}" \
        -o "$folder/raw/torch-2.json.part"
      ;;
    capture)
      local running=()
      for i in "${!captures[@]}"; do
        read -r network batch name <<<"${captures[i]}"
        CUDA_VISIBLE_DEVICES=$i make "$folder/$name.json" 120 "$python" -m ddpx_torch capture "$network" --batch "$batch" \
          "${capture[@]}" --device $torch_device -o "$folder/$name.json" &
        running+=($!)
      done
      for i in "${running[@]}"; do wait "$i" || code=$?; done
      return $code
      ;;
    judge) "$python" $here/h200x8/judge.py "$folder" ;;
    *) stop "no part '$1'; see the script's first lines" ;;
  esac
}

whole=(machine links native torch-measure capture torch counts)
[[ ${parts[*]} == all ]] && parts=("${whole[@]}")
status=0
for each in "${parts[@]}"; do
  start=$SECONDS
  code=0
  do_part "$each" || code=$?
  [[ $each == judge ]] || echo "$each: $((SECONDS - start)) s, exit code $code" | tee -a "$folder/log.txt"
  ((code == 0)) || status=$code
done
if [[ ${parts[*]} == "${whole[*]}" ]]; then
  ((status)) && echo "not complete: give the same command again" || echo "complete"
fi
exit "$status"
