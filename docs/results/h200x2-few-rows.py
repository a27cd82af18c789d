#!/usr/bin/env python3
"""A few rows of a runs file, small: h200x2-few-rows.py ROWS. One of each of three links, and what they are compared with."""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as text:
    document = json.load(text)
rows = []
for link in ("nvlink", "host-memory", "tcp"):
    row = next(row for row in document["rows"] if row.get("link") == link and row["gpus"] == 2 and row["strategy"] == "ddp")
    rows.append(dict(row, network="mlp:width=64,depth=2", batch_per_rank=16, dtype="fp32", optimizer="sgd"))
json.dump(dict(document, rows=rows), sys.stdout)
