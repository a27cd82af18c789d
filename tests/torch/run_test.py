"""`run` as a user runs it: real ranks, real DistributedDataParallel over Gloo."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

from support import ROOT, Folder, program

import torch

SMALL = ("--batch", "4", "--seconds", "0.05", "-o", "runs.json")
ONCE = SMALL + ("--processes", "1")


MARK = f"DDPX_TEST_MARK={os.getpid()}"
os.environ.update([MARK.split("=")])


def ranks_left():
    """Ranks, of this file's tests, that are there: other tests may run beside it."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words, environment = ((folder / name).read_text(errors="replace").split("\0") for name in ("cmdline", "environ"))
        except OSError:  # it is gone, or another user's
            continue
        if "ddpx_torch.rank" in words and MARK in environment:
            found.append(folder.name)
    return found


class Run(Folder):
    def test_every_row_is_trained_in_fresh_processes_beside_its_one_gpu_row(self):
        strategies = ("ddp", "ddp,accumulate=2", "ddp,compress=fp16", "ddp,bucket=0.0625MiB,bucket-view", "no-sync")
        words = [word for strategy in strategies for word in ("--strategy", strategy)]
        result = self.command("run", "--network", "mlp:width=32,depth=2", *words, *SMALL, "--link", "pcie3")
        self.assertEqual(result.returncode, 0, result.stderr)
        document = self.read("runs.json")
        self.assertEqual([row["strategy"] for row in document["rows"]], [*strategies, "ddp"])
        self.assertEqual([row["gpus"] for row in document["rows"]], [2] * 5 + [1])
        for row in document["rows"]:
            self.assertEqual(len(row["processes"]), 3)
            for process in row["processes"]:
                self.assertGreaterEqual(len(process["step_times_s"]), 3)
                self.assertGreater(min(process["step_times_s"]), 0)
        self.assertIn("order drawn from seed 1, 3 fresh process sets of every row", document["notes"])
        validate = program("ddpx-validate")
        if validate:  # the same file as the native engine's
            judged = subprocess.run(
                [validate, "--machine", "t4x2", "--measured", "runs.json", "--link", f"pcie3={ROOT}/calibration/links/interconnects.json"],
                cwd=self.folder,
                capture_output=True,
                text=True,
            )
            self.assertEqual(judged.returncode, 0, judged.stderr)
            self.assertIn("5 rows", judged.stdout)

    def test_an_explicit_bucket_size_is_told_from_the_default(self):
        """Pull request 121640 and issue 48880 of PyTorch: by default the first bucket closes at 1 MiB, the others at 25."""
        network = "mlp:width=640,depth=8"  # tensors of 2560 B and 1,638,400 B
        words = ("--strategy", "ddp", "--strategy", "ddp,bucket=25MiB", "--strategy", "ddp,bucket=4MiB")
        result = self.command("run", "--network", network, *words, *ONCE, "--no-solo")
        self.assertEqual(result.returncode, 0, result.stderr)
        buckets = {r["strategy"]: [int(b) for b in r["context"]["bucket_bytes"].split(",")] for r in self.read("runs.json")["rows"]}
        layer, head = 4 * (640 * 640 + 640), 4 * (640 * 64 + 64)
        self.assertEqual(buckets["ddp"], [head + layer, 7 * layer])
        self.assertEqual(buckets["ddp,bucket=25MiB"], [head + 8 * layer])
        self.assertEqual(buckets["ddp,bucket=4MiB"], [head + 3 * layer, 3 * layer, 2 * layer])

    def test_networks_of_every_kind_are_trained(self):
        networks = (
            "gpt:layers=1,hidden=16,heads=2,sequence=8,vocabulary=20",
            "resnet:depth=10,width=4,image=32,classes=5",
            "user_models:make",
        )
        words = [word for network in networks for word in ("--network", network)]
        result = self.command("run", *words, "--optimizer", "adamw", "--dtype", "bf16", *ONCE)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual({(r["network"], r["gpus"]) for r in self.read("runs.json")["rows"]}, {(n, g) for n in networks for g in (1, 2)})

    def test_a_captured_network_is_trained_and_named_from_the_runs_file(self):
        result = self.command("capture", "user_models:make", "--batch", "4", "-o", "net.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        (self.folder / "deep").mkdir()
        result = self.command("run", "--network", "net.json", *ONCE[:-3], "deep/runs.json", "--processes", "1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.read("deep/runs.json")["rows"][0]["network"], "../net.json")

    def test_it_joins_ranks_that_another_launcher_started(self):
        port = str(20000 + os.getpid() % 20000)
        ranks = []
        for rank in ("0", "1"):
            environment = dict(os.environ, PYTHONPATH=str(ROOT / "torch"), GLOO_SOCKET_IFNAME="lo", RANK=rank, LOCAL_RANK=rank)
            environment.update(WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
            command = [sys.executable, "-m", "ddpx_torch", "run", "--network", "mlp:width=16,depth=1", *SMALL]
            ranks.append(subprocess.Popen(command, cwd=self.folder, env=environment, stderr=subprocess.PIPE, text=True))
        for process in ranks:
            self.assertEqual(process.wait(timeout=120), 0, process.stderr.read())
            process.stderr.close()
        document = self.read("runs.json")
        self.assertEqual([row["gpus"] for row in document["rows"]], [2, 1])
        self.assertIn("one process set, started by another launcher", document["notes"])

    def test_a_rank_that_is_killed_is_named_and_nothing_is_written(self):
        for model, says in (("dies", "rank 1 ended by signal 9 (SIGKILL) while training user_models:dies"), ("leaves", "rank 1 ended with exit code 0")):
            with self.subTest(model=model):
                self.refused("run", "--network", f"user_models:{model}", "--no-solo", *ONCE, says=says, code=3)
        self.assertEqual(ranks_left(), [])

    def test_a_rank_that_hangs_ends_the_run(self):
        self.refused("run", "--network", "user_models:hangs", "--no-solo", "--patience", "8", *ONCE, says="no rank has said anything", code=3)

    def test_what_was_finished_is_kept_and_the_failed_row_named(self):
        networks = ("--network", "user_models:dies", "--network", "mlp:width=16,depth=1")
        result = self.command("run", *networks, "--keep-going", *ONCE)
        self.assertEqual(result.returncode, 0, result.stderr)
        document = self.read("runs.json")
        self.assertNotIn(("user_models:dies", 2), [(row["network"], row["gpus"]) for row in document["rows"]])
        self.assertEqual(len(document["rows"]), 3)
        self.assertTrue(any(note.startswith("left out user_models:dies") for note in document["notes"]), document["notes"])

    def test_an_interrupted_run_ends_its_ranks(self):
        environment = dict(os.environ, PYTHONPATH=str(ROOT / "torch"))
        command = [sys.executable, "-m", "ddpx_torch", "run", "--seconds", "500", "-o", "runs.json"]
        process = subprocess.Popen(command, cwd=self.folder, env=environment, stderr=subprocess.PIPE, text=True)
        until = time.monotonic() + 60
        while len(ranks_left()) < 2 and time.monotonic() < until:
            time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=60), 130)
        self.assertIn("interrupted by SIGTERM", process.stderr.read())
        process.stderr.close()
        self.assertEqual(ranks_left(), [])
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_what_cannot_run_is_one_clear_line(self):
        for network, says, code in (
            ("nowhere:make", "No module named 'nowhere'", 2),
            ("user_models:nothing", "has no attribute 'nothing'", 2),
            ("user_models:wrong", "must return (module, example batch, loss)", 2),
            ("user_models:raises", "raised ValueError: no data here", 2),
            ("user_models:diverges", "the loss became", 3),
            ("mlp:width=200000,depth=2", "it does not fit", 3),
        ):
            with self.subTest(network=network):
                self.refused("run", "--network", network, *ONCE, says=says, code=code)

    def test_what_makes_no_sense_is_refused_before_anything_runs(self):
        self.write("rows.json", {"rows": [{"network": "mlp", "batch_per_rank": 4, "link": "a"}]})
        for arguments, says in (
            (("--network", "mlp:x=1"), "--network"),
            (("--strategy", "dpp"), "--strategy"),
            (("--batch", "0"), "--batch"),
            (("--gpus", "x"), "--gpus"),
            (("--dtype", "fp8"), "--dtype"),
            (("--processes", "0"), "--processes"),
            (("--seconds", "0"), "--seconds"),
            (("--budget", "nan"), "--budget"),
            (("--device", "cuda"), "no GPU"),
            (("--transport", "shm"), "NCCL"),
            (("--rows", "rows.json", "--transport", "b=socket"), "'a'"),
            (("--rows", "rows.json", "--batch", "4"), "--rows"),
            (("--rows", "none.json"), "none.json"),
            (("--only", "elsewhere"), "--only"),
            (("--colour", "red"), "--colour"),
        ):
            with self.subTest(arguments=arguments):
                self.refused("run", *arguments, "-o", "runs.json", says=says)
        self.refused("run", "-o", "none/runs.json", says="does not exist")
        if not hasattr(torch, "compile"):
            self.refused("run", "--compile", *ONCE, says=["--compile", "PyTorch 2 or newer"])

    def test_without_pytorch_it_says_so(self):
        self.write("torch.py", "raise ImportError('none here')")
        self.refused("run", *ONCE, says=["PyTorch", "none here", "torch >= 1.13"])
        self.write("torch.py", "__version__ = '1.9.0'\nnn = 1")
        self.refused("run", *ONCE, says="1.13 or newer")

    def test_a_dry_run_lists_what_would_run(self):
        result = self.command("run", "--dry-run", *SMALL)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("6 rows in 3 process sets", result.stdout)
        self.assertFalse((self.folder / "runs.json").exists())


class RunTorch(Folder):
    """ddpx-validate --run-torch drives it."""

    def validate(self, *arguments):
        validate = program("ddpx-validate")
        if not validate:
            self.skipTest("ddpx-validate is not built")
        link = f"pcie3={ROOT}/calibration/links/interconnects.json"
        variables = dict(os.environ, DDPX_PYTHON=sys.executable, PYTHONPATH=str(ROOT / "tests/torch"))
        command = [validate, "--run-torch", "--machine", "t4x2", "--link", link, "--runs", "runs.json", *arguments]
        return subprocess.run(command, cwd=self.folder, env=variables, capture_output=True, text=True, timeout=240)

    def test_forecasts_stand_beside_fresh_pytorch_runs(self):
        result = self.validate("--network", "mlp:width=16,depth=1", "--batch", "4", "--strategy", "ddp,accumulate=2", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["summary"]["rows"], 1)
        document = self.read("runs.json")
        self.assertEqual([(row["engine"], row["gpus"]) for row in document["rows"]], [("torch", 2), ("torch", 1)])
        self.assertEqual([len(row["processes"]) for row in document["rows"]], [3, 3])

    def test_what_pytorch_refuses_is_its_line_and_its_exit_code(self):
        result = self.validate("--network", "mlp:width=16", "--strategy", "ddp,channels=4")
        self.assertEqual(result.returncode, 2)
        self.assertIn("Gloo has none", result.stderr)
        self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
        self.assertFalse((self.folder / "runs.json").exists())

    def test_what_the_forecast_cannot_read_is_refused_first(self):
        for arguments, says in ((("--network", "user_models:make"), "user_models"), (("--run",), "two engines"), (("--transport", "pigeon"), "pigeon")):
            with self.subTest(arguments=arguments):
                result = self.validate(*arguments)
                self.assertEqual(result.returncode, 2)
                self.assertIn(says, result.stderr)
                self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)


if __name__ == "__main__":
    unittest.main()
