"""Errors of the forecasts as tables: by GPU count, link, regime and strategy, beside what was to be reached and simple baselines."""

import statistics

from study import CALIBRATED, KEY, LINKS, median, percent, percentile

HEAD = ["| rows | n | mean | median | 95th | largest | inside 90 % | half-width | verdicts |", "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]


def covered(row):
    return row["step_time_s"]["low"] <= row["measured_step_time_s"]["value"] <= row["step_time_s"]["high"]


def line(name, rows):
    errors = [abs(row["error"]) for row in rows]
    steps = [row["step_time_s"] for row in rows]
    inside = [covered(row) for row in rows]
    half = [(s["high"] - s["low"]) / 2 / s["value"] for s in steps]
    verdicts = [row["verdict_right"] for row in rows if row["verdict_right"] is not None]
    figures = [percent(statistics.fmean(errors)), percent(median(errors)), percent(percentile(errors, 0.95)), percent(max(errors))]
    figures += [percent(sum(inside) / len(rows), 0), percent(median(half)), f"{sum(verdicts)} of {len(verdicts)}"]
    return f"| {name} | {len(rows)} | " + " | ".join(figures) + " |"


def mark_lines(carried, right):
    """What was to be reached, and what was."""
    lines = ["| GPUs | two GPUs' calibration: mean (mark 6 %) | inside its interval (mark 85 to 95 %) | links of the count: median (mark 2.5 %) |", "| ---: | ---: | ---: | ---: |"]
    for count in sorted({row["gpus"] for row in carried if row["gpus"] > CALIBRATED}):
        of, own = ([row for row in rows if row["gpus"] == count] for rows in (carried, right))
        inside = sum(covered(row) for row in of) / len(of)
        median_of_own = median(abs(row["error"]) for row in own) if own else None
        lines.append(f"| {count} | {percent(statistics.fmean(abs(row['error']) for row in of))} | {percent(inside, 0)} | {percent(median_of_own)} |")
    return [*lines, ""]


def link_word(row):
    return next(link for link in LINKS if row["link"].startswith(link))


def groups_of(rows):
    yield "all", rows
    for regime, words in (("gpu_bound", "GPU-bound"), ("host_bound", "host-bound")):
        for link in LINKS:
            yield f"{link}, {words}", [row for row in rows if link_word(row) == link and row["regime"] == regime]
    for family in sorted({row["family"] for row in rows}):
        yield f"of all: {family}", [row for row in rows if row["family"] == family]
    yield "of all: bf16", [row for row in rows if row["dtype"] == "bf16"]


def table(rows):
    """By count and group; nothing where there is no row."""
    lines = []
    for count in sorted({row["gpus"] for row in rows}):
        members = [row for row in rows if row["gpus"] == count]
        lines += [line(f"{count} GPUs, {name}", group) for name, group in groups_of(members) if group]
    return [*HEAD, *lines, ""] if lines else ["None.", ""]


def through_two(rows):
    """Errors of Amdahl's law through each row's own speedup on two GPUs, 1/S = (1 - p) + p/N, on its larger counts: (row, error)."""
    series = lambda row: tuple(row[k] for k in KEY if k != "gpus")
    on_two = {series(row): row["measured_speedup"] for row in rows if row["gpus"] == CALIBRATED}
    for row in rows:
        two = on_two.get(series(row))
        if row["gpus"] == CALIBRATED or not two or not row["measured_speedup"]:
            continue
        p = 2 * (1 - 1 / two)
        inverse = (1 - p) + p / row["gpus"]
        if inverse > 0:
            yield row, row["measured_speedup"] * inverse - 1


def baseline_lines(rows):
    larger = [row for row in rows if row["gpus"] > CALIBRATED]
    found = {}  # name: (row, error)
    for row in larger:
        for name, error in row["baseline_errors"].items():
            if error is not None:
                found.setdefault(name, []).append((row, error))
    found["Amdahl through its own step on 2"] = list(through_two(rows))
    lines = ["| baseline | n | median | 95th | forecast's median on these | 95th |", "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for name, pairs in found.items():
        if not pairs:
            continue
        own, forecast = [abs(error) for _, error in pairs], [abs(row["error"]) for row, _ in pairs]
        figures = [percent(f(values)) for values in (own, forecast) for f in (median, lambda v: percentile(v, 0.95))]
        lines.append(f"| {name} | {len(pairs)} | " + " | ".join(figures) + " |")
    return [*lines, ""] if larger else ["No row of more than two GPUs.", ""]


def engine_lines(study, engine, title):
    if not study.bases[engine]:
        return [f"## {title}", "", "Its machine was not measured.", ""]
    study.fit(engine)
    carried, none = study.judged(engine, f"{engine}-carried.json", lambda row: CALIBRATED)
    lines = [f"## {title}: forecast from two GPUs", "", *table(carried)]
    if none:
        lines += [f"{none} rows have no link calibrated on two.", ""]
    right, none = study.judged(engine, f"{engine}-right-count.json", lambda row: row["gpus"])
    lines += [f"## {title}: with links calibrated at the rows' own count", "", *table(right)]
    if none:
        lines += [f"{none} rows have no link calibrated at their count.", ""]
    lines[1:1] = ["", *mark_lines(carried, right)[:-1]]
    return [*lines, f"## {title}: baselines at more than two GPUs", "", *baseline_lines(carried)]
