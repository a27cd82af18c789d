"""What is run: rows of a *runs* file without their measurements, or every combination of some words."""

import os
import random
from dataclasses import dataclass, replace

from .errors import InputError, one_line, quoted
from .files import is_number, read_json
from .networks import parse_network, with_key
from .strategy import Strategy, parse_strategy

DTYPES = ("fp32", "tf32", "bf16", "fp16")
OPTIMIZERS = ("sgd", "adamw")
MOST_RANKS = 1_000_000
_MEASURED = {"processes", "engine", "device_busy_share", "communication_share", "note", "context"}
_ROW_KEYS = {"network", "gpus", "link", "strategy", "scaling", "dtype", "optimizer", "batch_per_rank"} | _MEASURED


@dataclass(frozen=True)
class Row:
    network: str
    gpus: int
    link: str
    strategy: Strategy
    scaling: str
    dtype: str
    optimizer: str
    batch: int  # per rank and micro-batch; under strong scaling of one GPU

    def samples(self):
        """Of one rank and micro-batch."""
        return self.batch // self.gpus if self.scaling == "strong" else self.batch

    def words(self):
        return f"{self.network}, batch {self.batch}, {self.strategy.describe()}, {self.dtype} on {self.gpus}"

    def one_gpu(self):
        """What its speedup is measured against."""
        return replace(self, gpus=1, strategy=Strategy(), scaling="weak")

    def to_json(self):
        return {
            "network": self.network,
            "gpus": self.gpus,
            "link": self.link,
            "strategy": self.strategy.describe(),
            "scaling": self.scaling,
            "dtype": self.dtype,
            "optimizer": self.optimizer,
            "batch_per_rank": self.batch,
        }


def check_row(row, place):
    parse_network(row.network, f"{place}.network")
    if row.scaling == "strong" and row.batch % row.gpus:
        raise InputError(place, f"strong scaling divides the batch of {row.batch} by {row.gpus} ranks; whole samples are needed")
    if row.gpus == 1 and row.strategy.fsdp:
        raise InputError(place, "fsdp shards between ranks; give 2 gpus or more, or the strategy ddp")
    return row


def _word(members, key, accepted, usual, place):
    value = members.get(key, usual)
    if value not in accepted:
        raise InputError(f"{place}.{key}", f"is {quoted(value)}; accepted: {', '.join(accepted)}")
    return value


def _whole(members, key, usual, most, place):
    value = members.get(key, usual)
    if not is_number(value) or value != int(value) or not 1 <= value <= most:
        raise InputError(f"{place}.{key}", f"is {quoted(value)}; a whole number from 1 to {most} is needed")
    return int(value)


def _network(text, folder):
    return os.path.abspath(os.path.join(folder, text)) if text.endswith(".json") else text


def row_of(members, place, folder="."):
    """A row of a file; network files in it are named from `folder`."""
    if not isinstance(members, dict):
        raise InputError(place, "is no object; a row of a runs file is wanted")
    for key in members:
        if key not in _ROW_KEYS:
            raise InputError(place, f"has the key {quoted(key)}; accepted: {', '.join(sorted(_ROW_KEYS))}")
    for key in ("network", "batch_per_rank"):
        if key not in members:
            raise InputError(place, f"has no \"{key}\"")
    for key in ("network", "link", "strategy"):
        if not isinstance(members.get(key, ""), str):
            raise InputError(f"{place}.{key}", "is no text")
    row = Row(
        network=_network(members["network"], folder),
        gpus=_whole(members, "gpus", 2, MOST_RANKS, place),
        link=members.get("link", ""),
        strategy=parse_strategy(members.get("strategy", "ddp"), f"{place}.strategy"),
        scaling=_word(members, "scaling", ("weak", "strong"), "weak", place),
        dtype=_word(members, "dtype", DTYPES, "fp32", place),
        optimizer=_word(members, "optimizer", OPTIMIZERS, "sgd", place),
        batch=_whole(members, "batch_per_rank", None, 1_000_000, place),
    )
    return check_row(row, place)


def rows_from_file(path):
    """The rows of a runs file; what was measured in them is not looked at. A file of only {"rows": [...]} is one too,
    and what a row leaves out is usual: 2 gpus, ddp, weak, fp32, sgd."""
    document = read_json(path, "a runs file")
    place = one_line(path, 200)
    if document.get("schema", "ddpx.runs") != "ddpx.runs":
        raise InputError(place, f"has the schema {quoted(document['schema'])}; ddpx.runs is wanted")
    if document.get("schema_version", 1) != 1:
        raise InputError(place, f"has schema_version {quoted(document['schema_version'])}; this reads 1")
    rows = document.get("rows")
    if not isinstance(rows, list) or not rows:
        raise InputError(place, 'has no rows; "rows": [{"network": "mlp:width=1024", "batch_per_rank": 64}] is wanted')
    folder = os.path.dirname(os.path.abspath(path))
    return [row_of(row, f"{place}: rows[{i}]", folder) for i, row in enumerate(rows)]


def sweep(networks, text):
    """`KEY=A:B`, doubling, or `KEY=A:B:x3`, `KEY=A:B:+128`."""
    key, equals, span = text.partition("=")
    parts = span.split(":")
    numbers = [part for part in parts[:2] if part.isascii() and part.isdigit() and 0 < int(part) < 10**8]
    step = parts[2] if len(parts) == 3 else "x2"
    good_step = step[:1] in ("x", "+") and step[1:].isascii() and step[1:].isdigit() and int(step[1:]) > (step[0] == "x")
    if not equals or len(parts) not in (2, 3) or len(numbers) != 2 or not good_step or int(parts[0]) > int(parts[1]):
        raise InputError("--sweep", f"is {quoted(text)}; accepted: KEY=A:B, KEY=A:B:xF or KEY=A:B:+D")
    values = [int(parts[0])]
    while len(values) < 10000:
        value = values[-1] * int(step[1:]) if step[0] == "x" else values[-1] + int(step[1:])
        if value > int(parts[1]):
            break
        values.append(value)
    return [with_key(network, key, value) for network in networks for value in values]


def with_one_gpu_rows(rows):
    """Adds, on each link, the one-GPU row that each row speeds up, once each where it is not there already."""
    return list(dict.fromkeys(list(rows) + [row.one_gpu() for row in rows]))


def in_random_order(rows, generator: random.Random):
    """A one-GPU row and the rows it is the yardstick of come together, so that a machine that drifts moves both."""
    groups = {}
    for row in rows:
        groups.setdefault(row.one_gpu(), []).append(row)
    ordered = list(groups.values())
    generator.shuffle(ordered)
    for group in ordered:
        generator.shuffle(group)
    return [row for group in ordered for row in group]
