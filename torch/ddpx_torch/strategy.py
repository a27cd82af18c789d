"""How gradients are shared, in the words of --strategy: the grammar of model/strategy.cpp, and `fsdp=block`."""

import math
from dataclasses import dataclass, replace
from typing import Optional

from .errors import InputError, quoted

MIB = 1 << 20
USUAL_FIRST = MIB  # PyTorch's first bucket, and its others: torch/nn/parallel/distributed.py
USUAL_CAP = 25 * MIB

_UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": MIB, "GiB": 1 << 30}
_ACCEPTED = (
    "ddp, accumulate=K, compress=fp16|bf16, bucket=SIZE, first-bucket=SIZE, bucket-view, channels=C, "
    "fsdp=unit|block, no-sync"
)


@dataclass(frozen=True)
class Strategy:
    micro_batches: int = 1
    compression: Optional[str] = None
    bucket: Optional[int] = None  # bytes, where bucket_cap_mb is given; its first bucket is as large
    first_bucket: Optional[int] = None
    bucket_view: bool = False
    fsdp: Optional[str] = None  # unit or block
    sync: bool = True
    channels: Optional[int] = None

    def describe(self):
        if not self.sync:
            return "no-sync" + (f",accumulate={self.micro_batches}" if self.micro_batches > 1 else "")
        words = [f"fsdp={self.fsdp}" if self.fsdp else "ddp"]
        if self.micro_batches > 1:
            words.append(f"accumulate={self.micro_batches}")
        if self.compression:
            words.append(f"compress={self.compression}")
        if self.bucket is not None:
            words.append(f"bucket={_size(self.bucket)}")
        if self.first_bucket is not None and self.first_bucket != (self.bucket or USUAL_FIRST):
            words.append(f"first-bucket={_size(self.first_bucket)}")
        if self.bucket_view:
            words.append("bucket-view")
        if self.channels:
            words.append(f"channels={self.channels}")
        return ",".join(words)

    def without_channels(self):
        return replace(self, channels=None)


def _size(size):
    return f"{size / MIB:.15g}MiB"


def _count(word, text, most, place):
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= most):
        raise InputError(place, f"{quoted(word)} needs a whole number from 1 to {most}")
    return int(text)


def _bytes(word, text, place):
    number = text.rstrip("KMGiB")
    unit = _UNITS.get(text[len(number) :])
    try:
        size = float(number) * unit if unit and number.isascii() and "_" not in number else math.nan
    except ValueError:
        size = math.nan
    if not 1 <= size <= 2**53:
        raise InputError(
            place, f"{quoted(word)} needs a size with a unit: KB, MB, GB (10^3) or KiB, MiB, GiB (2^10), as bucket=25MiB"
        )
    return round(size)


def parse_strategy(text, place="--strategy"):
    values = {}
    seen = set()
    ddp = False
    for word in text.split(","):
        key, equals, value = word.partition("=")
        if key in seen:
            raise InputError(place, f"{quoted(word)} is given twice")
        seen.add(key)
        if key == "ddp" and not equals:
            ddp = True
        elif key == "accumulate" and equals:
            values["micro_batches"] = _count(word, value, 1 << 20, place)
        elif key == "compress" and equals:
            if value not in ("fp16", "bf16"):
                raise InputError(place, f"{quoted(word)} accepts compress=fp16 and compress=bf16")
            values["compression"] = value
        elif key == "bucket" and equals:
            values["bucket"] = _bytes(word, value, place)
        elif key == "first-bucket" and equals:
            values["first_bucket"] = _bytes(word, value, place)
        elif key == "bucket-view" and not equals:
            values["bucket_view"] = True
        elif key == "channels" and equals:
            values["channels"] = _count(word, value, 1024, place)
        elif key == "fsdp" and (not equals or value in ("unit", "block")):
            values["fsdp"] = value or "unit"
        elif key == "no-sync" and not equals:
            values["sync"] = False
        else:
            raise InputError(place, f"{quoted(word)} is not a strategy; accepted: {_ACCEPTED}")
    strategy = Strategy(**values)
    ddp_only = {"bucket", "first_bucket", "bucket_view", "compression"} & set(values)
    if strategy.fsdp and ddp:
        raise InputError(place, f"{quoted(text)} asks for ddp and fsdp at once; give one of them")
    if strategy.fsdp and ddp_only:
        raise InputError(
            place, f"{quoted(text)} combines fsdp with a bucket or compression option, which only ddp has; drop one"
        )
    if not strategy.sync and (ddp_only or strategy.channels or strategy.fsdp):
        raise InputError(place, f"{quoted(text)} combines no-sync with options of what it switches off")
    return strategy
