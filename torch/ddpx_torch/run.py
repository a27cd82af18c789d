"""`run`: trains rows for real, in fresh processes, and writes every repeat."""

import os
import random
import sys
import time
from dataclasses import replace

from .errors import DeviceError, InputError, quoted
from .files import check_writable
from .flags import count_of, list_of, seconds_of
from .join import place, ranks_here, run_as_rank
from .launch import Interrupted, signals_end_it
from .networks import parse_network
from .progress import Progress
from .rows import DTYPES, OPTIMIZERS, Row, check_row, in_random_order, rows_from_file, sweep, with_one_gpu_rows
from .runner import Runner
from .strategy import parse_strategy
from .transports import Transport, parse_transport


def add_arguments(parser):
    what = parser.add_argument_group("What is trained")
    what.add_argument("--rows", metavar="FILE", help="rows of a runs file; what was measured in them is not looked at")
    what.add_argument("--network", action="append", metavar="SPEC", help="mlp:..., gpt:..., resnet:..., module:function or a file of capture (default: mlp:width=512,depth=8); repeatable")
    what.add_argument("--sweep", metavar="KEY=A:B[:STEP]", help="the networks with KEY from A to B, doubling unless STEP says xF or +D")
    what.add_argument("--strategy", action="append", metavar="WORDS", help="as for ddpx-predict, and fsdp=block (default: ddp); repeatable")
    what.add_argument("--batch", metavar="B,...", help="samples per rank and micro-batch (default: 64)")
    what.add_argument("--gpus", metavar="N,...", help="ranks (default: 2)")
    what.add_argument("--dtype", metavar="T,...", help="fp32, tf32, bf16 or fp16; the last two by autocast (default: fp32)")
    what.add_argument("--optimizer", metavar="O,...", help="sgd or adamw (default: sgd)")
    what.add_argument("--only", metavar="LINK,...", help="of the rows, those on these links")
    what.add_argument("--no-solo", action="store_true", help="leave out the one-GPU rows that speedup is measured against")
    how = parser.add_argument_group("How")
    how.add_argument("--transport", action="append", metavar="[NAME=]KIND", help="auto, p2p, shm (host memory) or socket (TCP over loopback), then channels=C or NCCL_...=VALUE after commas; NAME is the rows' link; repeatable: rows that name no link run on each")
    how.add_argument("--link", metavar="NAME", help="the link's name for rows that name none, with the environment as it is")
    how.add_argument("--device", choices=("auto", "cuda", "cpu"), default="auto", help="(default: GPUs where PyTorch sees one)")
    how.add_argument("--processes", metavar="N", default="3", help="fresh process sets of every row (default: 3)")
    how.add_argument("--rows-per-process", metavar="N", help="rows that one process set trains (default: all of its transport)")
    how.add_argument("--seed", metavar="N", default="1", help="of the order (default: 1)")
    how.add_argument("--seconds", metavar="S", default="0.8", help="timed for each row and process set, three steps at least (default: 0.8)")
    how.add_argument("--repeats", metavar="N", default="10", help="times kept of each row and process set, each the mean of a block of steps (default: 10)")
    how.add_argument("--budget", metavar="S", help="start no row after so many seconds; rows without a time are left out and named in the notes")
    how.add_argument("--threads", metavar="N", default="1", help="of each rank on a CPU (default: 1)")
    how.add_argument("--keep-going", action="store_true", help="leave out a row on which a rank fails, with a note, and go on")
    how.add_argument("--find-unused", action="store_true", help="DistributedDataParallel(find_unused_parameters=True)")
    how.add_argument("--compile", action="store_true", help="train torch.compile(model) with its standard choices, wrapped first; PyTorch 2 or newer")
    how.add_argument("--profile", choices=("all", "solo", "none"), default="all", help="on GPUs: whose kernels are recorded, in process sets of their own: all rows', after their times are taken; one-GPU rows', before, once for all links (their busy share says what bounds a step); or none's (default: all)")
    how.add_argument("--keep-records", metavar="FOLDER", help="write the kernel records there, a file of each recorded row and rank")
    how.add_argument("--patience", metavar="S", default="300", help="ranks silent for so long have hung (default: 300)")
    out = parser.add_argument_group("Answer")
    out.add_argument("-o", "--runs", metavar="FILE", required=True, help="the runs file to write")
    out.add_argument("--name", metavar="TEXT", default="torch", help="the file's name for its rows (default: torch)")
    out.add_argument("--dry-run", action="store_true", help="print what would be run, in its order")


