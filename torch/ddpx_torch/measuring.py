"""What the ranks of `measure` time: products, copies, optimizer steps and launches, collectives, and both at once."""

import time

import torch
import torch.distributed as dist

from .timing import synchronize

SAMPLES = 15
SAMPLE_SECONDS = 3e-3  # each sample repeats its work for so long
TASK_SECONDS = 0.35
FEWEST = 5
_DTYPES = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2}


class Clock:
    """Times work by the slowest rank. Work is queued back to back, as nccl-tests does and as a training step is."""

    def __init__(self, device, mates):
        self.device, self.mates = device, mates

    def slowest(self, values):
        return [max(column) for column in zip(*self.mates.exchange(values))]

    def once(self, work, count):
        synchronize(self.device)
        begin = time.perf_counter()
        for _ in range(count):
            work()
        synchronize(self.device)
        return (time.perf_counter() - begin) / count

    def samples(self, work, collective=False):
        self.once(work, 2)
        first = self.slowest([self.once(work, 1)])[0]
        count = max(1, round(SAMPLE_SECONDS / first))
        wanted = max(FEWEST, min(SAMPLES, round(TASK_SECONDS / (count * first))))
        if collective:
            self.mates.exchange(0)
            work()  # ranks come together some milliseconds apart
        return self.slowest([self.once(work, count) for _ in range(wanted)])


def _product(dtype, device, product_pass, rows, inputs, outputs):
    kind = _DTYPES[dtype]
    x = torch.randn(rows, inputs, device=device).to(kind)
    weight = torch.randn(outputs, inputs, device=device).to(kind)
    gradient = torch.randn(rows, outputs, device=device).to(kind)
    if product_pass == "forward":
        return lambda: x @ weight.t()
    if product_pass == "data_gradient":
        return lambda: gradient @ weight
    return lambda: gradient.t() @ x


def _kernel(work, device, multiprocessors):
    """The record of the kernel that takes longest, where the profiler sees kernels."""
    from . import kernels

    def run():
        work()
        synchronize(device)

    spans = [span for span in kernels.spans_of(kernels.recorded(run)) if span.category == "kernel"]
    return kernels.record_of(max(spans, key=lambda s: s.end - s.begin), multiprocessors) if spans else None


