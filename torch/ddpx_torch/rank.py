"""One rank: trains the rows of its job and writes what it found, line by line, for the launcher to read."""

import gc
import json
import math
import os
import sys
import threading
import time

from .errors import DeviceError, InputError, one_line
from .launch import GO
from .mates import Alone, Together
from .rows import row_of

REFUSED, FAILED = 2, 3  # exit codes, as of the programs


def check_memory(row, device, ranks):
    """Says in one line what an out-of-memory killer would not: weights, gradients, buckets and optimizer state in fp32."""
    import torch

    from .networks import parse_network

    parameters = parse_network(row.network).parameters()
    if parameters is None:
        return
    copies = 2 + (row.gpus > 1 and not row.strategy.fsdp) + 2 * (row.optimizer == "adamw")
    need = 4.0 * parameters * copies / (row.gpus if row.strategy.fsdp else 1)
    if device.type == "cuda":
        free = torch.cuda.mem_get_info(device)[0]
    else:
        with open("/proc/meminfo", encoding="ascii") as file:
            free = next(float(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable"))
        free /= ranks
    if need > free:
        raise DeviceError(
            f"training {row.words()}: it does not fit: weights, gradients and optimizer state take {need / 2**30:.3g} GiB "
            f"on each rank and {free / 2**30:.3g} GiB are free; make the network smaller"
        )


def _train(row, job, device, mates, tick):
    """One row on the ranks it is for; the rest wait."""
    import torch

    from . import models, timing, training
    from .networks import parse_network

    group = mates.group(row.gpus)
    if mates.rank >= row.gpus:
        return None

    def slowest(values):
        of_all = mates.exchange(values, row.gpus)
        return [max(column) for column in zip(*of_all)] if isinstance(values, list) else max(of_all)

    training.check_supported(row, device)
    check_memory(row, device, row.gpus)
    training.set_precision(row.dtype)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    network = parse_network(row.network)
    work = models.build(network, row.samples(), device, job["seed"], mates.rank)
    trainer = training.Trainer(row, work, device, group, **job["training"])
    if job["mode"] == "records":
        return _records(trainer, device, row, lambda: mates.exchange(0, row.gpus), job.get("records"), mates.rank)
    limits = timing.Timing(**job["timing"])
    timed = timing.time_steps(trainer, device, limits, tick, slowest, lambda: mates.exchange(0, row.gpus))
    loss = float(trainer.loss)
    if not math.isfinite(loss):
        raise DeviceError(f"training {row.words()}: the loss became {loss}; these times are not those of training")
    context = {"steps_per_time": str(timed.steps_per_block)}
    buckets = trainer.bucket_bytes()
    if buckets and row.strategy.sync:
        context["bucket_bytes"] = ",".join(map(str, buckets))
    if job["training"]["compile"]:
        context["compile"] = "torch.compile"
    if trainer.fsdp:
        context["fsdp"] = trainer.fsdp
    if device.type == "cuda":
        context["issue_time_s"] = f"{timed.issue_time_s:.6g}"
        context["memory_bytes"] = str(torch.cuda.max_memory_allocated(device))
    return {"step_times_s": timed.block_times_s, "context": context}


def _keep(spans, row, steps, folder, rank):
    """The records themselves, for who wants to see what runs beside what."""
    begin = spans[0].begin
    words = "-".join(word for word in (row.network, str(row.batch), row.link, row.strategy.describe(), row.dtype, row.optimizer, str(row.gpus)))
    name = "".join(c if c.isalnum() or c in "-.=" else "_" for c in os.path.basename(words))
    document = {
        "row": row.to_json(),
        "rank": rank,
        "steps": steps,
        "kernels": "name, stream, begin and end in microseconds, blocks",
        "records": [
            [s.name[:80], s.stream, round((s.begin - begin) * 1e6, 2), round((s.end - begin) * 1e6, 2), math.prod(s.args.get("grid") or [0])] for s in spans
        ],
    }
    with open(os.path.join(folder, f"{name}-rank{rank}.json"), "w", encoding="utf-8") as file:
        json.dump(document, file)


def _records(trainer, device, row, together, folder, rank, steps=3):
    """What the device did in some steps. In process sets of their own: a process in which kernels were recorded once may
    launch more slowly ever after."""
    from . import kernels
    from .timing import GPU_WARMUP_STEPS, synchronize

    def run(count):
        for _ in range(count):
            trainer.step()
        synchronize(device)

    run(GPU_WARMUP_STEPS)  # sooner, DistributedDataParallel's logger would wait for the device in every recorded step
    kernels.recorded(lambda: run(1))  # the first recording of a process sets CUPTI up meanwhile
    together()
    spans = kernels.spans_of(kernels.recorded(lambda: run(steps)))
    if not spans:
        return {}
    if folder:
        _keep(spans, row, steps, folder, rank)
    busy, waiting = kernels.busy_and_waiting(spans, steps)
    # ddpx-validate wants the one-GPU step's busy share, and the waiting of steps that wait.
    return {"busy_s": busy} if row.gpus == 1 else {"waiting_s": waiting}


def _hardware(device):
    import torch

    context = {"torch": str(torch.__version__), "python": ".".join(map(str, sys.version_info[:3]))}
    if device.type == "cuda":
        context["gpu"] = torch.cuda.get_device_name(device)
        context["cuda"] = str(torch.version.cuda)
        context["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))
    else:
        context["backend"] = "gloo"
        context["threads"] = str(torch.get_num_threads())
        context["cores"] = f"{len(os.sched_getaffinity(0))} a rank"
    for name, value in sorted(os.environ.items()):
        if name.startswith(("NCCL_", "GLOO_", "OMP_NUM", "CUDA_DEVICE", "CUDA_LAUNCH", "TORCH_NCCL", "PYTORCH_CUDA", "PYTORCH_ALLOC")):
            context[name] = one_line(value, 100)
    return context


def work_through(job, mates, device, say):
    """Trains the rows of the job; say(record) gets what the launcher reads."""
    import torch

    from . import models

    say({"hardware": _hardware(device)})
    if job["mode"] == "measure":
        from .measuring import measure

        measure(job, mates, device, say)
        return
    for index, members in job["rows"]:
        row = row_of(members, "row")
        say({"row": index, "rank_of": row.gpus})
        try:
            report = _train(row, job, device, mates, lambda: say({"tick": index}))
        except (RuntimeError, MemoryError) as error:
            if models.memory_error(error):
                raise models.does_not_fit(row.words(), error) from error
            if "find_unused_parameters" in str(error):
                raise InputError(row.words(), "has parameters that get no gradient, for which DistributedDataParallel waits; give --find-unused") from error
            raise DeviceError(f"training {row.words()}: {type(error).__name__}: {one_line(error)}") from error
        mates.exchange(0)
        say({"done": index, "report": report})
        gc.collect()  # a DistributedDataParallel is part of a cycle
        if device.type == "cuda":
            torch.cuda.empty_cache()


def open_device(job, local_rank):
    import torch

    if job["device"] == "cuda":
        device = torch.device("cuda", local_rank)
        torch.cuda.set_device(device)
        return device
    from .timing import keep_freed_memory, use_threads

    keep_freed_memory()
    use_threads(job["threads"])
    return torch.device("cpu")


def bind(job, rank, world):
    """A CPU rank keeps to its share of the cores, as under mpirun: where the system moves ranks about, two of them took steps twice as
    long for a whole run, as on one core (docs/pytorch.md). Where the shares are smaller than the threads, nothing is bound. Called
    before PyTorch is loaded, whose threads inherit it."""
    if job["device"] != "cpu":
        return
    cores = sorted(os.sched_getaffinity(0))
    share = len(cores) // world
    if share >= max(1, job["threads"]):
        os.sched_setaffinity(0, cores[rank * share : (rank + 1) * share])


def _wait_for_the_launcher(folder):
    """PyTorch is loaded by then, which takes seconds; the device belongs to the job before this one."""
    import torch.distributed  # noqa: F401

    while not os.path.exists(os.path.join(folder, GO)):
        time.sleep(0.01)


def _end_with_the_launcher():
    """A launcher that was killed cannot end its ranks."""
    launcher = os.getppid()

    def watch():
        while os.getppid() == launcher:
            time.sleep(1)
        os._exit(FAILED)

    threading.Thread(target=watch, daemon=True).start()


def main():
    """Started by the launcher: FOLDER RANK WORLD."""
    folder, rank, world = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with open(os.path.join(folder, "job.json"), encoding="utf-8") as file:
        job = json.load(file)
    _end_with_the_launcher()
    with open(os.path.join(folder, f"rank{rank}"), "w", encoding="utf-8") as out:

        def say(record):
            out.write(json.dumps(record) + "\n")
            out.flush()

        try:
            bind(job, rank, world)
            _wait_for_the_launcher(folder)
            device = open_device(job, rank)
            mates = Alone()
            if world > 1:
                mates = Together(rank, world, device, folder)
            work_through(job, mates, device, say)
            say({"finished": True})
            mates.exchange(0)
            mates.close()
        except InputError as error:
            say({"refused": one_line(error, 1000)})
            os._exit(REFUSED)  # libraries that wait for the other ranks are not asked
        except DeviceError as error:
            say({"failed": one_line(error, 1000)})
            os._exit(FAILED)
        except Exception as error:
            say({"failed": f"{type(error).__name__}: {one_line(error, 800)}"})
            os._exit(FAILED)


if __name__ == "__main__":
    main()