def _rows_asked_for(options):
    grid = [options.network, options.sweep, options.strategy, options.batch, options.gpus, options.dtype, options.optimizer]
    if options.rows:
        if any(grid):
            raise InputError("--rows", "says everything that --network, --sweep, --strategy, --batch, --gpus, --dtype and --optimizer say; give it or them")
        return rows_from_file(options.rows)
    networks = options.network or ["mlp:depth=8" if options.sweep else "mlp:width=512,depth=8"]
    for network in networks:
        parse_network(network)
    if options.sweep:
        networks = sweep(networks, options.sweep)
    return [
        check_row(Row(network, gpus, "", strategy, "weak", dtype, optimizer, batch), "--strategy")
        for network in networks
        for batch in (count_of("--batch", word) for word in (options.batch or "64").split(","))
        for gpus in (count_of("--gpus", word, 256) for word in (options.gpus or "2").split(","))
        for strategy in (parse_strategy(words) for words in options.strategy or ["ddp"])
        for dtype in list_of("--dtype", options.dtype or "fp32", DTYPES)
        for optimizer in list_of("--optimizer", options.optimizer or "sgd", OPTIMIZERS)
        if gpus > 1 or not strategy.fsdp
    ]


def transports_of(options, device):
    given = [parse_transport(text) for text in options.transport or []]
    if len({t.name for t in given}) < len(given):
        raise InputError("--transport", "names a link twice; give each NAME once")
    if options.link and given:
        raise InputError("--link", "and --transport both name the link; give one of them")
    if device == "cpu":
        for transport in given:
            if transport.kind in ("p2p", "shm") or any(name.startswith("NCCL_") for name in transport.variables):
                raise InputError("--transport", f"{quoted(transport.name)} is NCCL's; on CPUs Gloo's is socket")
    usual = options.link or ("tcp" if device == "cpu" else "auto")
    return given or [Transport(usual)]


def rows_on_links(rows, transports, solo):
    """Rows that name no link, on each transport; with the one-GPU rows."""
    placed = []
    for row in rows:
        for transport in [None] if row.link else transports:
            placed.append(row if transport is None else replace(row, link=transport.name))
    placed = list(dict.fromkeys(placed))
    return with_one_gpu_rows(placed) if solo else placed


def visits_of(rows, processes, rows_per_process, seed):
    """Process sets: (link, channels, rows in order). A set has one environment, since NCCL reads it once."""
    generator = random.Random(seed)
    for _ in range(processes):
        sets = {}
        for row in rows:
            sets.setdefault((row.link, row.strategy.channels), []).append(row)
        visits = []
        for (link, channels), members in sets.items():
            ordered = in_random_order(members, generator)
            size = rows_per_process or len(ordered)
            visits += [(link, channels, ordered[i : i + size]) for i in range(0, len(ordered), size)]
        generator.shuffle(visits)
        yield from visits


def check_compiles(flag):
    import torch

    if not hasattr(torch, "compile"):
        raise InputError(flag, f"is for PyTorch 2 or newer, and this is {torch.__version__}; leave it out")


def choose_device(options, gpus, flag="--gpus"):
    from .load import load_torch

    torch = load_torch()
    have = torch.cuda.device_count() if options.device != "cpu" else 0
    if options.device == "cuda" and not have:
        raise InputError("--device", "is cuda, and PyTorch sees no GPU here; use --device cpu")
    if not have:
        return "cpu"
    if gpus > have:
        raise InputError(flag, f"asks for {gpus} GPUs on this host and PyTorch sees {have}; --device cpu takes CPU ranks")
    return "cuda"


def _dry_run(visits):
    for link, channels, rows in visits:
        print(f"process set on {link}" + (f" with {channels} channels" if channels else ""))
        for row in rows:
            print("  " + row.words())
    print(f"{sum(len(rows) for _, _, rows in visits)} rows in {len(visits)} process sets")
    return 0


