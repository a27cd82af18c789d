"""docs/results/h200x8: the study of 4 and 8 GPUs, tried on CPU ranks and on files whose answer is known."""

import json
import os
import subprocess
import sys
import unittest

from support import ROOT, Folder, program

RESULTS = ROOT / "docs" / "results"
sys.path.append(str(RESULTS / "h200x8"))
from errors import through_two  # noqa: E402

SIGMA, KAPPA = 0.05, 0.01


def usl(gpus):
    """Gunther's law, exactly (model/amdahl.hpp)."""
    return gpus / (1 + SIGMA * (gpus - 1) + KAPPA * gpus * (gpus - 1))


class Eight(Folder):
    def script(self, *words, **variables):
        kept = {name: value for name, value in os.environ.items() if name not in ("GPUS", "DRY", "LIMIT")}
        done = subprocess.run([str(RESULTS / "h200x8.sh"), *words], capture_output=True, text=True, env=dict(kept, DDPX_PYTHON="/usr/bin/python3", **variables), timeout=600)
        self.assertLess(len(done.stdout), 10000)
        return done

    def rows(self, *words):
        done = subprocess.run(["/usr/bin/python3", str(RESULTS / "h200x8/rows.py"), *words, str(self.folder)], capture_output=True, text=True, check=True)
        return (json.loads(done.stdout)["rows"] if done.stdout else []), done.stderr

    def runs(self, name, rows):
        self.write(name, {"schema": "ddpx.runs", "schema_version": 1, "context": {"NCCL_NVLS_ENABLE": "0"}, "name": "made up", "source": "a test", "rows": rows, "notes": []})

    def test_rows_that_have_a_time_are_not_trained_again(self):
        rows, said = self.rows("torch", "4", "whole")
        listed = [row for row in json.loads((RESULTS / "h200x8/torch-rows.json").read_text())["rows"]]
        files = [row for row in listed if row["network"].endswith(".json")]
        self.assertEqual([row for row in rows if row["gpus"] > 1], [dict(row, gpus=4) for row in listed if row not in files])
        self.assertIn("gpt-656m.json was not measured", said)
        alone = [row for row in rows if row["gpus"] == 1]
        self.assertEqual(len(alone), len({(row["network"], row["batch_per_rank"]) for row in rows}))
        self.runs("torch-8-1.json", [dict(row, processes=[{"step_times_s": [1.0]}]) for row in alone])
        self.runs("torch-4-1.json", [dict(rows[0], processes=[{"step_times_s": [1.0]}])])
        self.assertEqual(self.rows("torch", "4", "whole")[0], rows[1 : len(rows) - len(alone)])
        self.runs("torch-4-2.json", [dict(row, processes=[{"step_times_s": [1.0]}]) for row in rows[1:]])
        self.assertEqual(self.rows("torch", "4", "whole")[0], [])

    def test_native_rows_wait_for_their_links(self):
        rows, said = self.rows("native", "8", "whole")
        self.assertEqual(rows, [])
        self.assertIn("tcp was not measured", said)
        (self.folder / "links").mkdir()
        self.write("links/nvlink-2.json", {})
        rows, _ = self.rows("native", "8", "whole")
        self.assertEqual({row["link"] for row in rows}, {"nvlink"})
        self.assertEqual({row["gpus"] for row in rows}, {8})

    def test_what_is_asked_wrongly_is_said(self):
        folder = str(self.folder)
        for words, variables, says in (
            (["jugde", folder], {"DRY": "cpu"}, "no part 'jugde'"),
            (["all", folder], {"DRY": "gpu"}, "DRY is 'gpu'"),
            (["all", folder], {"GPUS": "3"}, "GPUS is '3'"),
            (["all", folder], {"DRY": "cpu", "LIMIT": "1e9"}, "LIMIT is '1e9'"),
            (["all"], {"DRY": "cpu"}, "a try is no result"),
            (["all"], {"GPUS": "2"}, "a try is no result"),
        ):
            done = self.script(*words, **variables)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertIn(says, done.stderr)
        self.assertIn("holds no machine-2.json", self.script("judge", folder).stderr)

    def test_nothing_begins_without_time(self):
        done = self.script("all", str(self.folder), DRY="cpu", LIMIT="20")
        self.assertEqual(done.returncode, 75, done.stderr)
        self.assertIn("not complete", done.stdout)
        self.assertEqual(list((self.folder / "raw").iterdir()), [])

    def test_amdahl_through_two(self):
        row = {"network": "mlp", "link": "nvlink", "strategy": "ddp", "scaling": "weak", "dtype": "fp32", "optimizer": "sgd", "batch_per_rank": 64}
        rows = [dict(row, gpus=2, measured_speedup=1.6), dict(row, gpus=8, measured_speedup=3.2), dict(row, gpus=8, batch_per_rank=1, measured_speedup=3.2)]
        # p = 0.75: 1 / (0.25 + 0.75 / 8) = 2.909 on eight.
        (found,) = through_two(rows)
        self.assertIs(found[0], rows[1])
        self.assertAlmostEqual(found[1], 3.2 * (0.25 + 0.75 / 8) - 1)

    def made_up_links(self):
        """Two H200's NVLink as that of two and, to the same times, as that of eight."""
        document = json.loads((ROOT / "calibration/measurements/h200x2-nvlink-second.json").read_text())
        for count in (2, 8):
            text = json.dumps(document).replace('"nvlink"', f'"nvlink-{count}gpus"').replace(f'"topology": "nvlink-{count}gpus"', '"topology": "nvlink"')
            copy = json.loads(text)
            for sample in copy["collectives"]:
                sample["ranks"] = count
            for pair in copy["besides"]:
                pair["call"]["ranks"] = count
            self.write(f"raw/nvlink-{count}.json", copy)
            words = [str(program("ddpx-calibrate")), "--from", str(self.folder / f"raw/nvlink-{count}.json"), "-o", str(self.folder / f"links/nvlink-{count}.json")]
            subprocess.run(words, check=True, capture_output=True)

    def test_known_files_are_judged(self):
        if not program("ddpx-predict"):
            self.skipTest("the programs are not built")
        for name in ("raw", "links"):
            (self.folder / name).mkdir()
        machine = json.loads((ROOT / "calibration/measurements/h200x2.json").read_text())
        product = {"pass": "forward", "dtype": "fp32", "rows": 4096, "in": 8192, "out": 8192}
        ranks = [{"times_s": [1e-3 * slow] * 3} for slow in (1, 1, 1, 1.04)]
        machine["loads"] = [{"product": product, "clocks": "burst", "ranks": ranks}]
        self.write("raw/machine-2.json", machine)
        self.made_up_links()
        row = {"network": "mlp:width=4096,depth=8", "link": "nvlink", "strategy": "ddp", "scaling": "weak", "dtype": "fp32", "optimizer": "sgd", "batch_per_rank": 256, "engine": "native"}
        timed = lambda gpus, seconds: dict(row, gpus=gpus, processes=[{"step_times_s": [seconds]}])
        # Of eight in one file, its one-GPU step and the other counts in another.
        self.runs("native-8-1.json", [timed(8, 0.006 * 8 / usl(8))])
        self.runs("native-2-1.json", [timed(1, 0.006)] + [timed(gpus, 0.006 * gpus / usl(gpus)) for gpus in (2, 4)])
        done = self.script("judge", str(self.folder))
        self.assertEqual(done.returncode, 0, done.stderr)
        carried = {row["gpus"]: row for row in self.read("native-carried.json")["rows"]}
        self.assertEqual(set(carried), {2, 4, 8})
        self.assertAlmostEqual(carried[8]["measured_speedup"], usl(8))
        for gpus in carried:
            self.assertAlmostEqual(carried[gpus]["baseline_errors"]["B6"], 0)
        # Of the links measured at their own count there are those of two and eight.
        self.assertEqual([row["link"] for row in self.read("native-right-count.json")["rows"]], ["nvlink-2gpus", "nvlink-8gpus"])
        summary = (self.folder / "summary.md").read_text()
        self.assertIn("1 rows have no link calibrated at their count.", summary)
        self.assertIn(f"| 8 | {100 * abs(carried[8]['error']):.1f} % |", summary)
        self.assertRegex(summary, r"\| nvlink-8gpus \| \d+ \| \d+ \|")  # pairs of product and collective
        self.assertRegex(summary, r"\| nvlink \| 8 \| 32 \|")
        self.assertIn("| 2 | burst | 1.000 | 1.010 | 1.040 | 2.97% | 1.98% |", summary)

    def test_all_of_the_native_study_runs_on_cpu_ranks(self):
        if not program("ddpx_cpu.so"):
            self.skipTest("there are no CPU ranks: built without MPI")
        words = ("machine", "links", "native", "counts", str(self.folder))
        done = self.script(*words, DRY="cpu")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        made = {path: path.stat().st_mtime_ns for path in self.folder.rglob("*-[24]*.json")}
        self.assertEqual(len(made), 6 + 4 + 2 + 2)  # raw, links, machines, runs
        self.assertEqual(self.script(*words, DRY="cpu").returncode, 0)
        self.assertEqual({path: path.stat().st_mtime_ns for path in made}, made)
        self.assertEqual(self.script("judge", str(self.folder)).returncode, 0)
        summary = (self.folder / "summary.md").read_text()
        for words in ("| 4 GPUs, all | 2 |", "| 2 GPUs, all | 2 |", "| B4 | 2 |", "| tcp | 4 | 32 |"):
            self.assertIn(words, summary)

    def test_all_of_the_study_of_pytorch_runs_on_cpu_ranks(self):
        done = self.script("torch-measure", "capture", "torch", str(self.folder), DRY="cpu")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        counted = {count: [(row["network"], row["gpus"]) for row in self.read(f"torch-{count}-1.json")["rows"]] for count in (4, 2)}
        # The one-GPU steps are trained once, beside the larger count.
        self.assertEqual({gpus for _, gpus in counted[4]}, {1, 4})
        self.assertEqual({gpus for _, gpus in counted[2]}, {2})
        self.assertIn(("gpt-162m.json", 2), counted[2])
        if program("ddpx-validate"):
            self.assertEqual(self.script("judge", str(self.folder)).returncode, 0)
            self.assertRegex((self.folder / "summary.md").read_text(), r"\| 2 GPUs, all \| 3 \|")


if __name__ == "__main__":
    unittest.main()
