"""The whole loop on this CPU, over Gloo: measure, capture, forecast, and fresh DistributedDataParallel runs beside it."""

import json
import os
import subprocess
import sys
import unittest

from support import ROOT, Folder, program

MEDIAN_ERROR = 0.15


def enter():
    return ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-rn"]


def shaping_works():
    words = "ip link set lo up && tc qdisc add dev lo root tbf rate 500mbit burst 128kb latency 100ms"
    return subprocess.run([*enter(), "sh", "-c", words], capture_output=True).returncode == 0


class Loop(Folder):
    def test_captured_models_are_forecast_on_plain_and_on_shaped_loopback(self):
        if not os.environ.get("DDPX_TORCH_LOOP"):
            self.skipTest("takes minutes on two cores; DDPX_TORCH_LOOP=1 runs it")
        if not program("ddpx-validate"):
            self.skipTest("ddpx-validate is not built")
        if not shaping_works():
            self.skipTest(f"no shaped loopback here: {' '.join(enter())} or tc fails")
        variables = dict(os.environ, DDPX_BIN_DIR=str(program("ddpx-validate").parent))
        command = [*enter(), "bash", "tests/torch/loop.sh", str(self.folder), sys.executable]
        result = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=800)
        self.assertEqual(result.returncode, 0, result.stderr)
        for link in ("plain", "slow"):
            with self.subTest(link=link):
                validation = self.read(f"{link}.json")
                self.assertEqual(validation["summary"]["rows"], 8)
                for row in validation["rows"]:
                    print(link, row["network"], row["strategy"], f"{row['error']:+.1%}", row["verdict"])
                # Plain loopback moves by a factor between processes (docs/pytorch.md), so only the shaped link, which is
                # what the step waits for, has a bar.
                if link == "slow":
                    self.assertLessEqual(
                        validation["summary"]["median_abs_error"], MEDIAN_ERROR, json.dumps(validation["summary"])
                    )


if __name__ == "__main__":
    unittest.main()
