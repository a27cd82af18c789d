"""Starts the ranks of a job on this host and watches them: a rank that dies, refuses or hangs ends the job, is named,
and takes no other process or file with it into the future."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from .errors import DeviceError, InputError, one_line

LOOK = 0.05  # seconds between two looks at the ranks
GRACE = 2.0  # seconds a rank has to go by itself
GO = "go"  # ranks begin when their folder holds a file of this name


class RankDied(DeviceError):
    """Names the rank; `row` is the row it was training, where it had come so far."""

    def __init__(self, text, row):
        super().__init__(text)
        self.row = row


class Interrupted(Exception):
    """SIGINT, SIGTERM or SIGHUP came. Exit code 130."""


@contextlib.contextmanager
def signals_end_it():
    def note(number, _frame):
        for other in before:  # one is enough: what follows must not be torn out of cleaning up
            signal.signal(other, signal.SIG_IGN)
        raise Interrupted(signal.Signals(number).name)

    before = {s: signal.signal(s, note) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Rank:
    def __init__(self, number, folder, world, environment):
        self.number = number
        self.position = 0
        self.rest = ""
        self.path = os.path.join(folder, f"rank{number}")
        self.talk = os.path.join(folder, f"talk{number}")
        self.row = None
        self.finished = False
        self.said = None  # how it ended, in its own words
        package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        path = environment.get("PYTHONPATH")
        variables = dict(environment, PYTHONPATH=package + (os.pathsep + path if path else ""))
        command = [sys.executable, "-m", "ddpx_torch.rank", folder, str(number), str(world)]
        with open(self.talk, "wb") as talk:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=talk, stderr=subprocess.STDOUT, env=variables, preexec_fn=os.setpgrp
            )

    def records(self):
        """What it said since the last look."""
        try:
            with open(self.path, encoding="utf-8") as file:
                file.seek(self.position)
                text = file.read()
                self.position = file.tell()
        except OSError:
            return []
        *lines, self.rest = (self.rest + text).split("\n")
        return [json.loads(line) for line in lines if line]

    def last_words(self):
        with open(self.talk, encoding="utf-8", errors="replace") as file:
            file.seek(max(0, os.path.getsize(self.talk) - 20000))
            lines = [line.strip() for line in file if line.strip()]
        return one_line(lines[-1], 200) if lines else "it said nothing"


def _end(ranks):
    """Ends the ranks that still run, each a process group of its own with what it started. A session of its own would be scheduled
    apart from the user's, at another priority than the user gave this one."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for rank in ranks:
            if rank.process.poll() is None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(rank.process.pid, number)
        until = time.monotonic() + GRACE
        while time.monotonic() < until and any(rank.process.poll() is None for rank in ranks):
            time.sleep(LOOK)
    for rank in ranks:
        rank.process.wait()


def _words(job, row):
    return f"{job['verb']} {job['words'][str(row)]}" if row is not None else "starting"


class Job:
    """One set of ranks. `run` yields each row's report as soon as it is there. `start` lets the ranks load PyTorch and wait for
    `run` without touching a device: the next job's, while the present one trains."""

    def __init__(self, job, world, environment, patience):
        self.job, self.world, self.environment, self.patience = job, world, environment, patience
        self.hardware = {}
        self.row = None  # being trained
        self.folder = None
        self.ranks = []

    def _failure(self, ranks):
        """What ended the job, if something did. A rank that dies makes the others fail, and they say so: the one that was
        killed counts before one that ended without a word, and both before one that complains."""
        codes = {rank: rank.process.poll() for rank in ranks}
        killed = [rank for rank in ranks if (codes[rank] or 0) < 0]
        silent = [rank for rank in ranks if codes[rank] is not None and not rank.finished and not rank.said]
        for rank in killed + silent:
            code = codes[rank]
            how = f"ended by signal {-code} ({signal.Signals(-code).name})" if code < 0 else f"ended with exit code {code}"
            more = "; the system may have run out of memory" if code == -signal.SIGKILL else ""
            doing = _words(self.job, self.row)
            return RankDied(f"rank {rank.number} {how} while {doing}{more}; last words: {rank.last_words()}", self.row)
        for wanted in ("refused", "failed"):
            for rank in ranks:
                if rank.said and rank.said[0] == wanted:
                    text = rank.said[1]
                    if wanted == "refused":
                        return InputError(*text.split(": ", 1))
                    return RankDied(f"rank {rank.number}: {text}", self.row)
        return None

    def _take(self, rank, record):
        if "hardware" in record:
            if rank.number == 0:
                self.hardware = record["hardware"]
        elif "row" in record:
            self.row = record["row"]
        elif "finished" in record:
            rank.finished = True
        for kind in ("refused", "failed"):
            if kind in record:
                rank.said = (kind, record[kind])
        return (record["done"], record["report"]) if rank.number == 0 and "done" in record else None

    def start(self):
        if self.folder is not None:
            return
        root = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix="ddpx-torch-", dir=root)
        with open(os.path.join(self.folder, "job.json"), "w", encoding="utf-8") as file:
            json.dump(self.job, file)
        for number in range(self.world):
            self.ranks.append(_Rank(number, self.folder, self.world, self.environment))

    def end(self):
        if self.folder is not None:
            _end(self.ranks)
            shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, every=lambda: None):
        try:
            self.start()
            with open(os.path.join(self.folder, GO), "wb"):
                pass
            yield from self._reports(self.ranks, every)
        finally:
            self.end()

    def _reports(self, ranks, every):
        heard = time.monotonic()
        while not all(rank.finished and rank.process.poll() is not None for rank in ranks):
            for rank in ranks:
                for record in rank.records():
                    heard = time.monotonic()
                    report = self._take(rank, record)
                    if report:
                        yield report
            every()
            if self._failure(ranks):
                time.sleep(4 * LOOK)  # for what it, or the rank that made it fail, has still to say
                for rank in ranks:
                    for record in rank.records():
                        self._take(rank, record)
                raise self._failure(ranks) or DeviceError("a rank ended and came back")
            if time.monotonic() - heard > self.patience:
                states = ", ".join(f"rank {rank.number} {'runs' if rank.process.poll() is None else 'is gone'}" for rank in ranks)
                raise RankDied(
                    f"no rank has said anything for {self.patience:.0f} s while {_words(self.job, self.row)} ({states}); last "
                    f"words: {ranks[0].last_words()}",
                    self.row,
                )
            time.sleep(LOOK)


def in_turn(jobs):
    """The jobs one after the other, each with the next one's ranks started."""
    jobs = list(jobs)
    try:
        for job, following in zip(jobs, jobs[1:] + [None]):
            if following is not None and room_for(following):
                following.start()
            yield job
    finally:
        for job in jobs:
            job.end()


def room_for(job):
    """Whether ranks that load PyTorch disturb those that train: on a CPU they would share its cores."""
    return job.job["device"] == "cuda" and (os.cpu_count() or 1) >= 4 * job.world
