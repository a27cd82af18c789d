#!/usr/bin/env python3
"""Products beside collectives, forecast and measured: the pairs of a calibration's residuals as a table.

    build/bin/ddpx-calibrate --from ... --dry-run | docs/results/h200x2-contention.py MACHINE MEASUREMENTS...

Nothing is fitted here: a line is what the kernel's grid says it takes beside the collective, and what its records say it took. The best
constant of a class is the one factor on the time alone that is nearest to these same pairs in the median.
"""

import json
import re
import statistics
import sys

LINE = re.compile(r"^\s*(\S+), (\w+) (\w+) (\d+)x(\d+)x(\d+) beside\s+(\S+) (ns|us|ms|s)\s+fit\s+(\S+)")
SCALE = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
PASSES = {"fprop": "forward", "dgrad": "data_gradient", "wgrad": "weight_gradient"}


def alone_times(paths):
    times = {}
    for path in paths:
        with open(path) as file:
            for pair in json.load(file).get("besides", []):
                product = pair["product"]
                key = (pair["link"], product["pass"], product["dtype"], product["rows"], product["in"], product["out"])
                if "kernel_share" in pair:
                    times[key] = statistics.median(pair["product_alone_times_s"]) * 1e6
    return times


def pairs(text, machine, alone):
    points = {(p["pass"], p["dtype"], p["rows"], p["in"], p["out"]): p for p in machine["products"]}
    channels = {link["name"]: link.get("channels", 0) for link in machine["links"]}
    for line in text:
        found = LINE.match(line)
        if not found:
            continue
        link, dtype, word, rows, inner, out, beside, unit, fit = found.groups()
        key = (PASSES[word], dtype, float(rows), float(inner), float(out))
        point = points[key]
        yield {
            "link": link, "channels": channels[link], "what": f"{dtype} {word} {rows} x {inner} -> {out}",
            "persistent": point["grid"]["persistent"], "alone": alone[(link, *key)], "beside": float(beside) * SCALE[unit],
            "forecast": float(fit) * SCALE[unit],
        }


def errors(rows, key):
    return sorted(abs(row[key] / row["beside"] - 1) for row in rows)


def best_constant(rows):
    ratios = sorted(row["beside"] / row["alone"] for row in rows)
    def median_error(factor):
        return statistics.median(abs(factor * row["alone"] / row["beside"] - 1) for row in rows)
    return min((median_error(factor), factor) for factor in ratios)


def main():
    with open(sys.argv[1]) as file:
        machine = json.load(file)
    rows = list(pairs(sys.stdin, machine, alone_times(sys.argv[2:])))
    if not rows:
        sys.exit("h200x2-contention.py: no pair in the residuals; were they measured by kernel records?")
    few = lambda row: row["channels"] <= 4
    classes = [
        ("ordinary kernels, more than 4 channels", [r for r in rows if not r["persistent"] and not few(r)]),
        ("persistent kernels, more than 4 channels", [r for r in rows if r["persistent"] and not few(r)]),
        ("4 channels and fewer", [r for r in rows if few(r)]),
        ("all", rows),
    ]
    print("# Products beside all-reduces of 25 MiB: forecast and measured\n")
    print("Made by docs/results/h200x2.sh from kernel records on two H200. A forecast of 1.00 that was right is no merit: it stands apart.\n")
    print("| pairs | n | median | 95th | largest | forecast 1.00 | of these median | best constant | its median |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, members in classes:
        if not members:
            continue
        slowed = [r for r in members if r["forecast"] > 1.005 * r["alone"]]
        level = [r for r in members if r["forecast"] <= 1.005 * r["alone"]]
        found = errors(slowed, "forecast")
        constant, factor = best_constant(slowed) if slowed else (0, 1)
        apart = f"{100 * statistics.median(errors(level, 'forecast')):.1f} %" if level else "-"
        print(f"| {name} | {len(slowed)} | {100 * statistics.median(found):.1f} % | {100 * found[int(0.95 * (len(found) - 1))]:.1f} % | "
              f"{100 * found[-1]:.0f} % | {len(level)} | {apart} | {factor:.2f} | {100 * constant:.1f} % |")
    print("\n| link | channels | product | alone us | beside us | forecast us | error |")
    print("| --- | ---: | --- | ---: | ---: | ---: | ---: |")
    for r in sorted(rows, key=lambda r: (r["link"], r["what"])):
        kind = ", persistent" if r["persistent"] else ""
        print(f"| {r['link']} | {r['channels']} | {r['what']}{kind} | {r['alone']:.1f} | {r['beside']:.1f} | {r['forecast']:.1f} | "
              f"{100 * (r['forecast'] / r['beside'] - 1):+.0f} % |")


if __name__ == "__main__":
    main()
