"""Process sets, one after the other, each with its transport's environment; what they report gathers in a campaign."""

import contextlib
import os
import sys
import time

from .errors import one_line
from .launch import Job, RankDied, room_for
from .progress import Progress
from .runs import Campaign
from .transports import ALWAYS, Transport


class Runner:
    def __init__(self, transports, device, rows, timing, patience, threads, training=None, deadline=None, keep_going=False, records=None):
        self.transports = {t.name: t for t in transports}
        self.device, self.timing, self.patience, self.threads = device, timing, patience, threads
        self.training = {"compile": False, "ddp_options": {}, **(training or {})}  # how a Trainer wraps the model
        self.deadline, self.keep_going, self.records = deadline, keep_going, records
        self.campaign = Campaign(rows)
        self.failed = set()
        self.unreached = 0
        self.ahead = None  # (what visit of, Job) whose ranks are loading PyTorch

    def job(self, rows, mode="time"):
        return {
            "mode": mode,
            "verb": "training",
            "rows": [[i, row.to_json()] for i, row in enumerate(rows)],
            "words": {str(i): row.words() for i, row in enumerate(rows)},
            "device": self.device,
            "threads": self.threads,
            "seed": 1,
            "timing": self.timing,
            "training": self.training,
            "records": self.records,
        }

    def over(self):
        return self.deadline is not None and time.monotonic() > self.deadline

    def _new_job(self, link, channels, rows, mode):
        transport = self.transports.get(link, Transport(link))
        world = max(row.gpus for row in rows)
        return Job(self.job(rows, mode), world, transport.environment(os.environ, channels), self.patience)

    def _look_ahead(self, visit):
        """Starts the next visit's ranks, which load PyTorch meanwhile."""
        link, channels, rows, mode = visit
        rows = [row for row in rows if row not in self.failed]
        if rows and self.ahead is None and not self.over():
            job = self._new_job(link, channels, rows, mode)
            if room_for(job):
                job.start()
                self.ahead = ((link, channels, rows, mode), job)

    def _take_ahead(self, visit):
        known, self.ahead = self.ahead, None
        if known and known[0] == visit:
            return known[1]
        if known:
            known[1].end()
        return self._new_job(*visit)

    def close(self):
        if self.ahead:
            self.ahead[1].end()
            self.ahead = None

    def visits(self, visits, progress=None):
        """Every visit (link, channels, rows, mode), the next one's ranks started while one trains."""
        progress = progress or Progress(sum(len(rows) for _, _, rows, _ in visits))
        try:
            for visit, following in zip(visits, visits[1:] + [None]):
                self.visit(*visit, progress, following)
        finally:
            self.close()

    def visit(self, link, channels, rows, mode, progress, following=None):
        """Trains the rows, in one process set or, after a failure, in a fresh one from the next row on."""
        transport = self.transports.get(link, Transport(link))
        rows = [row for row in rows if row not in self.failed]
        while rows and not self.over():
            job = self._take_ahead((link, channels, rows, mode))
            if following:
                self._look_ahead(following)
            done = 0
            try:
                with contextlib.closing(job.run(lambda: progress.show(rows[min(done, len(rows) - 1)].words()))) as reports:
                    for index, report in reports:
                        if mode == "time" and self.device == "cuda" and rows[index].gpus > 1:
                            report["context"].update({**transport.switches(channels), **ALWAYS})
                        self.campaign.take(rows[index], report)
                        done = index + 1
                        progress.done += 1
                        if self.over():
                            break
                self.campaign.hardware(job.hardware)
                rows = rows[done:]
            except RankDied as failure:
                if not self.keep_going:
                    raise
                at = failure.row if failure.row is not None else done
                self.failed.add(rows[at])
                self.close()  # its rows may hold the one that failed
                self.campaign.note(f"left out {rows[at].words()}: {one_line(failure)}")
                sys.stderr.write(f"ddpx_torch: {one_line(failure)}; going on without this row\n")
                rows = rows[at + 1 :]
        self.unreached += len(rows) if mode == "time" else 0
