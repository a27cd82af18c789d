"""Kernel records of a few steps, by torch.profiler: what ran on the device, when, with which grid.

A Chrome trace is what every version of the profiler writes alike; reading it back keeps this file free of its classes.
"""

import json
import math
import os
import tempfile
from dataclasses import dataclass, field

DEVICE_CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset")


@dataclass(frozen=True)
class Span:
    name: str
    begin: float  # seconds
    end: float
    stream: int = 0
    category: str = "kernel"
    args: dict = field(default_factory=dict, compare=False)


def is_collective(name):
    """NCCL's kernels, in the spellings of all versions: ncclKernel_AllReduce_RING_LL_Sum_float,
    ncclDevKernel_AllReduce_Sum_f32_RING_LL, ncclDevKernel_Generic; AMD's are called the same."""
    return "nccldev" in name.lower() or "ncclkernel" in name.lower() or "rccl" in name.lower()


def spans_of(events):
    """Device work of a Chrome trace's events, in order of time."""
    spans = []
    for event in events:
        category = str(event.get("cat", "")).lower()
        if event.get("ph") != "X" or category not in DEVICE_CATEGORIES:
            continue
        begin = float(event["ts"]) * 1e-6
        args = event.get("args") or {}
        stream = args.get("stream", 0)
        spans.append(
            Span(
                str(event.get("name", "")),
                begin,
                begin + float(event.get("dur", 0)) * 1e-6,
                int(stream) if str(stream).lstrip("-").isdigit() else 0,
                category,
                args,
            )
        )
    return sorted(spans, key=lambda span: span.begin)


def union(spans):
    """Seconds in which at least one of the spans runs."""
    total, reached = 0.0, float("-inf")
    for span in sorted(spans, key=lambda s: s.begin):
        if span.end > reached:
            total += span.end - max(span.begin, reached)
            reached = span.end
    return total


def busy_and_waiting(spans, steps):
    """Seconds of a step in which the device runs something, and in which it runs a collective and nothing else. The
    profiler slows the host, not the kernels: shares of a step are taken of its time without the profiler."""
    compute = union([span for span in spans if not is_collective(span.name)])
    busy = union(spans)
    return busy / steps, max(0.0, busy - compute) / steps


_PRODUCTS = ("gemm", "gemv", "conv", "cutlass", "xmma", "nvjet", "flash", "fmha", "wgrad", "dgrad", "wmma", "implicit")


def is_product(span):
    return span.category == "kernel" and any(word in span.name.lower() for word in _PRODUCTS)


def record_of(span, multiprocessors):
    """A kernel's launch as a measurements file holds it, or None where the profiler did not say."""
    grid, block = span.args.get("grid"), span.args.get("block")
    if not (isinstance(grid, list) and isinstance(block, list) and grid and block):
        return None
    blocks = math.prod(int(n) for n in grid)
    # A persistent kernel starts about as many blocks as there are multiprocessors and works through its tiles itself;
    # Hopper's matrix products are called so.
    persistent = blocks <= multiprocessors and any(word in span.name.lower() for word in ("persistent", "nvjet", "warpspecialized"))
    return {
        "name": span.name,
        "blocks": blocks,
        "threads": math.prod(int(n) for n in block),
        "registers_per_thread": int(span.args.get("registers per thread", 0)),
        "shared_bytes": int(span.args.get("shared memory", 0)),
        "persistent": persistent,
    }


def run_times(spans, runs):
    """Seconds of the kernels of each of `runs` runs in a row that launch alike, without what lies between them; none where their
    number is no multiple of the runs'."""
    each = len(spans) // runs
    if each == 0 or each * runs != len(spans):
        return []
    times = [sum(span.end - span.begin for span in spans[first : first + each]) for first in range(0, len(spans), each)]
    return times if min(times) > 0 else []


def recorded(run, activities=("cuda",), **options):
    """The events of a Chrome trace of run()."""
    from torch.profiler import ProfilerActivity, profile

    chosen = [getattr(ProfilerActivity, name.upper()) for name in activities]
    with profile(activities=chosen, **options) as profiler:
        run()
    handle, path = tempfile.mkstemp(suffix=".json", prefix="ddpx-trace-")
    os.close(handle)
    try:
        profiler.export_chrome_trace(path)
        with open(path, encoding="utf-8") as file:
            trace = json.load(file, strict=False)
    finally:
        os.unlink(path)
    return trace["traceEvents"] if isinstance(trace, dict) else trace


def marks_of(events):
    """(what, index, begin, end) of record_function("ddpx:WHAT:INDEX"), in order of time."""
    marks = []
    for event in events:
        name = str(event.get("name", ""))
        if event.get("ph") == "X" and name.startswith("ddpx:") and event.get("cat") == "user_annotation":
            _, what, index = name.split(":")
            begin = float(event["ts"]) * 1e-6
            marks.append((what, int(index), begin, begin + float(event.get("dur", 0)) * 1e-6))
    return sorted(marks, key=lambda mark: mark[2])


def launched(events):
    """(moment of launch, span) in the order of launches."""
    moments = {}
    for event in events:
        correlation = (event.get("args") or {}).get("correlation")
        if event.get("cat") in ("cuda_runtime", "cuda_driver") and correlation is not None:
            moments.setdefault(correlation, float(event["ts"]) * 1e-6)
    spans = spans_of(events)
    return sorted(((moments.get(span.args.get("correlation"), span.begin), span) for span in spans), key=lambda pair: pair[0])


def within_marks(events, what, count):
    """For each index below `count`, the spans launched inside its mark."""
    found = [[] for _ in range(count)]
    spans = launched(events)
    for word, index, begin, end in marks_of(events):
        if word == what and index < count:
            found[index] += [span for moment, span in spans if begin <= moment <= end]
    return found
