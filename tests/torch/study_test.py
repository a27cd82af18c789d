"""docs/results/torch-h200x2*: the study's scripts, on files that are shipped: what runs on two GPUs once must not fail on a slip."""

import json
import os
import shutil
import subprocess
import sys
import unittest

from support import ROOT, Folder, program

RESULTS = ROOT / "docs" / "results"


class Study(Folder):
    def script(self, *words, **variables):
        return subprocess.run([str(RESULTS / "torch-h200x2.sh"), *words], capture_output=True, text=True, env=dict(os.environ, DDPX_PYTHON=sys.executable, **variables))

    def rows(self, kind):
        written = subprocess.run([sys.executable, str(RESULTS / "torch-h200x2-rows.py"), kind, str(self.folder)], capture_output=True, text=True, check=True)
        return json.loads(written.stdout)["rows"]

    def test_measured_files_are_fitted_and_judged(self):
        if not program("ddpx-validate"):
            self.skipTest("ddpx-validate is not built")
        shutil.copy(ROOT / "calibration/measurements/h200x2-torch-steps.json", self.folder / "measurements.json")
        shutil.copy(ROOT / "validation/runs/h200x2-torch.json", self.folder / "runs-7.json")
        shutil.copy(ROOT / "docs/results/h200x2/torch-fresh.json", self.folder / "runs-channels.json")
        (self.folder / "records").mkdir()
        kernels = [["sgemm", 7, 0, 100, 40], ["ncclDevKernel_AllReduce", 20, 90, 150, 24], ["copy", 7, 120, 130, 8]]
        row = {"network": "mlp:width=64", "gpus": 2, "link": "nvlink", "strategy": "ddp,compress=fp16"}
        self.write("records/row-rank0.json", {"row": row, "rank": 0, "steps": 1, "records": kernels})
        result = self.script("judge", str(self.folder))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("| mlp:width=64 | nvlink | ddp,compress=fp16 | 0 | 0.150 | 0.110 | 0.060 | 0.040 |", result.stdout)
        self.assertRegex(result.stdout, r"nvlink, GPU-bound \| \d+ \|")
        self.assertIn("B5", result.stdout)
        self.assertIn("the forecast's best is", result.stdout)
        for name in ("machine.json", "fit.txt", "report.md", "summary.md", "validation.json"):
            self.assertTrue((self.folder / name).exists(), name)

    def test_what_was_not_measured_is_said(self):
        result = self.script("judge", str(self.folder))
        self.assertIn("measurements.json: is not there", result.stderr)
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(self.script("jugde", str(self.folder)).returncode, 2)

    def test_no_part_begins_without_time(self):
        result = self.script("all", str(self.folder), LIMIT="20")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.count("no time is left"), 9)
        self.assertEqual(self.script("second", str(self.folder), LIMIT="20").stdout.count("no time is left"), 6)

    def test_rows_of_networks_that_were_not_captured_are_left_out(self):
        self.assertEqual(self.rows("captured"), [])
        self.write("gpt-50m.json", {})
        self.assertEqual({row["network"] for row in self.rows("captured") + self.rows("captured-more")}, {"gpt-50m.json"})
        self.assertEqual(len([row for row in self.rows("channels") if row["gpus"] == 2]), 5)

    def test_rows_by_block_of_both_fsdps_are_judged_apart(self):
        if not program("ddpx-validate"):
            self.skipTest("ddpx-validate is not built")
        shutil.copy(ROOT / "calibration/measurements/h200x2-torch-steps.json", self.folder / "measurements.json")
        document = json.loads((ROOT / "validation/runs/h200x2-torch.json").read_text())
        row = next(row for row in document["rows"] if row["gpus"] == 2 and row["link"] == "nvlink")
        alone = next(other for other in document["rows"] if other["gpus"] == 1 and other["network"] == row["network"])
        older, newer = dict(row, strategy="fsdp=block"), dict(row, strategy="fsdp=block", context={"fsdp": "fully_shard"})
        self.write("runs-7.json", dict(document, rows=[alone, row, older]))
        self.write("runs-sitting.json", dict(document, rows=[alone, newer]))
        result = self.script("judge", str(self.folder))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("| by block, trained by FSDP1 | 1 |", result.stdout)
        self.assertIn("| FSDP by block | 1 |", result.stdout)
        self.assertIn("| all | 2 |", result.stdout)
        self.assertFalse((self.folder / "runs-7-fsdp1.json").exists())

    def test_rows_of_the_second_sitting_are_rows_of_the_first(self):
        rows, sitting = self.rows("rows"), self.rows("sitting")
        self.assertTrue(all(row in rows for row in sitting))
        self.assertEqual([row for row in rows if row["strategy"] == "fsdp=block"], [row for row in sitting if row["strategy"] == "fsdp=block"])

    def test_rows_are_taken_again_where_processes_differ_most(self):
        rows, again = self.rows("rows"), self.rows("again")
        self.assertTrue(all(row in rows for row in again))
        self.assertEqual([row for row in rows if row["link"] == "tcp"], [row for row in again if row["link"] == "tcp"])


if __name__ == "__main__":
    unittest.main()
