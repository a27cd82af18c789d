"""What is beside the rows of the PyTorch study: kernel records, hooks by the device's clock, the host in two sittings. Each takes the
study's folder and gives lines of its summary; for torch-h200x2-judge.py."""

import json
import os
import statistics

from ddpx_torch.kernels import Span, is_collective, union
from percentile import percentile


def percent(value, digits=1):
    return "-" if value is None else f"{100 * value:.{digits}f} %"


def recorded(path):
    """Of a row's kernel records, per step and in ms: span, compute, collectives running, those that run alone, nothing; and how long
    after the kernel before it on any other stream a collective begins, in us."""
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    records, steps = document["records"], document["steps"]
    kernels = [Span(name, begin, end) for name, _, begin, end, _ in records]
    collectives = sorted((k for k in kernels if is_collective(k.name)), key=lambda k: k.begin)
    others = [k for k in kernels if not is_collective(k.name)]
    busy = union(collectives + others)
    waits = [c.begin - max((k.end for k in others if k.end <= c.begin), default=c.begin) for c in collectives]
    span = max(record[3] for record in records) - records[0][2]
    figures = [span, union(others), union(collectives), busy - union(others), span - busy]
    return document, [value / steps * 1e-3 for value in figures], statistics.median(waits) if waits else None


def hook_lines(folder):
    names = sorted(os.listdir(folder.at("records"))) if os.path.isdir(folder.at("records")) else []
    if not names:
        return ["No kernel records of the fp16 hook."]
    lines = ["## Kernel records", "", "Under the profiler, whose host is slower: kernels are as they are, gaps are not.", ""]
    lines += ["| network | link | strategy | rank | step ms | compute ms | collectives ms | alone ms | idle ms | begins after us |", "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for name in names:
        document, figures, wait = recorded(os.path.join(folder.at("records"), name))
        row = document["row"]
        words = " | ".join(f"{value:.3f}" for value in figures)
        lines.append(f"| {row['network']} | {row['link']} | {row['strategy'] if row['gpus'] > 1 else 'one GPU'} | {document['rank']} | {words} | {'-' if wait is None else f'{wait:.1f}'} |")
    return [*lines, ""]


def clock_lines(folder):
    """Parts of a step by the device's clock with one hook and another; the slower rank's."""
    if not folder.there(["hooks.json"]):
        return []
    with open(folder.at("hooks.json"), encoding="utf-8") as file:
        rows = json.load(file)
    lines = ["", "## Hooks by the device's clock", "", "| network | hook | forward ms | backward ms | optimizer ms |", "| --- | --- | ---: | ---: | ---: |"]
    for network, hook in dict.fromkeys((row["network"], row["hook"]) for row in rows):
        ranks = [row for row in rows if (row["network"], row["hook"]) == (network, hook)]
        words = " | ".join(f"{max(rank[part] for rank in ranks):.3f}" for part in ("forward_ms", "backward_ms", "optimizer_ms"))
        lines.append(f"| {network.split(',')[0]} | {hook} | {words} |")
    return [*lines, ""]


def sets_of(times, count):
    each = len(times) // count
    return [statistics.median(times[i * each : (i + 1) * each]) for i in range(count)]


def host_lines(folder):
    """The steps of the host's constants in their sitting and in another."""
    if not folder.there(["runs-host.json"]):
        return []
    with open(folder.at("measurements.json"), encoding="utf-8") as file:
        steps = json.load(file)["steps"]
    with open(folder.at("runs-host.json"), encoding="utf-8") as file:
        rows = json.load(file)["rows"]
    lines = ["## The host in two sittings", "", "| network | strategy | ms in each process set | in another sitting |", "| --- | --- | --- | --- |"]
    ratios, spreads = [], ([], [])
    for row in rows:
        same = [s for s in steps if (s["network"], s.get("gpus", 1), s["optimizer"]) == (row["network"], row["gpus"], row["optimizer"])]
        same = [s for s in same if s.get("strategy", "ddp" if s["micro_batches"] == 1 else f"ddp,accumulate={s['micro_batches']}") == row["strategy"]]
        if not same or len(row["processes"]) < 2:
            continue
        found = (sets_of(same[0]["step_times_s"], 3), [statistics.median(p["step_times_s"]) for p in row["processes"]])
        ratios.append(statistics.median(found[0]) / statistics.median(found[1]))
        for spread, times in zip(spreads, found):
            spread += [max(a, b) / min(a, b) - 1 for i, a in enumerate(times) for b in times[:i]]
        if row["strategy"] == "fsdp=block":
            words = " | ".join(", ".join(f"{time * 1e3:.1f}" for time in times) for times in found)
            lines.append(f"| {row['network'].split(',hidden')[0]} | {row['strategy']} | {words} |")
    if not ratios:
        return []
    lines += ["", f"{len(ratios)} steps: {percent(statistics.median(ratios) - 1, 0)} slower in the first, in the median; 90 % of the differences between process sets"]
    lines[-1] += f" are at most {percent(percentile(spreads[0], 0.9), 0)} there and {percent(percentile(spreads[1], 0.9), 0)} in the other."
    return [*lines, ""]
