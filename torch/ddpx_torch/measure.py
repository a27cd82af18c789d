"""`measure`: PyTorch's own speed on this host as raw measurements, for `ddpx-calibrate --from`: products, memory, links, and what
the framework costs the host in a step, per tensor and per bucket."""

import contextlib
import os
import sys

from .errors import DeviceError, InputError, quoted
from .files import check_writable, opening, read_json, write_json
from .flags import count_of, list_of, seconds_of
from .launch import Interrupted, Job, in_turn, signals_end_it
from .rows import DTYPES, Row
from .run import choose_device, transports_of, visits_of
from .runner import Runner
from .strategy import parse_strategy

SCHEMA = "ddpx.measurements"
PARTS = ("compute", "link", "host")
MIB = 1 << 20
LARGEST = {"cpu": 64 * MIB, "cuda": 1024 * MIB}
WIDTHS = {"cpu": "128,256,512,1024", "cuda": "512,1024,1280,2048,2304,3072,4096,4608,6144,7168,8192,9216,12288,14336"}
BATCHES = {"cpu": "8,32,128", "cuda": "64,256,512,1024,2048,4096"}
COPIES = {"cpu": (4, 32), "cuda": (1, 4, 16, 64, 256, 1024)}  # MiB
UPDATES = {"cpu": (10**6, 4 * 10**6), "cuda": (10**6, 10**7, 10**8)}  # parameters
PASSES = ("forward", "data_gradient", "weight_gradient")
# Layers whose products are only run under kernel records, between those that are timed: square ones, and those of transformers.
RECORDED_WIDTHS = (256, 768, 1536, 1792, 2560, 2816, 3328, 3584, 3840, 5120, 5632, 6656, 10240, 11264)
RECORDED_BLOCKS = (768, 1024, 1280, 1600, 2048)
RECORDED_ROWS = {"square": (64, 256, 1024, 4096), "block": (1024, 4096, 16384)}
BESIDE = {
    "cpu": [["forward", 32, 512, 4 * MIB], ["forward", 32, 512, 16 * MIB], ["forward", 128, 256, MIB]],
    "cuda": [[p, rows, width, size] for rows, width in ((256, 2048), (1024, 2048), (256, 4096)) for p in PASSES for size in (16 * MIB, 64 * MIB)],
}


def add_arguments(parser):
    parser.add_argument("-o", "--measurements", metavar="FILE", required=True, help="the measurements file to write")
    parser.add_argument("--parts", metavar="P,...", help="compute, link, host (default: all; host on GPUs only)")
    parser.add_argument("--add-to", metavar="FILE", help="write FILE's measurements (of ddpx-calibrate --measurements, or of this) with these parts in the place of its own")
    parser.add_argument("--device", choices=("auto", "cuda", "cpu"), default="auto", help="(default: GPUs where PyTorch sees one)")
    parser.add_argument("--ranks", metavar="N", default="2", help="(default: 2); 1: one GPU alone, without links")
    parser.add_argument("--transport", action="append", metavar="[NAME=]KIND", help="as for run; every one is a link of its own; repeatable")
    parser.add_argument("--link", metavar="NAME", help="the link's name, with the environment as it is")
    parser.add_argument("--widths", metavar="W,...", help="of products (default: %s; on CPUs %s)" % (WIDTHS["cuda"], WIDTHS["cpu"]))
    parser.add_argument("--batches", metavar="B,...", help="of products (default: %s; on CPUs %s)" % (BATCHES["cuda"], BATCHES["cpu"]))
    parser.add_argument("--dtypes", metavar="T,...", help="of products (default: fp32)")
    parser.add_argument("--processes", metavar="N", default="3", help="fresh process sets of the host's steps (default: 3)")
    parser.add_argument("--threads", metavar="N", default="1", help="of each rank on a CPU (default: 1)")
    parser.add_argument("--patience", metavar="S", default="300", help="ranks silent for so long have hung (default: 300)")
    parser.add_argument("--name", metavar="TEXT", help="the machine's name (default: torch-cpu, torch-gpu)")


def _sizes(most):
    """1 KiB to `most`, doubling, and DistributedDataParallel's 25 MiB."""
    sizes = [1 << power for power in range(10, 40) if 1 << power <= most]
    return sorted(set(sizes + [25 * MIB]))


def _topology(kind, device):
    return {"p2p": "nvlink", "auto": "nvlink", "shm": "pcie_host", "socket": "network"}[kind] if device == "cuda" else "network"


