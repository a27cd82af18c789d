"""The whole loop on this CPU, over Gloo: measure, capture, forecast, and fresh DistributedDataParallel runs beside it."""

import os
import statistics
import subprocess
import sys
import unittest

from support import ROOT, Folder, program

MEDIAN_ERROR = 0.15
LINKS = ("plain", "slow")
MOVED = 0.15


def enter():
    return ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-rn"]


def shaping_works():
    words = "ip link set lo up && tc qdisc add dev lo root tbf rate 500mbit burst 128kb latency 100ms"
    return subprocess.run([*enter(), "sh", "-c", words], capture_output=True).returncode == 0


class Loop(Folder):
    def undisturbed(self, link):
        """Rows of networks whose steps without sharing, on one rank and on both at once, are beside the runs the step that was captured:
        where other work moved those, nothing can be said of a forecast."""
        moved = {}
        for row in self.read(f"{link}-runs.json")["rows"]:
            if row["gpus"] == 1 or row["strategy"] == "no-sync":
                captured = float(self.read(row["network"])["context"]["step_s"])
                medians = [statistics.median(process["step_times_s"]) for process in row["processes"]]
                worst = max(abs(median / captured - 1) for median in medians)
                moved[row["network"]] = max(worst, moved.get(row["network"], 0))
                print(f"{link} {row['network']}: the step of {row['gpus']} without sharing is within {worst:.0%} of the captured one")
        rows = [row for row in self.read(f"{link}.json")["rows"] if row["strategy"] != "no-sync"]
        self.assertEqual(len(rows), 4)
        for row in rows:
            print(link, row["network"], row["strategy"], f"{row['error']:+.1%}", row["verdict"])
        return [row for row in rows if moved[os.path.basename(row["network"])] <= MOVED]

    def test_captured_models_are_forecast_on_plain_and_on_shaped_loopback(self):
        if not program("ddpx-validate"):
            self.skipTest("ddpx-validate is not built")
        if not shaping_works():
            self.skipTest(f"no shaped loopback here: {' '.join(enter())} or tc fails")
        variables = dict(os.environ, DDPX_BIN_DIR=str(program("ddpx-validate").parent))
        ahead = ["nice", "-n", "-10"] if os.geteuid() == 0 else []
        command = [*ahead, *enter(), "bash", "tests/torch/loop.sh", str(self.folder), sys.executable]
        result = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=600)
        self.assertEqual(result.returncode, 0, result.stderr)
        disturbed = []
        for link in LINKS:
            rows = self.undisturbed(link)
            if not rows:
                disturbed.append(link)
                continue
            error = statistics.median(abs(row["error"]) for row in rows)
            with self.subTest(link=link):
                self.assertLessEqual(error, MEDIAN_ERROR, [row["error"] for row in rows])
        if disturbed:
            self.skipTest(f"other work on this host moved steps without sharing by more than {MOVED:.0%} on: {', '.join(disturbed)}")


if __name__ == "__main__":
    unittest.main()
