#!/usr/bin/env bash
# Makes everything docs/two-t4.md shows, from the shipped measurements alone: fits, reports, charts and
# forecasts for other links, GPU counts and batches. Run after building; takes a few seconds.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${DDPX_BIN_DIR:-build/bin}
out=docs/two-t4
mkdir -p "$out"

for machine in t4x2 t4x2-sustained; do
  "$bin/ddpx-calibrate" --from "calibration/measurements/$machine.json" -o "$out/fitted.json" >"$out/$machine-fit.txt"
  cmp "$out/fitted.json" "calibration/machines/$machine.json" # the shipped machine is this fit, byte for byte
  rm "$out/fitted.json"
  sed -i '/^Wrote /d' "$out/$machine-fit.txt"
done

# The sustained variant took its factor from width 2048: it is judged on the other widths.
"$bin/ddpx-validate" --machine t4x2 --measured validation/runs/t4x2.json --markdown "$out/burst.md" >"$out/burst.txt"
# A runs file has one row a line, so rows are left out with grep.
without() { grep -Ev "$1" validation/runs/t4x2.json | sed -z 's/,\n  \]/\n  ]/'; }
without 'width=2048,' |
  "$bin/ddpx-validate" --machine t4x2-sustained --measured - --markdown "$out/sustained.md" >"$out/sustained.txt"
# Plain DDP and bucket rows of the widths that the device bounds.
without 'width=(256|512),|accumulate=|compress=|fsdp' |
  "$bin/ddpx-validate" --machine t4x2 --measured - >"$out/wide-ddp.txt"

# The bars of the study's issue: each family over the widths from 1024 on, and over all. The sustained
# machine took its factor from width 2048, which is therefore left out of its line.
bar() { # NAME MACHINE ROWS-LEFT-OUT
  local rows
  for rows in "width=(256|512),|$3" "$3"; do
    without "$rows" | "$bin/ddpx-validate" --machine "$2" --measured - |
      awk -v name="$1" -v wide="$([[ $rows == "$3" ]] && echo all || echo '>= 1024')" \
        '$1 == "all" { printf "%-36s %-8s %4d %7s %% %7s %% %7s %%\n", name, wide, $2, $3, $5, $7 }'
  done
}
{
  printf '%-36s %-8s %4s %9s %9s %9s\n' 'error of the step' widths rows median 95th largest
  bar 'plain DDP and bucket rows' t4x2 'accumulate=|compress=|fsdp'
  bar 'all DDP rows' t4x2 'fsdp'
  bar 'accumulation, sustained compute' t4x2-sustained 'width=2048,|"ddp,(bucket|compress)|fsdp'
  bar 'FSDP rows' t4x2 '"ddp,'
} >"$out/bars.txt"

other_links=(--link pcie --link pcie4 --link nvlink2 --link infiniband-hdr)
"$bin/ddpx-predict" --machine t4x2 "${other_links[@]}" --gpus 2,4,8 \
  --network mlp:depth=8 --sweep width=256:8192 >"$out/other-links.txt"
"$bin/ddpx-predict" --machine t4x2 "${other_links[@]}" --gpus 2,4,8 \
  --network mlp:width=2048,depth=8 --sweep batch=64:4096 --crossover >"$out/batches.txt"
"$bin/ddpx-predict" --machine t4x2 --network mlp:width=4096,depth=8 --explain \
  --strategy ddp,bucket=25MiB --strategy ddp,bucket=1MiB --strategy ddp,accumulate=8,bucket=25MiB \
  --strategy ddp,compress=fp16,bucket=25MiB --strategy fsdp=unit >"$out/strategies.txt"
echo "wrote $out"
