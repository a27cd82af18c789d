"""docs/results/h200x2.sh fresh and judge: what a lease measures, tried on two CPU ranks."""

import json
import os
import subprocess
import unittest

from support import ROOT, Folder, program

RESULTS = ROOT / "docs" / "results"

# Trains nothing: says how it was called and writes a process set of each row, of the first alone where it is told to be interrupted.
INTERRUPTED = """#!/usr/bin/env python3
import json, os, sys
value = lambda flag: sys.argv[sys.argv.index(flag) + 1]
rows = json.load(open(value("--rows")))
sets = int(value("--processes"))
print(len(rows["rows"]), "rows,", sets, "sets")
if os.environ.get("INTERRUPTED"):
    rows["rows"], sets = rows["rows"][:2], 1
for row in rows["rows"]:
    row["processes"] = [{"step_times_s": [0.001]}] * sets
json.dump(dict(rows, context={}), open(value("--runs"), "w"))
sys.exit(130 if os.environ.get("INTERRUPTED") else 0)
"""


class Fresh(Folder):
    def script(self, *words, **variables):
        kept = {name: value for name, value in os.environ.items() if name not in ("DRY", "LIMIT")}
        return subprocess.run([str(RESULTS / "h200x2.sh"), *words], capture_output=True, text=True, env=dict(kept, **variables), timeout=800)

    def test_what_is_asked_wrongly_is_said(self):
        folder = str(self.folder)
        for words, variables, says in (
            (["fresh", folder], {"DRY": "gpu"}, "DRY is 'gpu'"),
            (["fresh", folder], {"DRY": "cpu", "LIMIT": "soon"}, "LIMIT is 'soon'"),
            (["fresh", "docs/results/h200x2/fresh"], {"DRY": "cpu"}, "holds the study's own lease"),
            (["freesh", folder], {}, "'freesh' is unknown; accepted: measure, fresh, judge, nccl-tests"),
            (["judge"], {}, "'' is no folder"),
            (["judge", folder + "/none"], {}, "none' is no folder"),
            (["nccl-tests"], {}, "'' is no folder"),
            (["fresh", folder], {"PATH": "/usr/bin:/bin"}, "two GPUs are needed, this host has 0"),
        ):
            done = self.script(*words, **variables)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertIn(says, done.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_shaped_links_go_into_a_folder_that_is_there(self):
        done = subprocess.run([str(RESULTS / "cpu-links.sh"), str(self.folder / "none")], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn("none' is no folder", done.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_nothing_begins_without_time(self):
        done = self.script("fresh", str(self.folder), DRY="cpu", LIMIT="10")
        self.assertEqual(done.returncode, 75, done.stderr)
        self.assertIn("not complete", done.stdout)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["few-rows.json", "rest.json"])

    def test_rows_that_were_interrupted_are_gone_on_with(self):
        for name in ("0-machine", "1-host-memory", "5-tcp"):
            self.write(f"measurements-{name}.json", {})
        programs = self.folder / "programs"
        programs.mkdir()
        (programs / "ddpx-validate").write_text(INTERRUPTED)
        (programs / "ddpx-validate").chmod(0o755)

        def called(**variables):
            done = self.script("fresh", str(self.folder), DRY="cpu", DDPX_BIN_DIR=str(programs), **variables)
            return done, self.read("runs.json")["rows"]

        done, rows = called(INTERRUPTED="1")
        self.assertEqual(done.returncode, 130, done.stderr)
        self.assertIn("not complete", done.stdout)
        self.assertEqual([len(row["processes"]) for row in rows], [1, 1])
        # Of three rows the first two have one set of three; the last has none, and needs all.
        done, rows = called()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([len(row["processes"]) for row in rows], [4, 4, 3])
        # What the last row lacks is measured, and no other.
        self.write("runs.json", dict(self.read("runs.json"), rows=rows[:2] + [dict(rows[2], processes=rows[2]["processes"][:1])]))
        done, rows = called()
        self.assertEqual([len(row["processes"]) for row in rows], [4, 4, 4])
        done, rows = called()
        self.assertEqual(done.stdout, "complete\n")
        self.assertEqual((self.folder / "log.txt").read_text().splitlines(), ["3 rows, 3 sets", "3 rows, 3 sets", "1 rows, 3 sets"])

    def test_a_lease_is_measured_goes_on_and_is_judged(self):
        if not program("ddpx-validate"):
            self.skipTest("the programs are not built")
        folder = str(self.folder)
        done = self.script("fresh", folder, DRY="cpu", LIMIT="300")
        self.assertEqual(done.returncode, 0, done.stdout + (self.folder / "stderr.txt").read_text()[-2000:])
        self.assertIn("complete", done.stdout)
        made = {path.name for path in self.folder.glob("measurements-*.json")}
        self.assertEqual(made, {"measurements-0-machine.json", "measurements-1-host-memory.json", "measurements-5-tcp.json"})
        rows = self.read("runs.json")["rows"]
        self.assertEqual({row["link"] for row in rows if row["gpus"] == 2}, {"nvlink", "host-memory", "tcp"})
        self.assertTrue(all(len(row["processes"]) == 3 for row in rows))
        # What is missing is made again, and nothing else.
        (self.folder / "measurements-5-tcp.json").unlink()
        done = self.script("fresh", folder, DRY="cpu", LIMIT="300")
        self.assertEqual(done.stdout.count(".json: "), 1, done.stdout)
        self.assertIn("measurements-5-tcp.json", done.stdout)
        # What was measured by the end of the time is judged.
        for row in rows[1:]:
            del row["processes"][1:]
        self.write("runs.json", dict(self.read("runs.json"), rows=rows))
        done = self.script("judge", folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("all", done.stdout)
        for name in ("fit.txt", "report.md", "report.txt"):
            self.assertTrue((self.folder / name).stat().st_size > 0, name)


if __name__ == "__main__":
    unittest.main()
