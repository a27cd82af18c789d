#!/usr/bin/env python3
"""How far ddpx's collectives are from nccl-tests', by message size.

    h200x2-nccl-tests.py MEASUREMENTS COLLECTIVE=LOG[,LOG...]...

MEASUREMENTS is one or more files of ddpx-calibrate (comma between them), logs are nccl-tests' text.
Rounds of one size are joined by their median on either side. Ours times all-reduce in place and the
others out of place, so the same columns of nccl-tests are taken.
"""
import json
import statistics
import sys

CLASSES = [(32e6, float("inf"), "32 MB and more"), (2e6, 32e6, "2 to 32 MB"), (64e3, 2e6, "64 KB to 2 MB"), (0, 64e3, "below")]
ROW_FIELDS = 13  # size count type redop root, and twice time algbw busbw #wrong


def ours(paths):
    times = {}
    for path in paths.split(","):
        for sample in json.load(open(path))["collectives"]:
            if sample["dtype"] == "fp32" and not sample.get("rested"):
                key = sample["collective"], sample["bytes"]
                times.setdefault(key, []).append(statistics.median(sample["times_s"]))
    return times


def theirs(collective, paths):
    times = {}
    for path in paths.split(","):
        for line in open(path):
            fields = line.split()
            if len(fields) != ROW_FIELDS or not fields[0].isdigit():
                continue
            time = fields[9 if collective == "all_reduce" else 5]
            times.setdefault((collective, int(fields[0])), []).append(1e-6 * float(time))
    return times


def main():
    if len(sys.argv) < 3 or any("=" not in word for word in sys.argv[2:]):
        sys.exit(__doc__)
    mine = ours(sys.argv[1])
    other = {}
    for word in sys.argv[2:]:
        other.update(theirs(*word.split("=", 1)))
    both = sorted(set(mine) & set(other))
    if not both:
        sys.exit("h200x2-nccl-tests.py: no size of a collective is in both; accepted: nccl-tests' text of "
                 "all_reduce, all_gather or reduce_scatter with sizes that ddpx measured")
    print("| message | n | median | 90th | signed median |\n| --- | ---: | ---: | ---: | ---: |")
    for low, high, words in CLASSES:
        off = [statistics.median(mine[k]) / statistics.median(other[k]) - 1 for k in both if low <= k[1] < high]
        if off:
            away = sorted(abs(o) for o in off)
            ninetieth = away[min(len(away) - 1, int(0.9 * len(away)))]
            print(f"| {words} | {len(off)} | {100 * statistics.median(away):.1f} % | {100 * ninetieth:.1f} % | "
                  f"{100 * statistics.median(off):+.1f} % |")


main()
