#!/usr/bin/env python3
"""What a lease's rows still lack, and what several calls have measured of them, in one file.

h200x2-rest.py lacking ROWS SETS RUNS REST    writes to REST the rows that RUNS (which need not be there) holds in fewer than SETS process
    sets, with its rows of one GPU; prints how many they are
h200x2-rest.py join RUNS MORE    adds the rows and process sets of MORE to RUNS
"""

import json
import os
import sys

NAMES = ("network", "gpus", "link", "strategy", "scaling", "dtype", "optimizer", "batch_per_rank", "graphs")


def named(row):
    return {name: row[name] for name in NAMES if name in row}


def key(row):
    return tuple(row.get(name) for name in NAMES)


def read(path):
    with open(path, encoding="utf-8") as text:
        return json.load(text)


def write(path, document):
    with open(path + ".new", "w", encoding="utf-8") as text:
        json.dump(document, text)
    os.replace(path + ".new", path)


def lacking(rows, sets, runs, rest):
    asked = read(rows)
    measured = read(runs)["rows"] if os.path.exists(runs) else []
    done = {key(row): len(row["processes"]) for row in measured}
    known = {key(row): named(row) for row in asked["rows"] + measured}
    left = [row for name, row in known.items() if done.get(name, 0) < int(sets)]
    write(rest, dict(asked, rows=left))
    print(len(left))


def join(runs, more):
    added = read(more)
    if not os.path.exists(runs):
        return write(runs, added)
    joined = read(runs)
    known = {key(row): row for row in joined["rows"]}
    for row in added["rows"]:
        own = {name: value for name, value in added["context"].items() if joined["context"].get(name) != value}
        if own or "context" in row:
            row["context"] = {**own, **row.get("context", {})}
        if key(row) in known:
            known[key(row)]["processes"] += row["processes"]
        else:
            joined["rows"].append(row)
    write(runs, joined)


if __name__ == "__main__":
    {"lacking": lacking, "join": join}[sys.argv[1]](*sys.argv[2:])
