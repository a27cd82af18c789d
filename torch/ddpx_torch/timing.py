"""Step times of a trainer. Steps 1 to 3 never count: buckets are rebuilt at the second, and libraries choose their
algorithms and take their memory in them (docs/pytorch.md)."""

import contextlib
import ctypes
import time
from dataclasses import dataclass, field

import torch

DROPPED = 3
# DistributedDataParallel's logger waits for the device in each of the first ten steps (logger.cpp), so GPUs warm up past them.
GPU_WARMUP_STEPS = 11
GPU_WARMUP_SECONDS = 0.3
GPU_WARMUP_LIMIT = 3.0


@dataclass
class Timing:
    """How much of a row is timed: `repeats` blocks that together take about `seconds`; a slow step makes fewer of them."""

    seconds: float = 0.8
    repeats: int = 10
    fewest: int = 3


@dataclass
class Timed:
    block_times_s: list = field(default_factory=list)  # a step's, mean over each block
    steps_per_block: int = 1
    issue_time_s: float = 0.0  # of one step, by the host alone


def keep_freed_memory():
    """On CPUs. glibc gives large freed blocks back to the system in every step or never, by chance of how a process's heap
    lies: a step of 1.5 ms then takes 5. Kept, every process has the fast one. mallopt(3)."""
    trim_threshold, mmap_max, most = -1, -4, 2**31 - 1
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(trim_threshold, most)
        libc.mallopt(mmap_max, 0)


def use_threads(count):
    """Of this process, on a CPU. torch.set_num_threads does not reach an OpenBLAS beneath PyTorch (Debian's), whose products would take
    every core of the host: a model captured alone then has more of them than each of several ranks."""
    torch.set_num_threads(count)
    with contextlib.suppress(OSError):
        with open("/proc/self/maps", encoding="utf-8") as file:
            loaded = {line.split(maxsplit=5)[-1].strip() for line in file if "openblas" in line}
        for path in loaded:
            with contextlib.suppress(AttributeError):
                ctypes.CDLL(path).openblas_set_num_threads(count)


def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _timed_step(trainer, device):
    begin = time.perf_counter()
    trainer.step()
    synchronize(device)
    return time.perf_counter() - begin


def _warm_up(trainer, device, tick, slowest, seconds):
    """Untimed steps, the same number on every rank, on GPUs for `seconds` at least; returns a step's seconds."""
    for _ in range(DROPPED):
        step = _timed_step(trainer, device)
        tick()
    step = slowest(step)
    if device.type == "cpu":
        return step
    wanted = max(GPU_WARMUP_STEPS - DROPPED, round(seconds / step))
    wanted = min(wanted, round(GPU_WARMUP_LIMIT / step))
    begin = time.perf_counter()
    for _ in range(wanted):
        trainer.step()
        tick()
    synchronize(device)
    return slowest((time.perf_counter() - begin) / wanted) if wanted else step


def _plan(step, timing):
    repeats = max(timing.fewest, min(timing.repeats, round(timing.seconds / step)))
    return repeats, max(1, round(timing.seconds / repeats / step))


def _gpu_blocks(trainer, repeats, steps, tick):
    """Marks on the compute stream, nobody waits in between: the host runs ahead as it does in training."""
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(repeats + 1)]
    marks[0].record()
    for mark in marks[1:]:
        for _ in range(steps):
            trainer.step()
        mark.record()
        tick()
    torch.cuda.synchronize()
    return [a.elapsed_time(b) * 1e-3 / steps for a, b in zip(marks, marks[1:])]


def _cpu_blocks(trainer, repeats, steps, tick):
    marks = [time.perf_counter()]
    for _ in range(repeats):
        for _ in range(steps):
            trainer.step()
        marks.append(time.perf_counter())
        tick()
    return [(b - a) / steps for a, b in zip(marks, marks[1:])]


def _issue_time(trainer, device, steps=3):
    """What the host alone takes for a step: from an idle device, and short of the queue's length no call waits."""
    best = None
    for _ in range(steps):
        synchronize(device)
        begin = time.perf_counter()
        trainer.step()
        spent = time.perf_counter() - begin
        best = spent if best is None else min(best, spent)
    synchronize(device)
    return best


def time_steps(trainer, device, timing, tick=lambda: None, slowest=lambda value: value, together=lambda: None):
    """`slowest` is the largest of all ranks' values, `together` returns when all ranks have come to it."""
    step = _warm_up(trainer, device, tick, slowest, min(GPU_WARMUP_SECONDS, timing.seconds / 2))
    repeats, steps = _plan(step, timing)
    together()
    trainer.step()  # ranks come together some milliseconds apart; their first collective evens that out
    blocks = (_gpu_blocks if device.type == "cuda" else _cpu_blocks)(trainer, repeats, steps, tick)
    timed = Timed(slowest(blocks), steps)
    if device.type == "cuda":
        timed.issue_time_s = _issue_time(trainer, device)
    return timed