# Steps that only the host takes time for, of three depths: what a step costs once comes apart from what every tensor does. A layer of
# 512 features is 1 MiB; of width 64 it would cost the host a third less, and a hook next to nothing (two H200). Buckets of half a KiB
# are one for every tensor; of 3 MiB, three layers each.
HOST_NETWORKS = ("mlp:width=512,depth=5", "mlp:width=512,depth=14", "mlp:width=512,depth=36")
HOST_BATCH = 64
HOST_STRATEGIES = ("ddp", "ddp,bucket=0.5KiB", "ddp,bucket=3MiB", "ddp,compress=fp16", "ddp,compress=fp16,bucket=3MiB", "ddp,compress=bf16,bucket=3MiB", "fsdp=unit", "fsdp=block")
# Blocks of twelve tensors, beside a linear layer's two: FSDP's cost of a collective comes apart from that of a tensor.
BLOCK_NETWORKS = ("gpt:layers=2,hidden=64,heads=2,sequence=16,vocabulary=64", "gpt:layers=6,hidden=64,heads=2,sequence=16,vocabulary=64")
BLOCK_BATCH = 8
HOST_TIMING = {"seconds": 0.2, "repeats": 8}
# What sharing costs the host where one GPU was measured: fitted to the host of two H200 (docs/results/torch-h200x2), another host
# has its own.
BORROWED_SOURCE = "the host of two H200 (docs/results/torch-h200x2); one GPU alone does not say"
BORROWED = {"sync_s": 4.2e-4, "sync_per_tensor_s": 1.1e-5, "per_bucket_s": 1.04e-4, "hook_per_bucket_s": 2.8e-4, "fsdp_s": 2.2e-3}
BORROWED_ERROR = 0.5
# Width, batch and format of one-GPU steps that the device bounds.
DEVICE_STEPS = ((2048, 1024, "fp32"), (4096, 256, "fp32"), (4096, 1024, "fp32"), (8192, 256, "fp32"), (8192, 1024, "fp32"), (4096, 4096, "bf16"), (8192, 1024, "bf16"), (8192, 4096, "bf16"))


def host_rows(link):
    def row(network, gpus, words, optimizer, batch, dtype="fp32"):
        return Row(network, gpus, link, parse_strategy(words), "weak", dtype, optimizer, batch)

    rows = []
    for network in HOST_NETWORKS:
        rows += [row(network, 2, words, "sgd", HOST_BATCH) for words in HOST_STRATEGIES]
        rows += [row(network, 1, words, "sgd", HOST_BATCH) for words in ("ddp", "ddp,accumulate=4")]
        rows += [row(network, 1, "ddp", "adamw", HOST_BATCH), row(network, 1, "ddp", "sgd", HOST_BATCH, "bf16")]
    for network in BLOCK_NETWORKS:
        rows += [row(network, gpus, words, optimizer, BLOCK_BATCH) for optimizer in ("sgd", "adamw") for gpus, words in ((1, "ddp"), (2, "fsdp=block"))]
    # AdamW's many operations each cost more on fully_shard's DTensors than on tensors.
    return rows + [row(network, 2, "fsdp=block", "adamw", HOST_BATCH) for network in HOST_NETWORKS[1:]]


def device_rows(link):
    return [Row(f"mlp:width={width},depth=6", 1, link, parse_strategy("ddp"), "weak", dtype, "sgd", batch) for width, batch, dtype in DEVICE_STEPS]


def _step_sample(row, reports):
    times = [time for report in reports for time in report["step_times_s"]]
    sample = {
        "network": row.network,
        "batch_per_rank": row.batch,
        "micro_batches": row.strategy.micro_batches,
        "dtype": row.dtype,
        "optimizer": row.optimizer,
        "engine": "torch",
        "clocks": "burst",
        "step_times_s": times,
        "note": f"{len(reports)} fresh processes of ddpx_torch",
    }
    if row.gpus > 1:
        sample.update(gpus=row.gpus, strategy=row.strategy.describe())
    return sample


