#!/usr/bin/env python3
"""The rows of docs/results/h200x8.sh that have no time yet.

    rows.py native|torch COUNT whole|few|tiny FOLDER > todo.json    (nothing where none is left)

few: of NVLink and TCP the first row of each strategy and a GPT, to try the script on two GPUs; tiny: narrow ones for CPU ranks.
"""

import json
import os
import re
import sys

from study import CALIBRATED, HERE, LINKS, files_of, key_of, read

LISTS = {"native": "rows.json", "torch": "torch-rows.json"}
WHICH = ("whole", "few", "tiny")


def few_of(rows):
    first = {}
    for row in rows:
        captured = row["network"].endswith(".json")
        if row["link"] != "host-memory" and not (captured and row["strategy"] != "ddp"):
            first.setdefault((row["link"], row["strategy"], captured), row)
    return list(first.values())


def tiny_of(rows):
    """What two cores and Gloo can: plain DDP in fp32, narrow."""
    kept = [row for row in few_of(rows) if row["strategy"] == "ddp"]
    for row in kept:
        captured = row["network"].endswith(".json")
        network = row["network"] if captured else re.sub("width=.*", "width=64,depth=2", row["network"])
        row.update(network=network, batch_per_rank=4 if captured else 16, dtype="fp32", optimizer="sgd")
    return kept


def rows_left(engine, count, which, folder):
    rows = read(os.path.join(HERE, LISTS[engine]))["rows"]
    rows = [dict(row, gpus=count) for row in {"whole": lambda r: r, "few": few_of, "tiny": tiny_of}[which](rows)]
    missing = {row["network"] for row in rows if row["network"].endswith(".json") and not os.path.exists(os.path.join(folder, row["network"]))}
    if engine == "native":
        missing |= {row["link"] for row in rows if not os.path.exists(os.path.join(folder, "links", f"{row['link']}-{CALIBRATED}.json"))}
    for name in sorted(missing):
        sys.stderr.write(f"h200x8/rows.py: {name} was not measured in {folder}: its rows are left out\n")
    rows = [row for row in rows if not missing & {row["network"], row["link"]}]
    if engine == "torch":
        # A step on one GPU is the same on every link and whatever the count; the native engine adds them by itself.
        alone = [dict(row, gpus=1, strategy="ddp", link=LINKS[0]) for row in rows]
        rows += [row for i, row in enumerate(alone) if row not in alone[:i]]
    done = {key_of(row) for path in files_of(folder, engine) for row in read(path)["rows"] if row.get("processes")}
    return [row for row in rows if key_of(row) not in done]


def print_rows(engine, count, which, folder):
    rows = rows_left(engine, int(count), which, folder)
    if rows:
        print(json.dumps({"schema": "ddpx.runs", "schema_version": 1, "context": {}, "name": f"h200x8-{engine}", "rows": rows}))


def main(words):
    if len(words) != 4 or words[0] not in LISTS or not words[1].isdigit() or words[2] not in WHICH:
        sys.exit(__doc__)
    print_rows(*words)


if __name__ == "__main__":
    main(sys.argv[1:])
