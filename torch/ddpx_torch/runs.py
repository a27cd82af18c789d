"""Measured steps, gathered as they come and written as a *runs* file (docs/files.md)."""

import os
import statistics
from dataclasses import replace

from .errors import InputError, one_line, quoted
from .files import opening, read_json, write_json
from .rows import row_of

SCHEMA = "ddpx.runs"
SHARES = ("device_busy_share", "communication_share")


def network_name(network, path):
    """A network file is named from the folder of the runs file at `path`, where ddpx-validate looks for it."""
    if not network.endswith(".json"):
        return network
    return os.path.relpath(network, os.path.dirname(os.path.abspath(path)))


class Campaign:
    """Every report of every process set, by row."""

    def __init__(self, rows):
        self.rows = list(rows)
        self.reports = {row: [] for row in self.rows}
        self.records = {}
        self.context = {}
        self.notes = []

    def take(self, row, report):
        if "step_times_s" in report:
            self.reports[row].append(report)
        else:
            self.records[row] = report

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def hardware(self, context):
        for key, value in context.items():
            if key.startswith(("NCCL_", "GLOO_")):
                continue  # differs by transport; in the rows
            self.context.setdefault(key, value)

    def measured(self):
        return sum(len(reports) for reports in self.reports.values())

    def _record(self, row):
        """A step on one GPU is the same on every link."""
        alike = [row] if row.gpus > 1 else [row] + [other for other in self.records if replace(other, link=row.link) == row]
        return next((self.records[other] for other in alike if other in self.records), {})

    def _row(self, row, path):
        reports = self.reports[row]
        members = row.to_json()
        members["network"] = network_name(row.network, path)
        members["engine"] = "torch"
        members["processes"] = [{"step_times_s": report["step_times_s"]} for report in reports]
        step = statistics.median(statistics.median(report["step_times_s"]) for report in reports)
        record = self._record(row)
        for key, seconds in zip(SHARES, ("busy_s", "waiting_s")):
            if seconds in record:
                members[key] = min(1.0, record[seconds] / step)
        context = {}
        for report in reports:
            for key, value in report["context"].items():
                known = context.setdefault(key, value)
                if known != value and value not in known.split("; "):
                    context[key] = f"{known}; {value}"
        if context:
            members["context"] = context
        return members

    def write(self, path, name):
        document = opening(SCHEMA, self.context)
        document["name"] = name
        document["source"] = "measured by python3 -m ddpx_torch run"
        document["rows"] = [self._row(row, path) for row in self.rows if self.reports[row]]
        document["notes"] = self.notes
        write_json(path, document)


def _rows_of(path, document):
    place = one_line(path, 200)
    if document.get("schema") != SCHEMA or document.get("schema_version") != 1:
        raise InputError(place, f"is no runs file of version 1: its schema is {quoted(document.get('schema'))}")
    rows = document.get("rows")
    if not isinstance(rows, list) or not rows:
        raise InputError(place, "has no rows")
    for i, members in enumerate(rows):
        at = f"{place}: rows[{i}]"
        row = row_of(members, at, os.path.dirname(os.path.abspath(path)))
        if members.get("engine") != "torch":
            raise InputError(at, f"is of the engine {quoted(members.get('engine'))}; runs of torch are merged")
        processes = members.get("processes")
        if not isinstance(processes, list) or not processes:
            raise InputError(at, 'has no "processes": it is not measured')
        yield row, members


def merged(paths, target):
    """One file of several; files of different machines or versions are not merged."""
    by_row, notes, context, first = {}, [], {}, None
    for path in paths:
        document = read_json(path, "a runs file")
        first = first or document
        for row, members in _rows_of(path, document):
            by_row.setdefault(row, []).append(members)
        for key, value in (document.get("context") or {}).items():
            if context.setdefault(key, value) != value:
                raise InputError(
                    one_line(path, 200), f"has another {key} ({quoted(value)}) than the files before ({quoted(context[key])})"
                )
        notes += [note for note in document.get("notes") or [] if note not in notes]
    rows = []
    for row, parts in by_row.items():
        members = dict(parts[0], network=network_name(row.network, target))
        members["processes"] = [process for part in parts for process in part["processes"]]
        for key in SHARES:
            values = [part[key] for part in parts if key in part]
            if values:
                members[key] = statistics.median(values)
        rows.append(members)
    document = opening(SCHEMA, context)
    document.update(name=first.get("name", "torch"), source=first.get("source", ""), rows=rows, notes=notes)
    return document
