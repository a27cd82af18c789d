#!/usr/bin/env python3
"""One-GPU PyTorch steps beside the forecast of a machine that was measured elsewhere, as tables.

torch-h200x2-solo.py MACHINE RUNS...    by what bounds a row (kernels busy for 90 % of it and more: the GPU) and its dtype, then every row

Reads runs files of `python3 -m ddpx_torch run --gpus 1`; DDPX_BIN_DIR names the folder of the programs (default: build/bin).
"""

import collections
import json
import os
import statistics
import subprocess
import sys

from percentile import percentile

PREDICT = os.path.join(os.environ.get("DDPX_BIN_DIR", "build/bin"), "ddpx-predict")
BUSY = 0.90


def forecast(machine, row):
    words = [PREDICT, "--machine", machine, "--gpus", "1", "--json", "--engine", "torch"]
    for flag, key in (("--network", "network"), ("--batch", "batch_per_rank"), ("--dtype", "dtype"), ("--optimizer", "optimizer"), ("--strategy", "strategy")):
        words += [flag, str(row[key])]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)["rows"][0]["step_time_s"]


def main(machine, *files):
    rows = []
    for path in files:
        with open(path, encoding="utf-8") as text:
            rows += [row for row in json.load(text)["rows"] if row["gpus"] == 1]
    groups = collections.defaultdict(list)
    lines = []
    for row in rows:
        measured = statistics.median(time for process in row["processes"] for time in process["step_times_s"])
        step = forecast(machine, row)
        error = step["value"] / measured - 1
        inside = step["low"] <= measured <= step["high"]
        bound = "GPU" if row.get("device_busy_share", 0) >= BUSY else "host"
        groups[bound, row["dtype"]].append((error, inside))
        lines.append(f"| {row['network']} | {row['batch_per_rank']} | {row['dtype']} | {row['optimizer']} | {bound} | {1e3 * measured:.3g} ms | {1e3 * step['value']:.3g} ms | {100 * error:+.1f} % | {'yes' if inside else 'no'} |")
    print("| bound by | dtype | rows | median error | 95th percentile | largest | signed median | in the 90 % interval |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for (bound, dtype), judged in sorted(groups.items()):
        sizes = [abs(error) for error, _ in judged]
        signed = statistics.median(error for error, _ in judged)
        print(f"| {bound} | {dtype} | {len(judged)} | {100 * statistics.median(sizes):.1f} % | {100 * percentile(sizes, 0.95):.1f} % | {100 * max(sizes):.1f} % | {100 * signed:+.1f} % | {100 * sum(inside for _, inside in judged) / len(judged):.0f} % |")
    print("\n| network | batch | dtype | optimizer | bound by | measured | forecast | error | inside |")
    print("| --- | ---: | --- | --- | --- | ---: | ---: | ---: | --- |")
    print("\n".join(lines))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
