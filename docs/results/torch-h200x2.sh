#!/usr/bin/env bash
# PyTorch on two H200 over four links: runs, host costs, captures. Each part takes under eight minutes and leaves its files in FOLDER.
#
#   docs/results/torch-h200x2.sh PART [FOLDER]      (default folder: docs/results/torch-h200x2)
#
#   nvlink | host-memory | one-channel | tcp   the rows of rows.json on that link, three fresh process sets each
#   measure                                    products, memory, links and host costs through PyTorch
#   capture                                    GPT of four sizes and ResNet-50 on one GPU
#   captured                                   their rows on two, one fresh process set each, for each SEED; ONLY=LINK,... for some links
#
# Needs two GPUs, PyTorch >= 2.3 with NCCL as python3, nothing else.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
part=${1:?which part?}
folder=${2:-docs/results/torch-h200x2}
export PYTHONPATH=$PWD/torch NCCL_NVLS_ENABLE=0 PYTHONUNBUFFERED=1
mkdir -p "$folder"
torch=(python3 -m ddpx_torch)
links=(--transport nvlink=p2p --transport host-memory=shm --transport one-channel=p2p,channels=1 --transport tcp=socket)

captures=(
  "gpt:layers=8,hidden=512,heads=8,sequence=1024,vocabulary=50257 16 gpt-50m"
  "gpt:layers=12,hidden=896,heads=14,sequence=1024,vocabulary=50257 16 gpt-162m"
  "gpt:layers=28,hidden=1024,heads=16,sequence=1024,vocabulary=50257 8 gpt-405m"
  "gpt:layers=30,hidden=1280,heads=20,sequence=1024,vocabulary=50257 8 gpt-656m"
  "resnet:depth=50 128 resnet-50"
)

case $part in
  nvlink | host-memory | one-channel | tcp)
    "${torch[@]}" run --rows docs/results/torch-h200x2/rows.json --only "$part" "${links[@]}" --processes 3 --seed 7 --seconds 0.5 \
      --keep-going --budget 450 -o "$folder/runs-$part.json"
    ;;
  measure)
    "${torch[@]}" measure "${links[@]}" --dtypes fp32,bf16 -o "$folder/measurements.json"
    ;;
  capture)
    for words in "${captures[@]}"; do
      read -r network batch name <<<"$words"
      "${torch[@]}" capture "$network" --batch "$batch" --dtype bf16 --optimizer adamw --device cuda -o "$folder/$name.json"
    done
    ;;
  captured)
    python3 - "$folder" >"$folder/captured-rows.json" <<'PY'
import json, sys
rows = []
for name, batch in [("gpt-50m", 16), ("gpt-162m", 16), ("gpt-405m", 8), ("gpt-656m", 8), ("resnet-50", 128)]:
    for strategy in ("ddp", "ddp,accumulate=4", "ddp,compress=fp16", "fsdp=unit"):
        rows.append({"network": name + ".json", "gpus": 2, "strategy": strategy, "dtype": "bf16", "optimizer": "adamw", "batch_per_rank": batch})
print(json.dumps({"rows": rows}))
PY
    "${torch[@]}" run --rows "$folder/captured-rows.json" "${links[@]}" ${ONLY:+--only "$ONLY"} --processes 1 --seed "${SEED:-7}" --seconds 0.5 --keep-going \
      --no-profile --budget 450 -o "$folder/runs-captured-${SEED:-7}.json"
    ;;
  *)
    echo "torch-h200x2.sh: no part '$part'" >&2
    exit 2
    ;;
esac
