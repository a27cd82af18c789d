"""What the ranks of `measure` time: products, copies, optimizer steps and launches, collectives, and both at once."""

import itertools
import time

import torch
import torch.distributed as dist

from .beside import beside
from .timing import synchronize

SAMPLES = 15
PRODUCT_SAMPLES = 9  # many shapes, whose kernels repeat to half a per cent
RECORDED_RUNS = 4  # of a product, under kernel records
WARMING_SECONDS = 0.2
SAMPLE_SECONDS = 3e-3  # each sample repeats its work for so long
TASK_SECONDS = 0.35
FEWEST = 5
MOST_CALLS = 60  # of a sample; a GPU's queue holds some more
PACE_SECONDS = 5e-3  # that a CPU rank computes before each collective, more than the system's time slice
PACED_CALLS = 8  # of a sample, fewer where they take longer than this
PACED_SECONDS = 0.08
PACED_SAMPLES = 7
HOLD_SECONDS = 5e-4
LONGEST_HOLD = 0.05
ISSUE_SECONDS = 6e-5  # before any was measured
LARGE_BYTES = {"cpu": 4 << 20, "cuda": 64 << 20}
SLOW_SECONDS = 0.06  # larger collectives are doubled until one takes so long
_DTYPES = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2}


class Clock:
    """Times work by the slowest rank. Work is queued back to back, as nccl-tests does and as a training step is: a GPU is held
    until all of it is queued, so that no time holds the host's, which for a small collective through PyTorch is the longer."""

    def __init__(self, device, mates):
        self.device, self.mates = device, mates
        self.cycles_per_second = None
        self.issue = ISSUE_SECONDS  # that the host took for a call of the last work
        self.pace = None

    def slowest(self, values):
        return [max(column) for column in zip(*self.mates.exchange(values))]

    def events(self, count=2):
        return [torch.cuda.Event(enable_timing=True) for _ in range(count)]

    def hold(self, calls):
        """Keeps the GPU's stream busy for as long as the host takes to queue so many calls."""
        if self.cycles_per_second is None:
            cycles = 20_000_000
            torch.cuda._sleep(cycles)
            begin, end = self.events()
            begin.record()
            torch.cuda._sleep(cycles)
            end.record()
            torch.cuda.synchronize()
            self.cycles_per_second = cycles / (begin.elapsed_time(end) * 1e-3)
        seconds = min(LONGEST_HOLD, HOLD_SECONDS + 1.5 * calls * self.issue)
        torch.cuda._sleep(int(seconds * self.cycles_per_second))

    def once(self, work, count, before=lambda: None):
        """Seconds of a call; `before` is queued ahead of the clock."""
        synchronize(self.device)
        if self.device.type != "cuda":
            before()
            start = time.perf_counter()
            for _ in range(count):
                work()
            return (time.perf_counter() - start) / count
        begin, end = self.events()
        self.hold(count + 1)
        before()
        start = time.perf_counter()
        begin.record()
        for _ in range(count):
            work()
        end.record()
        self.issue = (time.perf_counter() - start) / count
        torch.cuda.synchronize()
        return begin.elapsed_time(end) * 1e-3 / count

    def paced(self, collective, samples=PACED_SAMPLES):
        """Seconds of a collective between computing, on CPU ranks: what it adds to the rank that computes longest. The threads that move
        the data want cores on which other ranks still compute, and wait there for a time slice: on two cores (Linux 6.18) 1 MiB takes
        0.7 ms in a loop of nothing else and 3 ms in a training step."""
        if self.pace is None:
            product = product_of("fp32", self.device, "forward", 128, 256, 256)
            count = max(1, round(PACE_SECONDS / self.slowest([self.once(product, 20)])[0]))
            self.pace = lambda: [product() for _ in range(count)]

        def sample(calls):
            spent = 0
            for _ in range(calls):
                self.pace()
                begin = time.perf_counter()
                collective()
                spent += time.perf_counter() - begin
            return spent / calls

        collective()
        first = self.slowest([sample(1)])[0]
        calls = max(1, min(PACED_CALLS, round(PACED_SECONDS / first)))
        return [min(column) for column in zip(*self.mates.exchange([sample(calls) for _ in range(samples)]))]

    def samples(self, work, collective=False, most=SAMPLES):
        if collective and self.device.type == "cpu":
            return self.paced(work)
        # Ranks come together some milliseconds apart: a collective ahead of the clock evens that out on a GPU, where a sample's
        # calls are few and their begin is the device's.
        before = work if collective else lambda: None
        self.once(work, 2)
        first = self.slowest([self.once(work, 1, before)])[0]
        count = max(1, min(MOST_CALLS, round(SAMPLE_SECONDS / first)))
        wanted = max(FEWEST, min(most, round(TASK_SECONDS / (count * first))))
        return self.slowest([self.once(work, count, before) for _ in range(wanted)])


