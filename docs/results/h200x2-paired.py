#!/usr/bin/env python3
"""The native engine beside PyTorch on the same rows.

    h200x2-paired.py NATIVE.json TORCH.json... > paired.md

Runs files; the median of the fresh process sets' medians on either side.
"""

import json
import sys
from statistics import median


def times(path):
    with open(path, encoding="utf-8") as file:
        for r in json.load(file)["rows"]:
            if r["gpus"] == 2:
                yield (r["link"], r["network"], r["batch_per_rank"]), [median(p["step_times_s"]) for p in r["processes"]]


def main():
    native = dict(times(sys.argv[1]))
    torch = {}
    for path in sys.argv[2:]:
        for key, sets in times(path):
            torch.setdefault(key, []).extend(sets)
    print("# The native engine beside PyTorch\n")
    print("Steps in ms, every fresh process set; the ratio is PyTorch's time over the engine's.\n")
    print("| link | network | batch | native | PyTorch | ratio |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    ratios = {}
    for key in sorted(torch.keys() & native.keys(), key=lambda k: (k[0], int(k[1].split("=")[1].split(",")[0]), k[2])):
        sides = [" ".join(f"{1e3 * t:.3f}" for t in side[key]) for side in (native, torch)]
        ratio = median(torch[key]) / median(native[key])
        ratios.setdefault(key[0], []).append(ratio)
        print(f"| {key[0]} | {key[1]} | {key[2]} | {sides[0]} | {sides[1]} | {ratio:.3f} |")
    print()
    for link, of_link in sorted(ratios.items()):
        print(f"{link}: ratio {min(of_link):.3f} to {max(of_link):.2f}, median {median(of_link):.2f}; at least 0.99 in {sum(r >= 0.99 for r in of_link)} of {len(of_link)} cells.")


main()
