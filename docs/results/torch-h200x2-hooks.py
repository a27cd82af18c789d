#!/usr/bin/env python3
"""Where a step with a hook of Python's takes longer: the device's clock at the end of forward, backward and optimizer, with no hook,
PyTorch's fp16 hook and three that share something with it each.

    torch-h200x2-hooks.py > hooks.json        (two GPUs; PYTHONPATH=torch)

allreduce   PyTorch's own that neither casts nor has a callback of Python's
inline      casts to fp16 and back on the stream that computes, and waits there for its all-reduce: no callback, no overlap
nothing     hands the bucket back: no communication
"""

import json
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as processes
from ddpx_torch import models, training
from ddpx_torch.networks import parse_network
from ddpx_torch.rows import Row
from ddpx_torch.strategy import parse_strategy
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

NETWORKS = (
    ("gpt:layers=8,hidden=512,heads=8,sequence=1024,vocabulary=50257", 16, "bf16", "adamw"),
    ("resnet:depth=50", 128, "bf16", "adamw"),
    ("mlp:width=3072,depth=8", 1024, "fp32", "sgd"),
)
WARMUP, STEPS, DROPPED = 25, 8, 2


def done(value):
    future = torch.futures.Future()
    future.set_result(value)
    return future


def inline(_, bucket):
    buffer = bucket.buffer()
    half = buffer.to(torch.float16).div_(dist.get_world_size())
    dist.all_reduce(half)
    buffer.copy_(half)
    return done(buffer)


HOOKS = {
    "none": None,
    "allreduce": default_hooks.allreduce_hook,
    "fp16": default_hooks.fp16_compress_hook,
    "inline": inline,
    "nothing": lambda _, bucket: done(bucket.buffer()),
}


def timed(rank, network, batch, dtype, optimizer, hook):
    device = torch.device("cuda", rank)
    training.set_precision(dtype)
    work = models.build(parse_network(network), batch, device, 1, rank)
    trainer = training.Trainer(Row(network, 2, "nvlink", parse_strategy("ddp"), "weak", dtype, optimizer, batch), work, device)
    if HOOKS[hook]:
        trainer.model.register_comm_hook(None, HOOKS[hook])
    for _ in range(WARMUP):
        trainer.step()
    torch.cuda.synchronize()
    dist.barrier()
    marks, hosts = [], []

    def mark():
        marks.append(torch.cuda.Event(enable_timing=True))
        marks[-1].record()
        hosts.append(time.perf_counter())

    mark()
    for _ in range(STEPS):
        trainer.optimizer.zero_grad(set_to_none=True)
        with training.autocast(device, dtype):
            loss = work.loss(trainer.called, work.batch)
        mark()
        loss.backward()
        mark()
        trainer.optimizer.step()
        mark()
    torch.cuda.synchronize()
    parts = [a.elapsed_time(b) for a, b in zip(marks, marks[1:])]
    found = {name: statistics.median(parts[3 * DROPPED + i :: 3]) for i, name in enumerate(("forward_ms", "backward_ms", "optimizer_ms"))}
    lead = marks[0].elapsed_time(marks[-1]) - 1e3 * (hosts[-1] - hosts[0])
    return {"network": network, "hook": hook, "rank": rank, **{k: round(v, 3) for k, v in found.items()}, "host_ahead_ms": round(lead, 1)}


def main(rank, queue):
    os.environ.update(RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="29531")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    for network in NETWORKS:
        for hook in HOOKS:
            queue.put(timed(rank, *network, hook))
    dist.destroy_process_group()


if __name__ == "__main__":
    results = processes.get_context("spawn").SimpleQueue()
    processes.spawn(main, args=(results,), nprocs=2)
    rows = []
    while not results.empty():
        rows.append(results.get())
    json.dump(rows, sys.stdout, indent=1)
