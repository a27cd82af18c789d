"""What a folder of docs/results/h200x8.sh holds, and the programs that read it."""

import glob
import json
import os
import subprocess
import sys
from statistics import median  # noqa: F401

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))
from percentile import percentile  # noqa: E402, F401

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
BIN = os.environ.get("DDPX_BIN_DIR", os.path.join(ROOT, "build", "bin"))
LINKS = ("nvlink", "host-memory", "tcp")
CALIBRATED = 2
KEY = ("network", "gpus", "link", "strategy", "scaling", "dtype", "optimizer", "batch_per_rank")


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write(path, document):
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
    os.replace(path + ".part", path)


def key_of(row):
    return tuple(row[k] for k in KEY)


def files_of(folder, engine):
    return sorted(glob.glob(os.path.join(glob.escape(folder), f"{engine}-[0-9]*-[0-9]*.json")))


def command(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"h200x8/judge.py: {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def percent(value, digits=1):
    return "-" if value is None else f"{100 * value:.{digits}f} %"


class Study:
    """What is in FOLDER."""

    def __init__(self, folder):
        self.folder = folder
        raws = {os.path.basename(path)[:-5]: path for path in glob.glob(os.path.join(glob.escape(folder), "raw", "*.json"))}
        self.links = {}  # (link, count): raw file
        for name, path in sorted(raws.items()):
            link, _, count = name.rpartition("-")
            if link in LINKS and count.isdigit():
                self.links[link, int(count)] = path
        self.loads = {int(name[8:]): path for name, path in raws.items() if name.startswith("machine-")}
        self.bases = {"native": raws.get("machine-2"), "torch": raws.get("torch-2")}
        if not any(self.bases.values()):
            sys.exit(f"h200x8/judge.py: {os.path.join(folder, 'raw')}: holds no machine-2.json and no torch-2.json; h200x8.sh machine writes the one, torch-measure the other")

    def at(self, name):
        return os.path.join(self.folder, name)

    def fit(self, engine):
        """The machine of two GPUs with the links of every count, each under a name of its own: LINK-COUNTgpus."""
        more = [word for path in self.links.values() for word in ("--from", path)]
        text = command(os.path.join(BIN, "ddpx-calibrate"), "--from", self.bases[engine], *more, "-o", self.at(f"{engine}-machine.json"))
        with open(self.at(f"{engine}-fit.txt"), "w", encoding="utf-8") as file:
            file.write(text)

    def runs(self, engine):
        """Every row in one document, the processes of equal rows one after the other: a row and its one-GPU step may lie in two files."""
        documents = [read(path) for path in files_of(self.folder, engine)]
        rows = {}
        for row in (row for document in documents for row in document["rows"]):
            if key_of(row) in rows:
                rows[key_of(row)]["processes"] += row["processes"]
            else:
                rows[key_of(row)] = row
        return dict(documents[0], rows=list(rows.values())) if documents else None

    def link_of(self, engine, link, count):
        """The link's name in the machine: calibrated on `count` GPUs, or None."""
        if engine == "torch" and count == CALIBRATED:
            return link if any(l["name"] == link for l in read(self.bases["torch"])["links"]) else None
        return f"{link}-{count}gpus" if (link, count) in self.links else None

    def judged(self, engine, name, calibrated_on):
        """Validated rows, forecast from links calibrated on calibrated_on(row) GPUs; rows over links that were not are left out."""
        document = self.runs(engine)
        if not document:
            return [], 0
        rows, left_out = [], 0
        for row in document["rows"]:
            link = row["link"] if row["gpus"] == 1 else self.link_of(engine, row["link"], calibrated_on(row))
            left_out += link is None
            if link:
                rows.append(dict(row, link=link))
        if not any(row["gpus"] > 1 for row in rows):
            return [], left_out
        path = self.at(f"judged-{engine}.json")  # beside the networks that it names
        write(path, dict(document, rows=rows))
        found = json.loads(command(os.path.join(BIN, "ddpx-validate"), "--machine", self.at(f"{engine}-machine.json"), "--measured", path, "--json"))
        os.remove(path)
        write(self.at(name), found)
        return found["rows"], left_out
