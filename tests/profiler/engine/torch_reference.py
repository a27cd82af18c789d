"""What PyTorch's DistributedDataParallel makes of the same weights and the same data, over Gloo.

usage: torch_reference.py FOLDER

FOLDER/job.json says what is run, in one or more cases; parameters.f32 and samples.f32 hold the start and the data. Writes for every
case, as little-endian floats, FOLDER/CASE-losses.f32 (every rank's loss of every step, ranks outermost) and
FOLDER/CASE-parameters.f32 (the end, rank 0's). Exit code 77: there is no PyTorch here.
"""

import array
import json
import os
import sys

try:
    import torch
    import torch.distributed as dist
    import torch.multiprocessing as mp
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
    from torch.nn.parallel import DistributedDataParallel
except ImportError as error:
    print(f"no PyTorch for {sys.executable}: {error}")
    sys.exit(77)


def read(path):
    values = array.array("f")
    with open(path, "rb") as file:
        values.frombytes(file.read())
    return torch.tensor(values, dtype=torch.float32)


def write(path, values):
    with open(path, "wb") as file:
        array.array("f", values).tofile(file)


def build(job):
    layers = []
    for _ in range(job["depth"]):
        layers += [torch.nn.Linear(job["width"], job["width"]), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(job["width"], job["classes"]))
    flat = read(os.path.join(job["folder"], "parameters.f32"))
    with torch.no_grad():
        begin = 0
        for parameter in model.parameters():
            count = parameter.numel()
            parameter.copy_(flat[begin : begin + count].view_as(parameter))
            begin += count
    assert begin == flat.numel()
    return model


def train(rank, job, case, losses, end):
    options = {"gradient_as_bucket_view": case["bucket_view"]}
    if case["bucket_cap_mb"]:
        options["bucket_cap_mb"] = case["bucket_cap_mb"]
    model = DistributedDataParallel(build(job), **options)
    hooks = {"fp16": default_hooks.fp16_compress_hook, "bf16": default_hooks.bf16_compress_hook}
    if case["compress"]:
        model.register_comm_hook(None, hooks[case["compress"]])
    if case["optimizer"] == "adamw":
        optimizer = torch.optim.AdamW(model.parameters(), lr=job["adamw_rate"])
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=job["learning_rate"])
    k, rows, width = case["micro_batches"], job["rows"], job["width"]
    count = job["steps"] * job["ranks"] * k * rows
    # A sample is `width` inputs and its label.
    samples = read(os.path.join(job["folder"], "samples.f32")).view(-1, width + 1)[:count]
    samples = samples.view(job["steps"], job["ranks"], k, rows, width + 1)
    for step in range(job["steps"]):
        optimizer.zero_grad(set_to_none=True)
        total = 0.0
        for i in range(k):
            batch = samples[step, rank, i]
            model.require_backward_grad_sync = i == k - 1  # what no_sync() sets
            loss = torch.nn.functional.cross_entropy(model(batch[:, :width]), batch[:, width].long()) / k
            loss.backward()
            total += loss.item()
        optimizer.step()
        losses[rank, step] = total
    if rank == 0:
        end.copy_(torch.cat([parameter.detach().flatten() for parameter in model.parameters()]))


def run(rank, job, results):
    torch.set_num_threads(1)
    rendezvous = "file://" + os.path.join(job["folder"], "rendezvous")
    dist.init_process_group("gloo", init_method=rendezvous, rank=rank, world_size=job["ranks"])
    for case, (losses, end) in zip(job["cases"], results):
        train(rank, job, case, losses, end)
    dist.barrier()
    dist.destroy_process_group()


def main():
    folder = sys.argv[1]
    with open(os.path.join(folder, "job.json")) as file:
        job = json.load(file)
    job["folder"] = folder
    parameters = read(os.path.join(folder, "parameters.f32")).numel()
    results = [
        (torch.zeros(job["ranks"], job["steps"]).share_memory_(), torch.zeros(parameters).share_memory_())
        for _ in job["cases"]
    ]
    # Forked: importing PyTorch again in every process would take most of the time.
    mp.start_processes(run, args=(job, results), nprocs=job["ranks"], start_method="fork")
    for case, (losses, end) in zip(job["cases"], results):
        write(os.path.join(folder, case["name"] + "-losses.f32"), losses.flatten().tolist())
        write(os.path.join(folder, case["name"] + "-parameters.f32"), end.tolist())


if __name__ == "__main__":
    main()
