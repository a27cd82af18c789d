#!/usr/bin/env python3
"""Fits the PyTorch machine from FOLDER/measurements.json and lays its forecasts beside every measured row there.

    torch-h200x2-judge.py FOLDER

Writes machine.json, fit.txt, report.md, validation*.json and summary.md. Needs no GPU;
DDPX_BIN_DIR names the folder of the programs (default: build/bin).
"""

import json
import os
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "torch"))
from percentile import percentile  # noqa: E402
from torch_sittings import clock_lines, hook_lines, host_lines, percent  # noqa: E402

BIN = os.environ.get("DDPX_BIN_DIR", os.path.join(ROOT, "build", "bin"))
PARTS = ("runs-7.json", "runs-8.json", "runs-9.json", "runs-10.json", "runs-sitting.json")
CAPTURED = ("runs-captured.json", "runs-captured-more.json")
CHANNEL_COUNTS = (2, 4, 8, 16)  # of links that the native engine measured on another day
BREAK_EVEN = 0.05


def command(*words, to=None):
    path = os.pathsep.join(filter(None, [os.path.join(ROOT, "torch"), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(words, capture_output=True, text=True, env=dict(os.environ, PYTHONPATH=path))
    if done.returncode not in (0, 1):
        sys.exit(f"torch-h200x2-judge.py: {' '.join(words)}: {done.stderr.strip()}")
    if to:
        with open(to, "w", encoding="utf-8") as file:
            file.write(done.stdout)
    return done.stdout


class Folder:
    def __init__(self, folder):
        self.folder = folder
        self.parts = set()  # of runs files, for this judging alone

    def at(self, name):
        return os.path.join(self.folder, name)

    def there(self, names):
        return [self.at(name) for name in names if os.path.exists(self.at(name))]

    def fit(self):
        more = []
        for count in CHANNEL_COUNTS:
            more += ["--from", os.path.join(ROOT, f"calibration/measurements/h200x2-nvlink-{count}ch.json")]
        with open(self.at("measurements.json"), encoding="utf-8") as file:
            on_gpus = json.load(file)["device"]["multiprocessors"] > 0
        words = [os.path.join(BIN, "ddpx-calibrate"), "--from", self.at("measurements.json"), *(more if on_gpus else [])]
        command(*words, "-o", self.at("machine.json"), to=self.at("fit.txt"))

    def merged(self, parts, name):
        """One runs file of several, or None where none was measured."""
        there = [self.by_fsdp(path)[0] for path in self.there(parts)]
        if not there:
            return None
        if len(there) == 1:
            return there[0]
        command(sys.executable, "-m", "ddpx_torch", "merge", *there, "-o", self.at(name))
        self.parts.add(self.at(name))
        return self.at(name)

    def by_fsdp(self, path):
        """(the runs without what FullyShardedDataParallel trained by block, that with its one-GPU rows or None): a forecast by block is of
        fully_shard, which the first lease's runs were not."""
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        first = [row for row in document["rows"] if row["strategy"] == "fsdp=block" and row.get("context", {}).get("fsdp") != "fully_shard"]
        if not first:
            return path, None
        parts = []
        alone = [row for row in document["rows"] if row["gpus"] == 1]
        for name, rows in (("rest", [row for row in document["rows"] if row not in first]), ("fsdp1", first + alone)):
            parts.append(path.removesuffix(".json") + f"-{name}.json")
            self.parts.add(parts[-1])
            with open(parts[-1], "w", encoding="utf-8") as file:
                json.dump(dict(document, rows=rows), file, indent=1)
        return tuple(parts)

    def validation(self, runs, name, *more):
        machine = self.at("machine.json")
        words = [os.path.join(BIN, "ddpx-validate"), "--machine", machine, "--measured", runs, *more]
        return json.loads(command(*words, "--json", to=self.at(name)))


def key_of(row):
    return tuple(row[k] for k in ("network", "gpus", "link", "strategy", "dtype", "optimizer", "batch_per_rank"))


def between_processes(path):
    """By row: how far its fresh processes are from each other, as fractions of the smaller."""
    with open(path, encoding="utf-8") as file:
        rows = json.load(file)["rows"]
    spread = {}
    for row in rows:
        steps = [statistics.median(process["step_times_s"]) for process in row["processes"]]
        spread[key_of(row)] = [max(a, b) / min(a, b) - 1 for i, a in enumerate(steps) for b in steps[:i]]
    return spread


def line(name, rows):
    """A row of the table of errors."""
    if not rows:
        return f"| {name} | 0 | - | - | - | - | - | - |"
    errors = [abs(row["error"]) for row in rows]
    inside = [row["step_time_s"]["low"] <= row["measured_step_time_s"]["value"] <= row["step_time_s"]["high"] for row in rows]
    half = [(row["step_time_s"]["high"] - row["step_time_s"]["low"]) / 2 / row["step_time_s"]["value"] for row in rows]
    judged = [row for row in rows if row["measured_speedup"] is not None and abs(row["measured_speedup"] - 1) > BREAK_EVEN]
    right = sum(bool(row["verdict_right"]) for row in judged)
    figures = [percent(percentile(errors, 0.5)), percent(percentile(errors, 0.95)), percent(max(errors))]
    figures += [percent(sum(inside) / len(rows), 0), percent(percentile(half, 0.5)), f"{right} of {len(judged)}"]
    return f"| {name} | {len(rows)} | " + " | ".join(figures) + " |"


HEAD = ["| rows | n | median | 95th | largest | inside 90 % | half-width | verdicts |", "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]


def groups_of(rows):
    """GPU-bound rows by link; the fp16 hook, FSDP by block, the host and TCP apart: (name, rows). A row's regime is that of its step on
    one GPU, and FSDP by block takes a host that is far ahead alone to where it bounds the step."""
    hook = [row for row in rows if "compress" in row["strategy"]]
    block = [row for row in rows if "fsdp=block" in row["strategy"]]
    plain = [row for row in rows if row not in hook and row not in block]
    gpu = [row for row in plain if row["regime"] == "gpu_bound" and row["link"] != "tcp"]
    yield "GPU-bound, no hook", gpu
    for link in ("nvlink", "host-memory", "one-channel"):
        yield f"{link}, GPU-bound", [row for row in gpu if row["link"] == link]
    for name, wanted in (("bf16", lambda r: r["dtype"] == "bf16"), ("AdamW", lambda r: r["optimizer"] == "adamw"), ("FSDP", lambda r: "fsdp" in r["strategy"])):
        yield f"of these {name}", [row for row in gpu if wanted(row)]
    yield "of these fp32, SGD", [row for row in gpu if row["dtype"] == "fp32" and row["optimizer"] == "sgd"]
    yield "fp16 hook", hook
    yield "FSDP by block", block
    yield "host-bound", [row for row in plain if row["regime"] != "gpu_bound" and row["link"] != "tcp"]
    yield "TCP", [row for row in plain if row["link"] == "tcp"]
    yield "all", rows


def end_of(parameters, beyond):
    """An end of a crossing's interval, which the sweep may not reach."""
    return beyond if parameters is None else f"{parameters / 1e6:.3g}"


def places(crossings):
    words = []
    for crossing in crossings:
        at = crossing["parameters"]
        ends = f"{end_of(at['low'], 'below the sweep')} to {end_of(at['high'], 'above it')}"
        words.append(f"{at['value'] / 1e6:.3g} M ({ends}), pays {crossing['pays']}")
    return ", ".join(words) or "none"


def fsdp1_rows(folder, path):
    runs = folder.by_fsdp(path)[1]
    return folder.validation(runs, "validation-fsdp1.json")["rows"] if runs else []


def judged_lines(folder):
    runs = folder.merged(PARTS, "runs.json")
    if not runs:
        return ["No row of rows.json was measured."]
    found = folder.validation(runs, "validation.json", "--markdown", folder.at("report.md"))
    rows = found["rows"]
    lines = ["## Rows", "", *HEAD, *[line(name, members) for name, members in groups_of(rows)]]
    first = [row for path in folder.there(PARTS) for row in fsdp1_rows(folder, path)]
    if first:
        lines.append(line("by block, trained by FSDP1", first))
    lines.append("")
    spread = between_processes(runs)
    wide = [row for row in rows if row["regime"] != "gpu_bound" or row["link"] == "tcp"]
    pairs = [value for row in wide for value in spread.get(key_of(row), [])]
    if pairs and wide:
        limit = percentile(pairs, 0.9)
        within = sum(abs(row["error"]) <= limit for row in wide)
        lines += [f"Host-bound and TCP rows: 90 % of the {len(pairs)} differences between fresh processes are at most {percent(limit)}; {within} of {len(wide)} errors are within that.", ""]
    for crossing in found["crossings"] or []:
        lines.append(f"Crossing, {crossing['group']}: forecast {places(crossing['forecast'])}; measured {places(crossing['measured'])}.")
    lines += ["", "| baseline | n | median | 95th | forecast's median on these |", "| --- | ---: | ---: | ---: | ---: |"]
    for base in found["baselines"]:
        same = base.get("forecast_on_same_rows") or {}
        lines.append(f"| {base['name']} {base['title']} | {base['rows']} | {percent(base['median_abs_error'])} | {percent(base['p95_abs_error'])} | {percent(same.get('median_abs_error'))} |")
    return [*lines, ""]


def sitting_lines(folder):
    """The same rows once more, of the sitting alone in which the host was calibrated."""
    if not folder.there(["runs-sitting.json"]):
        return []
    rows = folder.validation(folder.at("runs-sitting.json"), "validation-sitting.json")["rows"]
    block = [row for row in rows if row["strategy"] == "fsdp=block"]
    host = [row for row in rows if row not in block and row["regime"] != "gpu_bound"]
    groups = (("bound by the host", host), ("FSDP by block", block), ("all", rows))
    return ["## In the sitting of the host's constants", "", *HEAD, *[line(name, members) for name, members in groups], ""]


def captured_lines(folder):
    runs = folder.merged(CAPTURED, "runs-captured-all.json")
    if not runs:
        return ["No captured model was run on two."]
    rows = folder.validation(runs, "validation-captured.json")["rows"]
    return ["## Captured models", "", *HEAD, *[line(name, members) for name, members in groups_of(rows)], "", *row_lines(rows), ""]


def row_lines(rows):
    lines = ["| network | link | strategy | forecast ms | measured ms | error |", "| --- | --- | --- | ---: | ---: | ---: |"]
    for row in sorted(rows, key=lambda r: (r["network"], r["link"], r["strategy"])):
        name = os.path.basename(row["network"]).removesuffix(".json")
        forecast, measured = row["step_time_s"]["value"] * 1e3, row["measured_step_time_s"]["value"] * 1e3
        lines.append(f"| {name} | {row['link']} | {row['strategy']} | {forecast:.2f} | {measured:.2f} | {row['error']:+.1%} |")
    return lines


def block_lines(folder):
    """FSDP by block once more, in the sitting of its kernel records."""
    if not folder.there(["runs-fsdp.json"]):
        return []
    rows = folder.validation(folder.at("runs-fsdp.json"), "validation-fsdp.json")["rows"]
    return ["## FSDP by block, another sitting", "", *HEAD, line("FSDP by block", rows), "", *row_lines(rows), ""]


def channel_lines(folder):
    if not folder.there(["runs-channels.json"]):
        return ["No channel count was run."]
    rows = folder.validation(folder.at("runs-channels.json"), "validation-channels.json")["rows"]
    lines = ["## Channels", "", "| network | link | forecast ms | measured ms |", "| --- | --- | ---: | ---: |"]
    networks = {}
    for row in rows:
        networks.setdefault(row["network"], []).append(row)
        forecast, measured = row["step_time_s"]["value"] * 1e3, row["measured_step_time_s"]["value"] * 1e3
        lines.append(f"| {os.path.basename(row['network'])} | {row['link']} | {forecast:.3f} | {measured:.3f} |")
    lines.append("")
    for network, members in networks.items():
        chosen = min(members, key=lambda r: r["step_time_s"]["value"])
        best = min(members, key=lambda r: r["measured_step_time_s"]["value"])
        loss = chosen["measured_step_time_s"]["value"] / best["measured_step_time_s"]["value"] - 1
        lines.append(f"{os.path.basename(network)}: the forecast's best is {chosen['link']}, {percent(loss)} slower than the best measured one ({best['link']}).")
    return [*lines, ""]


def main():
    folder = Folder(sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "docs/results/torch-h200x2"))
    if not folder.there(["measurements.json"]):
        sys.exit(f"torch-h200x2-judge.py: {folder.at('measurements.json')}: is not there; torch-h200x2.sh measure writes it on two GPUs")
    folder.fit()
    lines = []
    for part in (judged_lines, sitting_lines, captured_lines, block_lines, channel_lines, hook_lines, clock_lines, host_lines):
        lines += part(folder)
    with open(folder.at("summary.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    print("\n".join(lines))
    for path in folder.parts:
        os.remove(path)


main()