def compute(job, clock, device, tick):
    """Samples of products, copies, optimizers and launches."""
    what = {"products": [], "copies": [], "optimizers": [], "launches": []}
    for dtype in job["dtypes"]:
        torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
        for width in job["widths"]:
            for rows in job["batches"]:
                for product_pass in ("forward", "data_gradient", "weight_gradient"):
                    work = _product(dtype, device, product_pass, rows, width, width)
                    sample = {"pass": product_pass, "dtype": dtype, "rows": rows, "in": width, "out": width}
                    sample["times_s"] = clock.samples(work)
                    what["products"].append(sample)
                    tick()
    for size in job["copy_bytes"]:
        source = torch.ones(size // 4, device=device)
        target = torch.empty_like(source)
        what["copies"].append({"bytes": size, "times_s": clock.samples(lambda: target.copy_(source))})
        tick()
    for optimizer in ("sgd", "adamw"):
        for parameters in job["optimizer_parameters"]:
            values = torch.zeros(parameters, device=device, requires_grad=True)
            values.grad = torch.ones_like(values)
            made = torch.optim.SGD([values], lr=0.01) if optimizer == "sgd" else torch.optim.AdamW([values])
            times = clock.samples(made.step)
            what["optimizers"].append({"optimizer": optimizer, "parameters": parameters, "times_s": times})
            tick()
    small = torch.ones(16, device=device)
    what["launches"].append({"times_s": clock.samples(lambda: small.add_(1.0))})
    return what


def grids(job, clock, device, tick):
    """Kernel records of the products, in a process set of their own: recording may slow later launches."""
    records = []
    for dtype in job["dtypes"]:
        torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
        for width in job["widths"]:
            for rows in job["batches"]:
                for product_pass in ("forward", "data_gradient", "weight_gradient"):
                    work = _product(dtype, device, product_pass, rows, width, width)
                    record = _kernel(work, device, torch.cuda.get_device_properties(device).multi_processor_count)
                    records.append(record)
                    tick()
    return {"grids": records}


def _collective(kind, dtype, size, ranks, device):
    """Work of `size` bytes as nccl-tests counts them: of each rank in an all-reduce, of all ranks together otherwise."""
    elements = max(ranks, size // _BYTES[dtype])
    elements -= elements % ranks
    whole = torch.ones(elements, device=device).to(_DTYPES[dtype])
    if kind == "all_reduce":
        return lambda: dist.all_reduce(whole), elements * _BYTES[dtype]
    part = torch.ones(elements // ranks, device=device).to(_DTYPES[dtype])
    if kind == "all_gather":
        return lambda: dist.all_gather_into_tensor(whole, part), elements * _BYTES[dtype]
    return lambda: dist.reduce_scatter_tensor(part, whole), elements * _BYTES[dtype]


def link(job, clock, device, tick):
    ranks = clock.mates.world
    samples = []
    for kind, dtype in job["collectives"]:
        seen = set()
        for size in job["sizes"]:
            work, size = _collective(kind, dtype, size, ranks, device)
            if size in seen:
                continue
            seen.add(size)
            sample = {"link": job["link"], "collective": kind, "dtype": dtype, "ranks": ranks, "bytes": size}
            sample["times_s"] = clock.samples(work, collective=True)
            sample["tool"] = "torch"
            samples.append(sample)
            tick()
    return {"collectives": samples}


def _beside(clock, device, product, collective):
    """Both alone and side by side: products run for as long as the collective takes, and the other way round."""

    def products_while(handle):
        count, begin = 0, time.perf_counter()
        while not handle.is_completed():
            product()
            count += 1
        return (time.perf_counter() - begin) / max(1, count)

    alone, beside = [], []
    for _ in range(FEWEST):
        clock.mates.exchange(0)
        alone.append((clock.once(product, 8), clock.once(lambda: collective(False), 2)))
        clock.mates.exchange(0)
        collective(False)
        begin = time.perf_counter()
        handle = collective(True)
        per_product = products_while(handle)
        handle.wait()
        beside.append((per_product, time.perf_counter() - begin))
    columns = [[pair[i] for pair in pairs] for pairs in (alone, beside) for i in (0, 1)]
    return [clock.slowest(column) for column in columns]


def beside(job, clock, device, tick):
    samples = []
    for rows, width, size in job["beside"]:
        product = _product("fp32", device, "forward", rows, width, width)
        values = torch.ones(size // 4, device=device)

        def collective(asynchronous, values=values):
            return dist.all_reduce(values, async_op=asynchronous)

        product_alone, collective_alone, product_beside, collective_beside = _beside(clock, device, product, collective)
        samples.append(
            {
                "link": job["link"],
                "product": {"pass": "forward", "dtype": "fp32", "rows": rows, "in": width, "out": width},
                "call": {"collective": "all_reduce", "dtype": "fp32", "ranks": clock.mates.world, "bytes": size},
                "product_alone_times_s": product_alone,
                "product_beside_times_s": product_beside,
                "collective_alone_times_s": collective_alone,
                "collective_beside_times_s": collective_beside,
            }
        )
        tick()
    return {"besides": samples}


PARTS = {"compute": compute, "grids": grids, "link": link, "beside": beside}


def device_of(device):
    if device.type == "cpu":
        return {
            "name": "PyTorch CPU rank",
            "multiprocessors": 0,
            "compute_capability": 0,
            "memory_bytes": 0,
            "nvlink_generation": "",
            "pcie_generation": "",
        }
    properties = torch.cuda.get_device_properties(device)
    capability = properties.major * 10 + properties.minor
    nvlink = {70: "nvlink2", 80: "nvlink3", 90: "nvlink4", 100: "nvlink5", 103: "nvlink5"}.get(capability, "")
    pcie = {70: "pcie3", 75: "pcie3", 80: "pcie4", 86: "pcie4", 89: "pcie4"}.get(capability, "pcie5" if capability >= 90 else "")
    return {
        "name": properties.name,
        "multiprocessors": properties.multi_processor_count,
        "compute_capability": capability,
        "memory_bytes": properties.total_memory,
        "nvlink_generation": nvlink,
        "pcie_generation": pcie,
    }


def measure(job, mates, device, say):
    clock = Clock(device, mates)
    for index, part in enumerate(job["parts"]):
        say({"row": index})
        with torch.no_grad():
            report = PARTS[part](job, clock, device, lambda: say({"tick": index}))
        report["device"] = device_of(device)
        mates.exchange(0)
        say({"done": index, "report": report})
