"""`trace`: what torch.profiler's traces of a distributed run say of communication: how long collectives run, how long compute
waits for them, and, with every rank's trace, how much of that is waiting for another rank and how much is transfer."""

import gzip
import json
import os
import statistics
import sys

from .errors import InputError, one_line, quoted
from .files import LARGEST_FILE, check_writable, write_json
from .flags import count_of
from .kernels import is_collective, spans_of, union
from .rows import DTYPES, OPTIMIZERS
from .trace_network import check_words, network_of


def add_arguments(parser):
    parser.add_argument("files", nargs="+", metavar="FILE", help="Chrome traces of torch.profiler, one of each rank, .json or .json.gz")
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    parser.add_argument("--network", metavar="FILE", help="write the model as a network file for ddpx-predict, from one GPU's trace with record_shapes=True")
    parser.add_argument("--batch", metavar="B", help="samples of a step in the trace")
    parser.add_argument("--dtype", choices=DTYPES, help="of its products (default: fp32)")
    parser.add_argument("--optimizer", choices=OPTIMIZERS, help="(default: sgd)")


def _text(path):
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rb") as file:
        text = file.read(LARGEST_FILE + 1)
    if len(text) > LARGEST_FILE:
        raise InputError(quoted(path), "is larger than 256 MiB; record fewer steps")
    return text


def read_document(path):
    """The trace's JSON. Refuses what is none."""
    try:
        document = json.loads(_text(path), strict=False)
    except (OSError, EOFError) as error:
        raise InputError(quoted(path), f"cannot be read: {one_line(error, 100)}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(quoted(path), f"is not JSON ({one_line(error, 80)}); a Chrome trace of torch.profiler is wanted") from error
    if not isinstance(document, dict) or not isinstance(document.get("traceEvents"), list):
        raise InputError(quoted(path), 'has no "traceEvents"; a Chrome trace of torch.profiler is wanted')
    return document


def read_trace(path):
    """(rank or None, world size or None, device work). Refuses what is no trace of a device."""
    document = read_document(path)
    events = document["traceEvents"]
    try:
        spans = spans_of(event for event in events if isinstance(event, dict))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(quoted(path), f"has a kernel without its time ({one_line(error, 60)})") from error
    if not spans:
        raise InputError(quoted(path), "holds no kernels: record it with ProfilerActivity.CUDA")
    info = document.get("distributedInfo")
    info = info if isinstance(info, dict) else {}
    numbers = [info.get(key) if isinstance(info.get(key), int) else None for key in ("rank", "world_size")]
    return numbers[0], numbers[1], spans


def _shares(spans):
    collectives = [span for span in spans if is_collective(span.name)]
    busy, compute = union(spans), union([span for span in spans if not is_collective(span.name)])
    return {
        "span_s": max(span.end for span in spans) - spans[0].begin,
        "busy_s": busy,
        "compute_s": compute,
        "collectives": len(collectives),
        "collectives_s": union(collectives),
        "exposed_s": max(0.0, busy - compute),
    }


def _split(ranks):
    """Waiting and transfer of every rank. The i-th collective is the same one on all ranks; it cannot move data before the last
    rank has come, so the shortest of its kernels is transfer, and what the others take longer is waiting."""
    durations = [[span.end - span.begin for span in spans if is_collective(span.name)] for spans in ranks]
    transfer = [min(column) for column in zip(*durations)]
    return [{"transfer_s": sum(transfer), "waiting_s": sum(own) - sum(transfer)} for own in durations]


def measured(paths):
    """The figures of every trace, by rank."""
    read = [(path, *read_trace(path)) for path in paths]
    worlds = {world for _, _, world, _ in read if world is not None}
    if len(worlds) > 1:
        raise InputError(quoted(paths[0]), f"and the other traces are of jobs of {', '.join(map(str, sorted(worlds)))} ranks; give one job's")
    world = worlds.pop() if worlds else len(read)
    known = [rank for _, rank, _, _ in read if rank is not None]
    if len(set(known)) < len(known):
        raise InputError(quoted(paths[-1]), "is of a rank that another trace is of too; give each rank once")
    read.sort(key=lambda entry: (entry[1] is None, entry[1]))
    for path, rank, _, spans in read:
        if world > 1 and not any(is_collective(span.name) for span in spans):
            raise InputError(
                quoted(path),
                f"is of {'a rank' if rank is None else f'rank {rank}'} of {world} and has no NCCL kernel: nothing of its communication was recorded",
            )
    figures = [{"rank": i if rank is None else rank, **_shares(spans)} for i, (_, rank, _, spans) in enumerate(read)]
    counts = {figure["collectives"] for figure in figures}
    complete = world > 1 and len(read) == world and len(counts) == 1
    if complete:
        for figure, parts in zip(figures, _split([spans for _, _, _, spans in read])):
            figure.update(parts)
    return {"ranks": world, "complete": complete, "traces": figures}


def _table(result):
    def milliseconds(value):
        return f"{value * 1e3:9.2f}" if value is not None else "        -"

    yield "rank   span ms   busy ms compute ms collective exposed ms  waiting transfer"
    for trace in result["traces"]:
        columns = ("span_s", "busy_s", "compute_s", "collectives_s", "exposed_s", "waiting_s", "transfer_s")
        yield f"{trace['rank']:4d} " + " ".join(milliseconds(trace.get(key)) for key in columns)
    if result["ranks"] > 1:
        share = statistics.median(trace["exposed_s"] / trace["span_s"] for trace in result["traces"])
        yield f"Compute waits for communication {100 * share:.1f} % of the time (median of {len(result['traces'])} of {result['ranks']} ranks)."
        if not result["complete"]:
            yield "Waiting is told from transfer when every rank's trace of the same steps is given."


def _write_network(options):
    batch = count_of("--batch", options.batch)
    check_writable(options.network, "--network")
    path = options.files[0]
    if os.path.exists(path) and os.path.exists(options.network) and os.path.samefile(path, options.network):
        raise InputError("--network", f"would write over {quoted(path)}, which is read")
    try:
        document = network_of(read_document(path), quoted(path), batch, options.dtype or "fp32", options.optimizer or "sgd", os.path.basename(path))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(quoted(path), f"has an event without its time ({one_line(error, 60)})") from error
    write_json(options.network, document)
    parameters = sum(sum(layer["parameters"]) for layer in document["layers"])
    sys.stderr.write(f"ddpx_torch: wrote {options.network}: {parameters} parameters in {len(document['layers'])} gradients\n")
    return 0


def run(options):
    check_words(options)
    if options.network:
        return _write_network(options)
    if options.json:
        check_writable(options.json, "--json")
        if any(os.path.exists(path) and os.path.exists(options.json) and os.path.samefile(path, options.json) for path in options.files):
            raise InputError("--json", f"would write over {quoted(options.json)}, which is read")
    result = measured(options.files)
    for line in _table(result):
        print(line)
    if options.json:
        write_json(options.json, result)
    return 0
