#!/usr/bin/env python3
"""What each term of the model buys: the same rows forecast with one term left out of the machine at a time.

    docs/results/ablation.py MACHINE RUNS [VALIDATE]

Nothing is fitted again: a term is left out by giving the machine the value at which it does nothing, so what a fit would move elsewhere
shows as loss. Prints a table in Markdown; rows that the device bounds, over links of GPUs, and rows that the host bounds apart.
"""

import copy
import json
import os
import subprocess
import sys
import tempfile

from percentile import percentile


def each_link(change):
    def changed(machine):
        for link in machine["links"]:
            change(link)
    return changed


def without(*names):
    def changed(owner):
        for name in names:
            owner.pop(name, None)
    return changed


def no_waves(machine):
    for product in machine["products"]:
        product.pop("grid", None)


def lines_alone(link):
    for curve in link["curves"]:
        if curve.get("lines"):
            curve["points"] = []


def bandwidth_alone(link):
    for curve in link["curves"]:
        best = max(point["bytes"] / point["time_s"] for point in curve["points"])
        curve["points"] = []
        curve["lines"] = [{"latency_s": {"value": 0, "relative_error": 0.02, "origin": ""},
                           "bandwidth_bytes_per_s": {"value": best, "relative_error": 0.02, "origin": ""}}]


def set_to(name, value):
    def changed(machine):
        if name in machine:
            machine[name] = value if not isinstance(machine[name], dict) else {**machine[name], "value": value}
    return changed


def no_host(machine):
    for costs in machine["host"].values():
        for constant in costs.values():
            if isinstance(constant, dict) and "value" in constant:
                constant["value"] = 0


def no_gaps(machine):
    set_to("kernel_gap_s", 0)(machine)
    machine.pop("longer_gap_s", None)


LEFT_OUT = [
    ("nothing", lambda machine: None),
    ("the grids of kernels: waves, room and turns by the share of multiprocessors alone", no_waves),
    ("channels: no contention between products and collectives, no wait for room", each_link(without("channels"))),
    ("what products take of a collective", each_link(without("beside_memory", "beside_flops"))),
    ("what collectives take of memory-bound work", lambda machine: machine.update(
        memory_beside_factor={"value": 1, "relative_error": 0, "origin": "left out"})),
    ("the larger gap between kernels of several GPUs", without("longer_gap_s")),
    ("gaps between kernels", no_gaps),
    ("memory-bound work: casts, biases, activations, copies", set_to("copy_bandwidth_bytes_per_s", 1e16)),
    ("points of the curves: protocol lines alone", each_link(lines_alone)),
    ("latency and protocols: the best bandwidth alone", each_link(bandwidth_alone)),
    ("the optimizer", lambda machine: [set_to(name, 1e16)(machine) for name in
                                       ("optimizer_bandwidth_bytes_per_s", "adamw_bandwidth_bytes_per_s")]),
    ("the host", no_host),
]


def judged(validate, machine, runs):
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
        json.dump(machine, file)
    try:
        answer = subprocess.run([validate, "--machine", file.name, "--measured", runs, "--json"], capture_output=True, text=True)
    finally:
        os.unlink(file.name)
    if answer.returncode != 0:
        sys.exit(f"ablation.py: {answer.stderr.strip()}")
    rows = json.loads(answer.stdout)["rows"]
    bound = {"gpu_bound": [], "host_bound": []}
    for row in rows:
        if row["link"] != "tcp":
            bound[row["regime"]].append(abs(row["error"]))
    return bound


def words(errors):
    return f"{100 * percentile(errors, 0.5):.1f} % | {100 * percentile(errors, 0.95):.1f} %" if errors else "- | -"


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__.strip())
    with open(sys.argv[1]) as file:
        machine = json.load(file)
    # Whole steps would make up for the part that is left out (model/work_scale.hpp).
    machine["one_gpu_steps"] = []
    validate = sys.argv[3] if len(sys.argv) == 4 else "build/bin/ddpx-validate"
    print("# What each term buys\n")
    print("Made by docs/results/h200x2.sh: the rows of the fresh lease, TCP apart, forecast with one term of the machine left out at a time and nothing")
    print("fitted again.\n")
    print("| left out | GPU-bound: median | 95th | host-bound: median | 95th |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, change in LEFT_OUT:
        changed = copy.deepcopy(machine)
        change(changed)
        bound = judged(validate, changed, sys.argv[2])
        print(f"| {name} | {words(bound['gpu_bound'])} | {words(bound['host_bound'])} |")


if __name__ == "__main__":
    main()
