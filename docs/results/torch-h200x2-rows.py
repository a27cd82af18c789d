#!/usr/bin/env python3
"""The rows of docs/results/torch-h200x2.sh, written down before their first run.

    torch-h200x2-rows.py KIND [FOLDER] > rows.json

The captured networks are those of FOLDER, where the file belongs.

rows              what is judged: 230 rows of two GPUs on four links, and the one-GPU rows of two of these
again             of those, the ones that move most from one fresh process to the next: bound by the host, or over TCP
sitting           of these, rows that the host bounds and FSDP by block, with their one-GPU rows
captured          DistributedDataParallel of the networks captured in FOLDER
captured-more     their accumulation, fp16 hook and FSDP
channels          channel counts on NVLink, of an MLP and a captured GPT
hook              with and without the fp16 hook, to be recorded kernel by kernel
fsdp              FSDP by block, to be recorded kernel by kernel
host              the steps that the host's constants are fitted on (ddpx_torch measure), as rows of their own
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "torch"))
from ddpx_torch.measure import host_rows  # noqa: E402

GPU_LINKS = ("nvlink", "host-memory", "one-channel")
ADAMW, BF16, BF16_ADAMW = {"optimizer": "adamw"}, {"dtype": "bf16"}, {"dtype": "bf16", "optimizer": "adamw"}
# network, batch, strategies; (strategy, other members) where a row is not fp32 and SGD
BOUND_BY_GPU = (
    ("mlp:width=2048,depth=10", 4096, ("ddp", "ddp,bucket=5MiB", "ddp,accumulate=4", "ddp,compress=fp16")),
    ("mlp:width=3072,depth=8", 1024, ("ddp", "ddp,bucket=5MiB", "ddp,accumulate=4", "ddp,compress=fp16", "fsdp=unit")),
    ("mlp:width=4096,depth=8", 512, ("ddp", "ddp,bucket=100MiB", "ddp,bucket-view", "fsdp=block", ("ddp", ADAMW))),
    ("mlp:width=6144,depth=8", 256, ("ddp", "ddp,bucket=5MiB", "ddp,accumulate=4", "ddp,compress=fp16", "fsdp=unit")),
    ("mlp:width=6144,depth=4", 1024, ("ddp", "ddp,bucket=100MiB", "ddp,bucket-view", "fsdp=block")),
    ("mlp:width=5120,depth=12", 512, ("ddp", "ddp,bucket=5MiB", "ddp,accumulate=4", "ddp,compress=fp16", "fsdp=block")),
    ("mlp:width=10240,depth=4", 256, ("ddp", "ddp,bucket=100MiB", "ddp,accumulate=4", "fsdp=unit")),
    ("mlp:width=8192,depth=5", 512, ("ddp", "ddp,bucket-view", "ddp,compress=fp16", ("ddp", ADAMW))),
    ("mlp:width=16384,depth=3", 256, ("ddp", "ddp,accumulate=4")),
    ("mlp:width=6144,depth=8", 4096, (("ddp", BF16), ("ddp,accumulate=4", BF16), ("fsdp=block", BF16), ("ddp", BF16_ADAMW))),
)
BOUND_BY_HOST = (
    ("mlp:width=256,depth=16", 64, ("ddp", "ddp,accumulate=4", "fsdp=block")),
    ("mlp:width=384,depth=8", 64, ("ddp", "ddp,bucket=1MiB", "ddp,accumulate=4", "ddp,compress=fp16")),
    ("mlp:width=768,depth=16", 128, ("ddp", "ddp,bucket=1MiB", "ddp,compress=fp16", ("ddp", ADAMW))),
    ("mlp:width=1536,depth=8", 64, ("ddp", "ddp,bucket=1MiB", "ddp,accumulate=4")),
)
OVER_TCP = (
    ("mlp:width=256,depth=16", 64, ("ddp", "ddp,accumulate=16")),
    ("mlp:width=384,depth=8", 64, ("ddp", "ddp,accumulate=4", "ddp,compress=fp16")),
    ("mlp:width=768,depth=8", 256, ("ddp", "ddp,bucket=5MiB", "ddp,accumulate=4", "ddp,compress=fp16", "fsdp=unit")),
    ("mlp:width=1536,depth=8", 1024, ("ddp", "ddp,bucket-view", "ddp,accumulate=4", "ddp,accumulate=16", "ddp,compress=fp16")),
    ("mlp:width=1536,depth=8", 4096, (("ddp", BF16), ("ddp,accumulate=4", BF16))),
    ("mlp:width=1792,depth=8", 2048, ("ddp", "ddp,bucket=5MiB", "ddp,accumulate=4", "ddp,accumulate=16", "ddp,compress=fp16", "fsdp=unit")),
    ("mlp:width=2048,depth=4", 4096, (("ddp", ADAMW), ("ddp,accumulate=4", ADAMW))),
    ("mlp:width=2560,depth=4", 4096, ("ddp", "ddp,bucket-view", "ddp,accumulate=4", "ddp,compress=fp16", "fsdp=block")),
    ("mlp:width=3072,depth=8", 2048, ("ddp", "ddp,bucket=5MiB", "ddp,accumulate=4", "ddp,compress=fp16")),
)
# One batch and depth at several widths: where sharing begins or ceases to pay.
SWEPT = tuple((f"mlp:width={width},depth=9", 256, ("ddp",)) for width in (512, 768, 1024, 1536, 2048, 3072, 4096))
GPTS = (("gpt-50m", 16), ("gpt-162m", 16), ("gpt-405m", 8), ("gpt-656m", 8))
CAPTURED = (*GPTS, ("resnet-50", 128))
SMALL = ("gpt-50m", "gpt-162m", "resnet-50")
CHANNEL_LINKS = ("nvlink-2ch", "nvlink-4ch", "nvlink-8ch", "nvlink-16ch", "nvlink")  # NCCL takes 24 of NVLink 4 by itself


def row(network, batch, strategy, link, gpus=2, **other):
    members = {"network": network, "gpus": gpus, "link": link, "strategy": strategy, "scaling": "weak"}
    return {**members, "dtype": "fp32", "optimizer": "sgd", "batch_per_rank": batch, **other}


def rows_of(table, link):
    for network, batch, strategies in table:
        for strategy in strategies:
            words, other = (strategy, {}) if isinstance(strategy, str) else strategy
            yield row(network, batch, words, link, **other)


def with_one_gpu_rows(rows, links):
    """The one-GPU step is the same on every link, so that two links have it, not all."""
    alone = [{**r, "gpus": 1, "strategy": "ddp"} for r in rows if r["link"] in links]
    return rows + [r for i, r in enumerate(alone) if r not in alone[:i]]


def judged():
    rows = [r for link in GPU_LINKS for r in rows_of(BOUND_BY_GPU + BOUND_BY_HOST + SWEPT, link)]
    return with_one_gpu_rows(rows + list(rows_of(OVER_TCP + SWEPT, "tcp")), ("nvlink", "tcp"))


def again():
    host = {(network, batch) for network, batch, _ in BOUND_BY_HOST + SWEPT[:4]}
    return [r for r in judged() if r["link"] == "tcp" or (r["network"], r["batch_per_rank"]) in host]


def sitting():
    host = {(network, batch) for network, batch, _ in BOUND_BY_HOST + SWEPT[:4]}
    rows = [r for r in judged() if r["gpus"] == 2]
    return with_one_gpu_rows([r for r in rows if (r["network"], r["batch_per_rank"]) in host or r["strategy"] == "fsdp=block"], ("nvlink",))


def captured_row(name, batch, strategy, link, **other):
    return row(f"{name}.json", batch, strategy, link, **{**BF16_ADAMW, **other})


def captured():
    rows = [captured_row(name, batch, "ddp", link) for link in ("nvlink", "host-memory") for name, batch in CAPTURED]
    rows += [captured_row(name, batch, "ddp", link) for link in ("one-channel", "tcp") for name, batch in CAPTURED if name in SMALL]
    return with_one_gpu_rows(rows, ("nvlink",))


def captured_more():
    rows = []
    for link in ("nvlink", "host-memory"):
        for name, batch in CAPTURED:
            if name in SMALL:
                rows += [captured_row(name, batch, words, link) for words in ("ddp,accumulate=4", "ddp,compress=fp16")]
            rows.append(captured_row(name, batch, "fsdp=block", link))
    return rows


def channels():
    rows = [row("mlp:width=4096,depth=8", 512, "ddp", link) for link in CHANNEL_LINKS]
    rows += [captured_row("gpt-162m", 16, "ddp", link) for link in CHANNEL_LINKS]
    return with_one_gpu_rows(rows, ("nvlink",))


def hook():
    networks = (("mlp:width=6144,depth=8", 256, ("nvlink", "host-memory")), ("mlp:width=3072,depth=8", 1024, ("nvlink",)))
    rows = [row(network, batch, words, link) for network, batch, links in networks for link in links for words in ("ddp", "ddp,compress=fp16", "no-sync")]
    rows += [captured_row("gpt-50m", 16, words, "nvlink") for words in ("ddp", "ddp,compress=fp16", "no-sync")]
    return with_one_gpu_rows(rows, ("nvlink",))


def fsdp():
    rows = []
    for link in ("nvlink", "host-memory"):
        rows += [row(network, batch, "fsdp=block", link) for network, batch in (("mlp:width=4096,depth=8", 512), ("mlp:width=6144,depth=4", 1024))]
        rows += [captured_row(name, batch, "fsdp=block", link) for name, batch in CAPTURED if name in SMALL]
    return rows


def host():
    return [each.to_json() for each in host_rows("nvlink")]


def main():
    kind, folder = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "."
    makers = {"rows": judged, "again": again, "sitting": sitting, "captured": captured, "captured-more": captured_more, "channels": channels, "hook": hook, "fsdp": fsdp, "host": host}
    rows = makers[kind]()
    missing = {r["network"] for r in rows if r["network"].endswith(".json") and not os.path.exists(os.path.join(folder, r["network"]))}
    for name in sorted(missing):
        sys.stderr.write(f"{name} is not in {folder}: its rows are left out\n")
    rows = [r for r in rows if r["network"] not in missing]
    opening = {"schema": "ddpx.runs", "schema_version": 1, "context": {}, "name": "torch-h200x2"}
    source = "rows to run, written down before the first run; no step of two GPUs among them was fitted on"
    print(json.dumps({**opening, "source": source, "rows": rows, "notes": []}, indent=1))


main()
