#!/usr/bin/env python3
"""Which NCCL channel count is best, forecast and measured.

    h200x2-channels.py VALIDATION > channels.md

VALIDATION is what `ddpx-validate --json` says of rows that differ in channels.
"""

import json
import sys
from collections import defaultdict

from percentile import percentile

COUNTS = ("nvlink-2ch", "nvlink-4ch", "nvlink-8ch", "nvlink-16ch", "nvlink")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        rows = [r for r in json.load(file)["rows"] if r["gpus"] == 2]
    jobs = defaultdict(dict)
    for r in rows:
        jobs[(r["width"], r["batch_per_rank"], r["dtype"])][r["link"]] = r
    print("# Channels on NVLink: forecast and measured\n")
    print("Steps in ms, forecast / measured, MLP of 8 layers on two H200; NCCL takes 24 channels by itself.\n")
    print("| width | batch | dtype | 2 channels | 4 | 8 | 16 | 24 | best forecast | best measured | forecast's choice is slower by |")
    print("| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | --- | --- | ---: |")
    losses = []
    for (width, batch, dtype), by_link in sorted(jobs.items()):
        forecast = {link: by_link[link]["step_time_s"]["value"] for link in COUNTS}
        measured = {link: by_link[link]["measured_step_time_s"]["value"] for link in COUNTS}
        chosen, best = min(forecast, key=forecast.get), min(measured, key=measured.get)
        losses.append(measured[chosen] / measured[best] - 1)
        cells = " | ".join(f"{1e3 * forecast[link]:.4g} / {1e3 * measured[link]:.4g}" for link in COUNTS)
        count = {link: link.removeprefix("nvlink-").removesuffix("ch") for link in (chosen, best)}
        names = [count[link] if link != "nvlink" else "24" for link in (chosen, best)]
        print(f"| {width} | {batch} | {dtype} | {cells} | {names[0]} | {names[1]} | {100 * losses[-1]:.1f} % |")
    errors = [abs(r["error"]) for r in rows]
    print(f"\nError of the step over these {len(rows)} rows: median {100 * percentile(errors, 0.5):.2g} %, 95th percentile {100 * percentile(errors, 0.95):.2g} %, largest {100 * max(errors):.2g} %.")
    print(f"The forecast's choice costs {100 * max(losses):.1f} % at most, within 1 % of the best in {sum(loss <= 0.01 for loss in losses)} of {len(losses)}.")


main()