class _Measuring:
    def __init__(self, options, device):
        self.options, self.device = options, device
        self.ranks = count_of("--ranks", options.ranks, 256)
        self.patience = seconds_of("--patience", options.patience)
        self.threads = count_of("--threads", options.threads, 1024)
        numbers = lambda flag, text, most: [count_of(flag, word, most) for word in text.split(",")]
        self.widths = numbers("--widths", options.widths or WIDTHS[device], 65536)
        self.batches = numbers("--batches", options.batches or BATCHES[device], 1 << 22)
        self.dtypes = list_of("--dtypes", options.dtypes or "fp32", DTYPES)
        self.processes = count_of("--processes", options.processes, 1000)
        self.transports = transports_of(options, device)
        self.samples = {}
        self.device_json = None
        self.context = {}
        self.notes = []

    def take(self, report):
        self.device_json = report.pop("device", self.device_json)
        for key, values in report.items():
            self.samples.setdefault(key, []).extend(values)

    def job(self, transport, parts, **members):
        words = {"compute": "products", "grids": "kernel records", "link": "collectives", "beside": "products beside collectives", "channels": "channels"}
        return {
            "mode": "measure",
            "verb": "measuring",
            "parts": parts,
            "words": {str(i): words[part] for i, part in enumerate(parts)},
            "device": self.device,
            "threads": self.threads,
            "link": transport.name,
            "dtypes": self.dtypes,
            "widths": self.widths,
            "batches": self.batches,
            "copy_bytes": [size * MIB for size in COPIES[self.device]],
            "optimizer_parameters": UPDATES[self.device],
            "sizes": _sizes(LARGEST[self.device]),
            "recorded": self.recorded(),
            "collectives": self.collectives(),
            "beside": BESIDE[self.device],
            **members,
        }

    def recorded(self):
        """Where the user named no sizes."""
        if self.device != "cuda" or self.options.widths or self.options.batches:
            return []
        layers = [(width, width, "square") for width in RECORDED_WIDTHS]
        for width in RECORDED_BLOCKS:
            layers += [(width, 3 * width, "block"), (width, 4 * width, "block"), (4 * width, width, "block")]
        return [[dtype, p, rows, inputs, outputs] for dtype in self.dtypes for inputs, outputs, kind in layers for rows in RECORDED_ROWS[kind] for p in PASSES]

    def collectives(self):
        kinds = [["all_reduce", "fp32"], ["all_reduce", "fp16"]]
        if self.device == "cuda":
            kinds += [["all_reduce", "bf16"], ["all_gather", "fp32"], ["reduce_scatter", "fp32"]]
        return kinds

    def sets(self, parts):
        """(transport, what its process set measures): as few sets as there are transports, since each takes seconds to start.
        What records kernels comes last, because it may slow what is launched later in its processes."""
        sets = [(transport, []) for transport in (self.transports if "link" in parts else self.transports[:1])]
        if "compute" in parts:
            sets[0][1].append("compute")
        if "link" in parts:
            for _, members in sets:
                members += ["link", "beside"] + (["channels"] if self.device == "cuda" else [])
        if "compute" in parts and self.device == "cuda":
            sets[-1][1].append("grids")
        return [(transport, members) for transport, members in sets if members]

    def devices(self, parts):
        sets = self.sets(parts)
        jobs = [Job(self.job(transport, members), self.ranks, transport.environment(os.environ), self.patience) for transport, members in sets]
        for (transport, members), job in zip(sets, in_turn(jobs)):
            sys.stderr.write(f"ddpx_torch: measuring on {transport.name}\n")
            with contextlib.closing(job.run()) as reports:
                for _, report in reports:
                    self.take(report)
            self.context.update({k: v for k, v in job.hardware.items() if not k.startswith(("NCCL_", "GLOO_"))})
            if "link" in members:
                self.samples.setdefault("links", []).append(self.link(transport))
        self.add_grids()

    def link(self, transport):
        link = {
            "name": transport.name,
            "title": f"{self.ranks} ranks of this host, {'NCCL' if self.device == 'cuda' else 'Gloo'} through PyTorch",
            "topology": _topology(transport.kind, self.device),
            "source": " ".join(f"{k}={v}" for k, v in transport.switches().items()) or "no switches",
        }
        for name, channels in self.samples.get("channels", []):
            if name == transport.name:
                link["channels"] = channels
        return link

    def add_grids(self):
        for product, (record, times) in zip(self.samples.get("products", []), self.samples.pop("grids", [])):
            if record:
                product["kernel"] = record
            if times:
                product["record_times_s"] = times
        if "recorded" in self.samples:
            self.samples["products"] += self.samples.pop("recorded")

    def host(self):
        """Steps so small that the host bounds them, in several process sets, and on one GPU some that the device bounds, in one: they
        say how much longer products take inside a step."""
        link = self.transports[0].name
        small, large = [row for row in host_rows(link) if row.gpus <= self.ranks], device_rows(link)
        runner = Runner(self.transports, self.device, small + large, HOST_TIMING, self.patience, self.threads, keep_going=True)
        sys.stderr.write("ddpx_torch: measuring the host\n")
        visits = [*visits_of(small + large, 1, None, 1), *visits_of(small, self.processes - 1, None, 2)]
        try:
            runner.visits([(*visit, "time") for visit in visits])
        finally:
            reports = runner.campaign.reports
            self.samples["steps"] = [_step_sample(row, reports[row]) for row in small + large if reports[row]]
            self.context.update(runner.campaign.context)
            self.notes += runner.campaign.notes


