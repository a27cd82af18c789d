#!/usr/bin/env python3
"""Makes a rows file of docs/results/torch-h200x2.sh small enough for CPU ranks, for DRY=1: of each link and network the first rows,
narrow, without what Gloo has not."""

import json
import re
import sys

path = sys.argv[1]
with open(path, encoding="utf-8") as file:
    document = json.load(file)
kept, seen = [], {}
for row in document["rows"]:
    words = row["strategy"].split(",")
    if "fsdp" in row["strategy"] or row["network"].endswith(("405m.json", "656m.json", "162m.json")):
        continue
    row["strategy"] = ",".join(word for word in words if not word.startswith("channels"))
    row["network"] = re.sub(r"width=\d+", lambda m: f"width={32 * (1 + int(m.group()[6:]) % 4)}", row["network"])
    row.update(dtype="fp32", batch_per_rank=4 if row["network"].endswith(".json") else 8)
    if row["network"].endswith(".json"):
        row["optimizer"] = "sgd"
    if row in kept:
        continue
    key = (row["link"], row["gpus"])
    seen[key] = seen.get(key, 0) + 1
    if seen[key] <= 3:
        kept.append(row)
document["rows"] = kept
with open(path, "w", encoding="utf-8") as file:
    json.dump(document, file)
