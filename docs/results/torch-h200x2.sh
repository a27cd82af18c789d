#!/usr/bin/env bash
# PyTorch on two H200 over four links: host costs, runs, captures. Every part leaves its files in FOLDER, also when its time ends
# before its work; a part whose file is there is not done again, so that the same command goes on where it ended.
#
#   docs/results/torch-h200x2.sh PART [FOLDER]      (default folder: docs/results/torch-h200x2)
#
#   measure           products, memory, links and host costs through PyTorch            -> measurements.json
#   calibrate         products, memory and host costs again, into a measurements.json that has links already
#   rows              the rows of rows.json, one fresh process set a link (seed 7)      -> runs-7.json
#   capture           GPT of four sizes and ResNet-50, two at a time, a GPU each        -> gpt-*.json, resnet-50.json
#   captured          their DistributedDataParallel                                     -> runs-captured.json
#   sitting           rows that the host bounds and FSDP by block, beside calibrate     -> runs-sitting.json
#   again             a second process set of rows that the host or TCP bounds          -> runs-8.json
#   hook              kernel records with and without the fp16 hook                     -> records/, runs-hook.json
#   why-hook          the device's clock with no hook, the fp16 one and three others         -> hooks.json
#   fsdp              kernel records of FSDP by block                                        -> records/, runs-fsdp.json
#   host              the steps of the host's constants once more, another sitting           -> runs-host.json
#   channels          2 to 24 channels on NVLink, MLP and GPT                           -> runs-channels.json
#   captured-more     their accumulation, fp16 hook and FSDP, NVLink and host memory    -> runs-captured-more.json
#   again-more        further process sets of rows that the host or TCP bounds, then of all -> runs-9.json, runs-10.json
#   all               these but calibrate and sitting, one after the other, for LIMIT seconds (default: 580)
#   second            calibrate, sitting, hook, captured-more, channels, again: on files of an earlier sitting, the same way
#   judge             needs no GPU: fits the machine, forecasts every row, writes fit.txt, report.md and summary.md
#
# DDPX_PYTHON names the Python (default: python3); two GPUs and PyTorch >= 2.3 with NCCL. DRY=1 does the same with small sizes on CPU
# ranks over Gloo: it tries this script, not a machine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
part=${1:?which part?}
folder=${2:-docs/results/torch-h200x2}
python=${DDPX_PYTHON:-python3}
here=docs/results
export PYTHONPATH=$PWD/torch NCCL_NVLS_ENABLE=0 PYTHONUNBUFFERED=1
mkdir -p "$folder"
begun=$SECONDS
limit=${LIMIT:-580}

links=(--transport nvlink=p2p --transport host-memory=shm --transport one-channel=p2p,channels=1 --transport tcp=socket)
channel_links=()
for count in 2 4 8 16; do channel_links+=(--transport "nvlink-${count}ch=p2p,channels=$count"); done
captures=(
  "gpt:layers=30,hidden=1280,heads=20,sequence=1024,vocabulary=50257 8 gpt-656m"
  "gpt:layers=28,hidden=1024,heads=16,sequence=1024,vocabulary=50257 8 gpt-405m"
  "resnet:depth=50 128 resnet-50"
  "gpt:layers=12,hidden=896,heads=14,sequence=1024,vocabulary=50257 16 gpt-162m"
  "gpt:layers=8,hidden=512,heads=8,sequence=1024,vocabulary=50257 16 gpt-50m"
)
measuring=(--dtypes fp32,bf16)
calibrating=(--parts compute,host)
timing=(--processes 1 --seconds 0.25 --patience 90 --keep-going)
keeping=(--keep-records "$folder/records")
capturing=(--dtype bf16 --optimizer adamw --device cuda)
if [[ ${DRY:-} ]]; then
  links=(--transport nvlink=socket --transport host-memory=socket --transport one-channel=socket --transport tcp=socket)
  channel_links=()
  for count in 2 4 8 16; do channel_links+=(--transport "nvlink-${count}ch=socket"); done
  captures=("gpt:layers=2,hidden=64,heads=4,sequence=16,vocabulary=300 4 gpt-50m" "resnet:depth=10,width=4,image=16,classes=10 4 resnet-50")
  measuring=(--widths 64,128 --batches 4,16)
  calibrating=(--parts compute)
  timing=(--processes 1 --seconds 0.05 --patience 90 --keep-going)
  capturing=(--device cpu)
  keeping=()
fi

# SECONDS that are left, at most $1.
left() { local rest=$((limit - (SECONDS - begun))); echo $((rest < $1 ? rest : $1)); }

# The rows of the kind $1, in $folder; dry, the first of each link, small.
rows_of() {
  if [[ $1 == rows ]]; then
    cp $here/torch-h200x2/rows.json "$folder/rows-rows.json"
  else
    "$python" $here/torch-h200x2-rows.py "$1" "$folder" >"$folder/rows-$1.json"
  fi
  [[ ${DRY:-} ]] && "$python" $here/torch-h200x2-dry.py "$folder/rows-$1.json"
  return 0
}

