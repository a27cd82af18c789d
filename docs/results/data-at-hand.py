#!/usr/bin/env python3
"""Every measured PyTorch step that is shipped, and one traced step, beside its forecast: writes docs/results/data-at-hand.md.

Needs no GPU; DDPX_BIN_DIR names the folder of the programs (default: build/bin).
"""

import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "torch"))
from ddpx_torch.kernels import Span, is_collective, union  # noqa: E402
BIN = os.environ.get("DDPX_BIN_DIR", os.path.join(ROOT, "build", "bin"))
FILES = (
    ("Two H200, PyTorch 2.11", "h200x2-torch-steps", "validation/runs/h200x2-torch.json"),
    ("Two H200, PyTorch 2.11, fresh processes of a later lease", "h200x2-torch-steps", "docs/results/h200x2/torch-fresh.json"),
    ("Two T4, a published study", "t4x2", "validation/runs/t4x2.json"),
)
TRACE = "docs/results/data-at-hand/trace_nvlink_w4096.json"
TRACED = ("--machine", "h200x2-torch-steps", "--network", "mlp:width=4096,depth=8", "--batch", "256", "--link", "nvlink", "--gpus", "2")


def program(name, *words):
    done = subprocess.run([os.path.join(BIN, name), *words, "--json"], capture_output=True, text=True, cwd=ROOT)
    if done.returncode not in (0, 1):
        sys.exit(f"data-at-hand.py: {name}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def percent(value):
    return f"{100 * value:.1f} %"


def summary_line(name, part):
    figures = [percent(part[key]) for key in ("median_abs_error", "p95_abs_error", "max_abs_error")]
    inside = percent(part["interval_coverage"]) if part["interval_coverage"] is not None else "-"
    return f"| {name} | {part['rows']} | " + " | ".join(figures) + f" | {inside} | {part['verdicts_right']} of {part['verdicts_judged']} |"


def steps_lines(title, machine, path):
    found = program("ddpx-validate", "--machine", machine, "--measured", path)
    yield f"## {title}"
    yield ""
    yield f"`ddpx-validate --machine {machine} --measured {path}`"
    yield ""
    yield "| rows | n | median | 95th | largest | inside 90 % | verdicts |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    yield summary_line("all", found["summary"])
    for name, part in found["by_regime"].items():
        yield summary_line(name.replace("_", "-"), part)
    for name, part in found["by_family"].items():
        yield summary_line(name, part)
    yield ""
    yield "| network | batch | link | strategy | forecast ms | measured ms | error | verdict |"
    yield "| --- | ---: | --- | --- | ---: | ---: | ---: | --- |"
    for row in found["rows"]:
        forecast, measured = row["step_time_s"]["value"] * 1e3, row["measured_step_time_s"]["value"] * 1e3
        right = {True: "right", False: "wrong", None: "-"}[row["verdict_right"]]
        yield f"| {row['network']} | {row['batch_per_rank']:g} | {row['link']} | {row['strategy']} | {forecast:.3f} | {measured:.3f} | {row['error']:+.1%} | {row['verdict']}, {right} |"
    yield ""


def traced_steps(records):
    """Of each whole step after the first: span, forward, optimizer, copies, collectives and those that run alone, in ms."""
    begins = [begin for name, begin, _ in records if name == "DistributedDataParallel.forward"]
    ends = [end for name, _, end in records if name.startswith("Optimizer.step")]
    is_kernel = lambda name: not name.startswith(("DistributedDataParallel", "Optimizer", "nccl:"))
    for begin, end in list(zip(begins, ends))[1:]:
        inside = [record for record in records if begin <= record[1] < end]
        kernels = [record for record in inside if is_kernel(record[0])]
        collectives = [Span(*kernel) for kernel in kernels if is_collective(kernel[0])]
        others = [Span(*kernel) for kernel in kernels if not is_collective(kernel[0])]
        annotated = {name.partition("#")[0]: e - b for name, b, e in inside if not is_kernel(name)}
        yield {
            "step": (end - begin) * 1e-3,
            "forward": annotated["DistributedDataParallel.forward"] * 1e-3,
            "optimizer": annotated["Optimizer.step"] * 1e-3,
            "collectives running": union(collectives) * 1e-3,
            "exposed": (union(collectives + others) - union(others)) * 1e-3,
        }


def trace_lines():
    with open(os.path.join(ROOT, TRACE), encoding="utf-8") as file:
        records = json.load(file)["trace"]
    row = program("ddpx-predict", *TRACED)["rows"][0]
    terms = row["terms_s"]
    step = row["step_time_s"]["value"]
    forecast = {
        "step": step,
        "forward": terms["forward"],
        "optimizer": terms["optimizer"],
        "collectives running": row["communication_busy_share"] * step,
        "exposed": terms["exposed_communication"],
    }
    steps = list(traced_steps(records))
    yield "## A traced step"
    yield ""
    yield f"Kernel records of DistributedDataParallel on two H200 over NVLink ([data-at-hand/trace_nvlink_w4096.json](data-at-hand/trace_nvlink_w4096.json)), its second and third step, beside `ddpx-predict {' '.join(TRACED)}`. The first step waited for the other rank."
    yield ""
    yield "| ms | forecast | " + " | ".join(f"step {i + 2}" for i in range(len(steps))) + " |"
    yield "| --- | ---: |" + " ---: |" * len(steps)
    for key, seconds in forecast.items():
        yield f"| {key} | {seconds * 1e3:.3f} | " + " | ".join(f"{values[key]:.3f}" for values in steps) + " |"
    yield ""


def main():
    lines = ["# The data at hand: forecast beside measurement", "", "Written by `docs/results/data-at-hand.py` from files that are shipped; needs no GPU.", ""]
    for title, machine, path in FILES:
        lines += steps_lines(title, machine, path)
    lines += trace_lines()
    with open(os.path.join(ROOT, "docs/results/data-at-hand.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines).rstrip() + "\n")


main()
