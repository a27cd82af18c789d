"""`run` started by torchrun (or anything that sets its variables): the ranks are there already, and are one process set."""

import os
import sys

from .errors import DeviceError, InputError, quoted
from .launch import RankDied
from .mates import Together
from .rank import open_device, work_through


def place():
    """(rank, local rank, world) where a launcher set them, else None."""
    names = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    if not all(name in os.environ for name in names):
        return None
    values = [os.environ.get(name, "0") for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE")]
    if not all(value.isascii() and value.isdigit() for value in values):
        raise InputError("RANK, LOCAL_RANK, WORLD_SIZE", f"are {quoted(' '.join(values))}; numbers are needed")
    return tuple(map(int, values))


def ranks_here():
    """Ranks that the launcher has started on this host, each with a GPU of its own."""
    value = os.environ.get("LOCAL_WORLD_SIZE", "1")
    if not (value.isascii() and value.isdigit() and int(value)):
        raise InputError("LOCAL_WORLD_SIZE", f"is {quoted(value)}; a number of ranks is needed")
    return int(value)


def run_as_rank(runner, rows, where):
    """Trains the rows on the ranks that are there; True on the rank that holds the reports."""
    rank, local, world = where
    most = max(row.gpus for row in rows)
    if most > world:
        raise InputError("--gpus", f"asks for {most} ranks and the launcher started {world}")
    channels = {row.strategy.channels for row in rows}
    if any(channels) and (len(channels) > 1 or os.environ.get("NCCL_MAX_CTAS") != str(max(c or 0 for c in channels))):
        raise InputError("--strategy", "channels=C needs a process set of its own; set NCCL_MAX_CTAS for it and give only its rows")
    os.environ["NCCL_NVLS_ENABLE"] = "0"
    job = runner.job(rows)
    mates = Together(rank, world, open_device(job, local))

    def say(record):
        if rank == 0:
            if "hardware" in record:
                runner.campaign.hardware(record["hardware"])
            if "done" in record:
                runner.campaign.take(rows[record["done"]], record["report"])
                sys.stderr.write(f"ddpx_torch: {record['done'] + 1} of {len(rows)} rows\n")

    try:
        work_through(job, mates, open_device(job, local), say)
    except DeviceError as error:
        raise RankDied(f"rank {rank}: {error}", None) from error
    mates.exchange(0)
    mates.close()
    return rank == 0