LISTS = ("links", "products", "collectives", "copies", "optimizers", "launches", "besides", "steps")


def _drop_what_is_anew(document, samples):
    """A part that is measured replaces what the file had of it: products and hosts of two sittings are two machines."""
    if "products" in samples:
        document.update({key: [] for key in ("products", "copies", "optimizers")})
        document.pop("launches", None)
    if "steps" in samples:
        document["steps"] = [step for step in document["steps"] if step.get("engine") != "torch"]
    links = {link["name"] for link in samples.get("links", [])}
    for key, name in (("links", "name"), ("collectives", "link"), ("besides", "link")):
        if key in document:
            document[key] = [sample for sample in document[key] if sample[name] not in links]


def _document(options, measuring, parts):
    device = measuring.device
    if options.add_to:
        document = read_json(options.add_to, "a measurements file")
        if document.get("schema") != SCHEMA or document.get("schema_version") != 1:
            raise InputError(quoted(options.add_to), f"is no measurements file of version 1: its schema is {quoted(document.get('schema'))}")
    else:
        document = opening(SCHEMA, {})
        document.update(name=options.name or f"torch-{'gpu' if device == 'cuda' else 'cpu'}", source="measured by python3 -m ddpx_torch measure")
        document.update(device=measuring.device_json, links=[], products=[], collectives=[], copies=[], optimizers=[], steps=[])
        document["priors"] = [
            {"constant": "residual", "value": 0.03, "relative_error": 0.0, "source": "a fresh process moves a step by some per cent"}
        ]
        document["notes"] = []
    _drop_what_is_anew(document, measuring.samples)
    for key in LISTS:
        if key in measuring.samples:
            document[key] = document.get(key, []) + measuring.samples[key]
    if "launches" not in document and not options.add_to:
        document["priors"].append({"constant": "kernel_gap_s", "value": 1.5e-6, "relative_error": 0.3, "source": "gaps between kernels in traces of PyTorch steps"})
    if "host" in parts:
        document["priors"] = [p for p in document.get("priors", []) if not str(p.get("constant", "")).startswith("host.torch.")]
        if measuring.ranks == 1:
            document["priors"] += [
                {"constant": f"host.torch.{constant}", "value": value, "relative_error": BORROWED_ERROR, "source": BORROWED_SOURCE}
                for constant, value in BORROWED.items()
            ]
    document["context"] = {**document.get("context", {}), **measuring.context}
    document["notes"] = document.get("notes", []) + [f"{', '.join(parts)} measured through PyTorch by ddpx_torch"] + measuring.notes
    return document


def run(options):
    check_writable(options.measurements, "-o")
    ranks = count_of("--ranks", options.ranks, 256)
    device = choose_device(options, ranks, "--ranks")
    usual = "compute" + (",link" if ranks > 1 else "") + (",host" if device == "cuda" and not options.add_to else "")
    parts = list_of("--parts", options.parts or ("host" if options.add_to else usual), PARTS)
    if "link" in parts and ranks == 1:
        raise InputError("--ranks", "is 1, and a link has two ends; --parts compute,host measures one GPU alone")
    if "host" in parts and device == "cpu":
        raise InputError("--parts", "host is for GPUs; on a CPU the host's work and the model's are one, and products and captures hold both")
    if not options.add_to and "compute" not in parts:
        raise InputError("--parts", "without compute need --add-to FILE: alone they make no machine")
    measuring = _Measuring(options, device)
    try:
        with signals_end_it():
            measuring.devices(parts)
            if "host" in parts:
                measuring.host()
    except (Interrupted, DeviceError, InputError) as error:
        error.args = (f"{error}{_kept(options, measuring, parts)}",)
        raise
    write_json(options.measurements, _document(options, measuring, parts))
    sys.stderr.write(f"ddpx_torch: wrote {options.measurements}; ddpx-calibrate --from {options.measurements} fits it\n")
    return 0


def _kept(options, measuring, parts):
    """What is complete of an interrupted measurement, written: products make a machine, links come one by one."""
    if "products" not in measuring.samples and not options.add_to:
        return "; nothing was complete, nothing is written"
    measuring.add_grids()
    document = _document(options, measuring, [part for part in parts if part != "host" or "steps" in measuring.samples])
    known = {link["name"] for link in document.get("links", [])}
    for key in ("collectives", "besides"):
        document[key] = [sample for sample in document.get(key, []) if sample["link"] in known]
    document["notes"].append("ended early: what had not been measured by then is missing")
    write_json(options.measurements, document)
    return f"; what was complete is kept in {options.measurements}"