def product_of(dtype, device, product_pass, rows, inputs, outputs):
    """The product as torch.nn.Linear's step calls it. With a bias the library chooses other kernels than without: two H200 took 229 us
    for a forward of 256 rows and 4096 features, and 182 us without its bias."""
    kind = _DTYPES[dtype]
    x = torch.randn(rows, inputs, device=device).to(kind)
    weight = torch.randn(outputs, inputs, device=device).to(kind)
    gradient = torch.randn(rows, outputs, device=device).to(kind)
    if product_pass == "forward":
        bias = torch.zeros(outputs, device=device).to(kind)
        return lambda: torch.nn.functional.linear(x, weight, bias)
    if product_pass == "data_gradient":
        return lambda: gradient @ weight
    return lambda: gradient.t() @ x


def compute(job, clock, device, tick):
    """Samples of products, copies, optimizers and launches."""
    what = {"products": [], "copies": [], "optimizers": [], "launches": []}
    for dtype, *shape in _shapes(job):
        torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
        sample = dict(zip(("pass", "rows", "in", "out"), shape), dtype=dtype)
        sample["times_s"] = clock.samples(product_of(dtype, device, *shape), most=PRODUCT_SAMPLES)
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


def _shapes(job):
    for dtype in job["dtypes"]:
        for width in job["widths"]:
            for rows in job["batches"]:
                for product_pass in ("forward", "data_gradient", "weight_gradient"):
                    yield dtype, product_pass, rows, width, width


def grids(job, clock, device, tick):
    """Kernel records of the products, one recording of all of one width, and of those that are only recorded, of one dtype: of each
    the kernel that takes longest, and what all of them take in each run."""
    groups = [list(shapes) for _, shapes in itertools.groupby(_shapes(job), key=lambda shape: (shape[0], shape[3]))]
    only = [list(shapes) for _, shapes in itertools.groupby(job["recorded"], key=lambda shape: shape[0])]
    found = {"grids": [], "recorded": []}
    for group in groups:
        found["grids"] += _records(group, device)
        tick()
    for group in only:
        for (dtype, *shape), (record, times) in zip(group, _records(group, device)):
            if record and times:
                found["recorded"].append(dict(zip(("pass", "rows", "in", "out"), shape), dtype=dtype, kernel=record, record_times_s=times))
        tick()
    return found


def _records(shapes, device):
    """(kernel's record or None, seconds of each run) of each of the products."""
    from . import kernels

    multiprocessors = torch.cuda.get_device_properties(device).multi_processor_count

    # A recording begins after the writing of the one before it, at the clocks of an idle device: fp32 products took 8 % longer.
    busy = product_of("fp32", device, "forward", 1024, 4096, 4096)

    def run():
        until = time.perf_counter() + WARMING_SECONDS
        while time.perf_counter() < until:
            busy()
            synchronize(device)
        for index, (dtype, *shape) in enumerate(shapes):
            torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
            work = product_of(dtype, device, *shape)
            work()
            synchronize(device)
            with torch.profiler.record_function(f"ddpx:grid:{index}"):
                for _ in range(RECORDED_RUNS):
                    work()
            synchronize(device)

    def of(spans):
        spans = [span for span in spans if span.category == "kernel"]
        longest = max(spans, key=lambda s: s.end - s.begin, default=None)
        return (kernels.record_of(longest, multiprocessors) if longest else None), kernels.run_times(spans, RECORDED_RUNS)

    return [of(spans) for spans in kernels.within_marks(kernels.recorded(run, ("cpu", "cuda")), "grid", len(shapes))]


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
            if size > LARGE_BYTES[device.type] and samples and min(samples[-1]["times_s"]) > SLOW_SECONDS:
                break
            work, size = _collective(kind, dtype, size, ranks, device)
            if size in seen:
                continue
            seen.add(size)
            sample = {"link": job["link"], "collective": kind, "dtype": dtype, "ranks": ranks, "bytes": size}
            sample["times_s"] = clock.samples(work, collective=True)
            # "torch" alone would say that small sizes are the host's time. A GPU is held meanwhile; Gloo's collectives run on the host.
            sample["tool"] = "torch, queued" if device.type == "cuda" else "gloo"
            samples.append(sample)
            tick()
    return {"collectives": samples}


def channels(job, clock, device, tick):
    """Of an all-reduce as large as a bucket: NCCL's kernel has a block for each channel. Last in its process set, since recording
    may slow later launches."""
    from . import kernels

    work, _ = _collective("all_reduce", "fp32", 25 << 20, clock.mates.world, device)
    work()
    synchronize(device)

    def run():
        work()
        synchronize(device)

    spans = [span for span in kernels.spans_of(kernels.recorded(run)) if kernels.is_collective(span.name)]
    record = kernels.record_of(spans[-1], 0) if spans else None
    return {"channels": [[job["link"], record["blocks"]]] if record else []}


PARTS = {"compute": compute, "grids": grids, "link": link, "beside": beside, "channels": channels}


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