def _work_through(runner, options, visits, records):
    total = sum(len(rows) for _, _, rows in visits)
    progress = Progress(total + sum(len(rows) for _, _, rows in records))
    try:
        timed = [(*visit, "time") for visit in visits]
        recorded = [(*visit, "records") for visit in records]
        # What bounds the rows is worth more than the last of them when the budget ends the run.
        runner.visits(recorded + timed if options.profile == "solo" else timed + recorded, progress)
    finally:
        progress.clear()
    runner.campaign.note(f"order drawn from seed {options.seed}, {options.processes} fresh process sets of every row")
    if runner.unreached:
        runner.campaign.note(f"{runner.unreached} of {total} row visits were not begun within the budget of {options.budget} s")
    if not runner.campaign.measured():
        raise DeviceError("no row was measured")


def _records_folder(options, device):
    folder = options.keep_records
    if folder is None:
        return None
    if device == "cpu" or options.profile == "none":
        raise InputError("--keep-records", "needs recorded kernels: GPUs, and --profile all or solo")
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        raise InputError("--keep-records", f"{quoted(folder)} is no folder that can be written; make it first")
    return os.path.abspath(folder)


def recorded_rows(rows, which):
    if which != "solo":
        return rows if which == "all" else []
    return list({replace(row, link=""): row for row in rows if row.gpus == 1}.values())


def _kept(campaign, options):
    """What is finished, written; the end of a message."""
    if not campaign.measured():
        return "; nothing was finished, nothing is written"
    campaign.note("ended early; rows may have fewer process sets")
    campaign.write(options.runs, options.name)
    return f"; the {campaign.measured()} finished row visits are kept in {options.runs}"


def _rows_and_transports(options, device, rows):
    transports = transports_of(options, device)
    rows = rows_on_links(rows, transports, not options.no_solo)
    if options.only:
        wanted = list_of("--only", options.only, sorted({row.link for row in rows}))
        rows = [row for row in rows if row.link in wanted]
    known = {t.name for t in transports}
    other = next((row.link for row in rows if row.link not in known), None)
    if options.transport and other:
        raise InputError("--transport", f"says nothing of {quoted(other)}, the link of a row; give --transport {other}=KIND")
    return rows, transports


def run(options):
    rows = _rows_asked_for(options)
    where = place()
    if where and options.transport:
        raise InputError("--transport", "starts process sets of its own, and a launcher has started this one; set its environment and give --link")
    check_writable(options.runs, "-o")
    processes = count_of("--processes", options.processes, 1000)
    per_process = count_of("--rows-per-process", options.rows_per_process) if options.rows_per_process else None
    seed = count_of("--seed", options.seed, 10**9, 0)
    device = choose_device(options, ranks_here() if where else max(row.gpus for row in rows))
    if options.compile:
        check_compiles("--compile")
    rows, transports = _rows_and_transports(options, device, rows)
    runner = Runner(
        transports,
        device,
        rows,
        {"seconds": seconds_of("--seconds", options.seconds), "repeats": count_of("--repeats", options.repeats, 10000)},
        seconds_of("--patience", options.patience),
        count_of("--threads", options.threads, 1024),
        {"compile": options.compile, "ddp_options": {"find_unused_parameters": True} if options.find_unused else {}},
        time.monotonic() + seconds_of("--budget", options.budget) if options.budget else None,
        options.keep_going,
        _records_folder(options, device),
    )
    visits = list(visits_of(rows, processes, per_process, seed))
    if options.dry_run:
        return _dry_run(visits)
    records = list(visits_of(recorded_rows(rows, options.profile), 1, None, seed)) if device == "cuda" else []
    try:
        with signals_end_it():
            if where:
                if not run_as_rank(runner, in_random_order(rows, random.Random(seed)), where):
                    return 0
                runner.campaign.note("one process set, started by another launcher")
            else:
                _work_through(runner, options, visits, records)
    except (DeviceError, Interrupted) as error:
        error.args = (f"{error}{_kept(runner.campaign, options)}",)
        raise
    runner.campaign.write(options.runs, options.name)
    sys.stderr.write(f"ddpx_torch: {runner.campaign.measured()} row visits are in {options.runs}\n")
    return 0
