"""What was measured of the box itself: its links, products beside collectives, and how far apart its GPUs are."""

import json
import os
import statistics
import subprocess
import sys

from study import BIN, CALIBRATED, HERE, command, median, percent, percentile, read, write

COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter")


def bus_factor(collective, ranks):
    """nccl-tests' bus bandwidth over bytes / time."""
    return (2 if collective == "all_reduce" else 1) * (ranks - 1) / ranks


def link_lines(study):
    lines = ["## Links", "", "| link | GPUs | channels | collective | smallest us | largest MiB | bus GB/s | as NCCL reports it |", "| --- | ---: | ---: | --- | ---: | ---: | ---: | --- |"]
    for (link, count), path in study.links.items():
        document = read(path)
        for kind in COLLECTIVES:
            for dtype in ("fp32", "bf16"):
                samples = [s for s in document["collectives"] if (s["collective"], s["dtype"]) == (kind, dtype) and not s.get("rested")]
                if not samples:
                    continue
                small, large = (f(samples, key=lambda s: s["bytes"]) for f in (min, max))
                rate = large["bytes"] * bus_factor(kind, count) / median(large["times_s"]) / 1e9
                how = large.get("reported", {})
                lines.append(f"| {link} | {count} | {document['links'][0].get('channels', 0) or '-'} | {kind} {dtype} | {median(small['times_s']) * 1e6:.1f} | {large['bytes'] / 2**20:.4g} | {rate:.4g} | {how.get('algorithm', '-')} {how.get('protocol', '')} |")
    return [*lines, ""]


def without_switch(study, path):
    """A links file without the links' peak, by which the model takes GPUs for ones whose switch may add up (NVLS, off in this study)."""
    document = read(path)
    for link in document["links"]:
        link.pop("peak_bytes_per_s", None)
    write(study.at("carried.json"), document)
    return study.at("carried.json")


NETWORKS = ("mlp:width=512,depth=8", "mlp:width=2048,depth=8", "mlp:width=8192,depth=8")


def carry_lines(study):
    """The carried curve beside the measured one, at the largest message of a step."""
    lines = ["## Curves carried from two GPUs beside measured ones", "", "| link | GPUs | message MiB | carried us | measured us | error |", "| --- | ---: | ---: | ---: | ---: | ---: |"]
    engine = "native" if study.bases["native"] else "torch"
    networks = [word for network in NETWORKS for word in ("--network", network)]
    for link, count in study.links:
        files = [study.at(f"links/{link}-{calibrated}.json") for calibrated in (CALIBRATED, count)]
        if count == CALIBRATED or not all(os.path.exists(path) for path in files):
            continue
        words = ["--machine", study.at(f"{engine}-machine.json"), "--gpus", str(count), "--engine", engine, "--batch", "256", "--explain", "--json", *networks]
        times = []
        for path in files:
            found = json.loads(command(os.path.join(BIN, "ddpx-predict"), *words, "--link", without_switch(study, path)))
            largest = [max(row["explanation"]["collectives"], key=lambda c: c["message_bytes"]) for row in found["rows"]]
            times.append([(c["message_bytes"], c["time_s"]) for c in largest])
        os.remove(study.at("carried.json"))
        for (size, carried), (_, measured) in zip(*times):
            lines.append(f"| {link} | {count} | {size / 2**20:.3g} | {carried * 1e6:.1f} | {measured * 1e6:.1f} | {carried / measured - 1:+.1%} |")
    return [*lines, ""]


def contention_lines(study):
    lines = ["## Products beside collectives", ""]
    if not study.bases["native"]:
        return [*lines, "The native machine was not measured.", ""]
    raws = [study.bases["native"], *study.links.values()]
    words = [word for path in raws for word in ("--from", path)]
    raws = [path for path in raws if "besides" in read(path)]
    residuals = command(os.path.join(BIN, "ddpx-calibrate"), *words, "--dry-run")
    made = subprocess.run([sys.executable, os.path.join(os.path.dirname(HERE), "h200x2-contention.py"), study.at("native-machine.json"), *raws], input=residuals, capture_output=True, text=True)
    if made.returncode:
        return [*lines, f"None: {made.stderr.strip()}", ""]
    with open(study.at("contention.md"), "w", encoding="utf-8") as file:
        file.write(made.stdout)
    rows = [cells for cells in ([cell.strip() for cell in text.split("|")[1:-1]] for text in made.stdout.splitlines()) if len(cells) == 7 and cells[1].isdigit()]
    lines += ["Every pair is in contention.md.", "", "| link | channels | pairs | slowed by (median) | error: median | 95th |", "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for link in dict.fromkeys(cells[0] for cells in rows):
        own = [cells for cells in rows if cells[0] == link]
        errors = [abs(float(forecast) / float(beside) - 1) for _, _, _, _, beside, forecast, _ in own]
        slowed = median(float(beside) / float(alone) for _, _, _, alone, beside, _, _ in own)
        lines.append(f"| {link} | {own[0][1]} | {len(own)} | {slowed:.2f} | {percent(median(errors))} | {percent(percentile(errors, 0.95))} |")
    return [*lines, ""]


def spread_lines(study):
    """How far apart the GPUs are when all run the same product at once: the slowest sets the pace of a step."""
    lines = ["## The slowest of N GPUs", "", "| GPUs | clocks | fastest ms | mean ms | slowest ms | slowest over mean | standard deviation |", "| ---: | --- | ---: | ---: | ---: | ---: | ---: |"]
    for count, path in sorted(study.loads.items()):
        for load in read(path).get("loads", []):
            times = [median(rank["times_s"]) * 1e3 for rank in load["ranks"]]
            mean = statistics.fmean(times)
            deviation = statistics.stdev(times) / mean if len(times) > 1 else 0
            lines.append(f"| {count} | {load['clocks']} | {min(times):.3f} | {mean:.3f} | {max(times):.3f} | {max(times) / mean - 1:.2%} | {deviation:.2%} |")
    return [*lines, ""]