# KIND SEED FILE MOST: rows of KIND for at most MOST seconds.
train() {
  local seconds
  rows_of "$1"
  seconds=$(left "$4")
  ((seconds > 20)) || { echo "no time is left for $3"; return 0; }
  timeout -k 15 -s TERM $((seconds + 5)) "$python" -m ddpx_torch run --rows "$folder/rows-$1.json" "${links[@]}" "${channel_links[@]}" "${timing[@]}" --no-solo --rows-per-process 45 --seed "$2" \
    --budget "$seconds" --profile "${5:-none}" "${@:6}" -o "$folder/$3"
}

# The captures of every other line, on one GPU.
capture_some() {
  local i words network batch name
  for ((i = $1; i < ${#captures[@]}; i += 2)); do
    read -r network batch name <<<"${captures[i]}"
    [[ -e $folder/$name.json ]] && continue
    (($(left 1000) > 25)) || return 0
    CUDA_VISIBLE_DEVICES=$1 timeout -k 5 -s TERM "$(left 120)" "$python" -m ddpx_torch capture "$network" --batch "$batch" "${capturing[@]}" -o "$folder/$name.json"
  done
}

do_part() {
  case $1 in
    measure)
      [[ -e $folder/measurements.json ]] ||
        timeout -k 15 -s TERM "$(left 240)" "$python" -m ddpx_torch measure "${links[@]}" "${measuring[@]}" -o "$folder/measurements.json"
      ;;
    calibrate)
      # Its notes say what a file was measured in.
      grep -q '"compute\(, host\)\? measured' "$folder/measurements.json" ||
        timeout -k 15 -s TERM "$(left 180)" "$python" -m ddpx_torch measure "${links[0]}" "${links[1]}" "${measuring[@]}" "${calibrating[@]}" --add-to "$folder/measurements.json" -o "$folder/measurements.json"
      ;;
    sitting) [[ -e $folder/runs-sitting.json ]] || train sitting 11 runs-sitting.json 110 solo ;;
    rows) [[ -e $folder/runs-7.json ]] || train rows 7 runs-7.json 330 solo ;;
    capture)
      local one two
      capture_some 0 & one=$!
      capture_some 1 & two=$!
      wait "$one" || echo "captures on GPU 0 did not all work"
      wait "$two" || echo "captures on GPU 1 did not all work"
      ;;
    captured) [[ -e $folder/runs-captured.json ]] || train captured 7 runs-captured.json 110 ;;
    again) [[ -e $folder/runs-8.json ]] || train again 8 runs-8.json 140 ;;
    hook)
      mkdir -p "$folder/records"
      [[ -e $folder/runs-hook.json ]] || train hook 7 runs-hook.json 60 all "${keeping[@]}"
      ;;
    why-hook) [[ -e $folder/hooks.json ]] || timeout -k 5 "$(left 90)" "$python" $here/torch-h200x2-hooks.py >"$folder/hooks.json" ;;
    fsdp)
      mkdir -p "$folder/records"
      [[ -e $folder/runs-fsdp.json ]] || train fsdp 7 runs-fsdp.json 100 all "${keeping[@]}"
      ;;
    host) [[ -e $folder/runs-host.json ]] || train host 1 runs-host.json 110 none --processes 4 --seconds 0.2 --repeats 8 ;;
    channels) [[ -e $folder/runs-channels.json ]] || train channels 7 runs-channels.json 80 ;;
    captured-more) [[ -e $folder/runs-captured-more.json ]] || train captured-more 7 runs-captured-more.json 120 ;;
    again-more)
      [[ -e $folder/runs-9.json ]] || train again 9 runs-9.json 140
      [[ -e $folder/runs-10.json ]] || train rows 10 runs-10.json 330
      ;;
    judge) "$python" $here/torch-h200x2-judge.py "$folder" ;;
    *)
      echo "torch-h200x2.sh: no part '$1'; see its first lines" >&2
      exit 2
      ;;
  esac
}

parts=("$part")
[[ $part == all ]] && parts=(measure rows capture captured hook again channels captured-more again-more)
[[ $part == second ]] && parts=(calibrate sitting hook captured-more channels again)
status=0
for each in "${parts[@]}"; do
  (($(left 1000) > 25)) || { echo "$each: no time is left" | tee -a "$folder/log.txt"; continue; }
  start=$SECONDS
  code=0
  do_part "$each" 2> >(tee -a "$folder/stderr.txt" >&2) || code=$?
  echo "$each: $((SECONDS - start)) s, exit code $code" | tee -a "$folder/log.txt"
  ((code == 0)) || status=$code
done
exit "$status"
