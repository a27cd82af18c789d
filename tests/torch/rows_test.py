"""rows.py, runs.py, run.py's order: what is run, in which order, and the file of it."""

import argparse
import collections
import os
import random
import subprocess
import sys
import threading
import time
import unittest
from unittest import mock

from support import ROOT, Folder

from ddpx_torch.errors import InputError
from ddpx_torch.files import read_json, write_json
from ddpx_torch.join import ranks_here
from ddpx_torch.launch import Job, in_turn
from ddpx_torch.mates import FolderStore
from ddpx_torch.measure import host_rows
from ddpx_torch.rows import in_random_order, rows_from_file, sweep, with_one_gpu_rows
from ddpx_torch.run import choose_device, recorded_rows, visits_of
from ddpx_torch.runner import Runner
from ddpx_torch.runs import Campaign, merged

ROW = {"network": "mlp:width=32", "gpus": 2, "link": "tcp", "strategy": "ddp", "scaling": "weak", "dtype": "fp32", "optimizer": "sgd", "batch_per_rank": 8}


def runs(rows):
    return {"schema": "ddpx.runs", "schema_version": 1, "context": {}, "name": "n", "source": "s", "rows": rows, "notes": []}


class Hosts(unittest.TestCase):
    def test_under_a_launcher_a_host_needs_a_gpu_for_each_of_its_own_ranks(self):
        options = argparse.Namespace(device="auto")
        for ranks, gpus, fits in (("1", 1, True), ("4", 4, True), ("2", 1, False)):
            with self.subTest(ranks=ranks), mock.patch("torch.cuda.device_count", return_value=gpus):
                with mock.patch.dict(os.environ, WORLD_SIZE="8", LOCAL_WORLD_SIZE=ranks):
                    if fits:
                        self.assertEqual(choose_device(options, ranks_here()), "cuda")
                    else:
                        self.assertRaisesRegex(InputError, "on this host and PyTorch sees 1", choose_device, options, ranks_here())
        with mock.patch.dict(os.environ, LOCAL_WORLD_SIZE="two"):
            self.assertRaisesRegex(InputError, "LOCAL_WORLD_SIZE: is 'two'", ranks_here)


class Rows(Folder):
    def rows(self, *members):
        return rows_from_file(self.write("rows.json", runs(list(members))))

    def test_what_a_row_leaves_out_is_usual(self):
        row = rows_from_file(self.write("rows.json", {"rows": [{"network": "mlp", "batch_per_rank": 4}]}))[0]
        self.assertEqual((row.gpus, row.strategy.describe(), row.dtype, row.optimizer, row.scaling), (2, "ddp", "fp32", "sgd", "weak"))

    def test_a_shipped_runs_file_is_a_list_of_rows(self):
        self.assertEqual(len(rows_from_file(str(ROOT / "validation/runs/h200x2-torch.json"))), 54)

    def test_the_rows_of_the_two_h200_study_are_two_hundred_and_none_was_fitted_on(self):
        path = ROOT / "docs/results/torch-h200x2/rows.json"
        rows = rows_from_file(str(path))
        self.assertGreaterEqual(len({row for row in rows if row.gpus == 2}), 200)
        self.assertEqual({row.link for row in rows}, {"nvlink", "host-memory", "one-channel", "tcp"})
        fitted = read_json(str(ROOT / "calibration/measurements/h200x2-torch-steps.json"), "measurements")["steps"]
        known = {step["network"] for step in fitted} | {row.network for row in host_rows("nvlink")}
        self.assertFalse({row.network for row in rows} & known)
        written = subprocess.run([sys.executable, str(ROOT / "docs/results/torch-h200x2-rows.py"), "rows"], capture_output=True, check=True)
        self.assertEqual(written.stdout, path.read_bytes())

    def test_wrong_rows_are_named_by_their_place(self):
        for change, says in (
            ({"network": 3}, "network"),
            ({"network": "mlp:x=1"}, "rows[0].network"),
            ({"batch_per_rank": 0}, "batch_per_rank"),
            ({"batch_per_rank": 1.5}, "batch_per_rank"),
            ({"batch_per_rank": True}, "batch_per_rank"),
            ({"gpus": "2"}, "gpus"),
            ({"strategy": "dpp"}, "strategy"),
            ({"dtype": "fp8"}, "dtype"),
            ({"optimizer": "lion"}, "optimizer"),
            ({"scaling": "strong", "batch_per_rank": 3}, "whole samples"),
            ({"gpus": 1, "strategy": "fsdp"}, "fsdp"),
            ({"colour": "red"}, "colour"),
        ):
            with self.subTest(change=change), self.assertRaises(InputError) as refused:
                self.rows({**ROW, **change})
            self.assertIn(says, str(refused.exception))

    def test_hostile_files_are_refused_in_one_line(self):
        for content in ("", "{", "[]", "[" * 100000, '{"rows": []}', '{"rows": [3]}', '{"schema": "ddpx.machine", "rows": [{}]}', '{"rows": 1e999}'):
            with self.subTest(content=content[:30]), self.assertRaises(InputError) as refused:
                rows_from_file(self.write("rows.json", content))
            self.assertNotIn("\n", str(refused.exception))

    def test_a_sweep_doubles_unless_a_step_is_given(self):
        self.assertEqual(sweep(["mlp:depth=2"], "width=8:40"), [f"mlp:depth=2,width={w}" for w in (8, 16, 32)])
        self.assertEqual(sweep(["mlp"], "width=8:24:+8"), [f"mlp:width={w}" for w in (8, 16, 24)])
        for text in ("width", "width=8", "width=8:4", "width=8:16:x1", "width=8:16:+0", "depth=a:b", "width=8:16:"):
            with self.subTest(text=text), self.assertRaises(InputError):
                sweep(["mlp"], text)

    def test_every_row_gets_its_one_gpu_row_once(self):
        rows = with_one_gpu_rows(self.rows(ROW, {**ROW, "strategy": "ddp,accumulate=2"}, {**ROW, "link": "other"}))
        self.assertEqual(sum(row.gpus == 1 for row in rows), 2)  # one on each link
        self.assertEqual(len(with_one_gpu_rows(rows)), len(rows))

    def test_rows_and_their_yardstick_come_together_in_an_order_of_the_seed(self):
        rows = with_one_gpu_rows(self.rows(*({**ROW, "batch_per_rank": b, "strategy": s} for b in range(1, 9) for s in ("ddp", "no-sync"))))
        ordered = in_random_order(rows, random.Random(3))
        self.assertEqual(collections.Counter(ordered), collections.Counter(rows))
        self.assertNotEqual(ordered, rows)
        batches = [row.batch for row in ordered]
        self.assertEqual(sum(a != b for a, b in zip(batches, batches[1:])), 7)
        self.assertEqual(ordered, in_random_order(rows, random.Random(3)))

    def test_a_process_set_has_one_link_and_one_number_of_channels(self):
        rows = self.rows(ROW, {**ROW, "link": "other"}, {**ROW, "strategy": "ddp,channels=4"}, {**ROW, "batch_per_rank": 9})
        visits = list(visits_of(rows, 3, None, 1))
        self.assertEqual(len(visits), 9)
        for link, channels, members in visits:
            self.assertEqual({(row.link, row.strategy.channels) for row in members}, {(link, channels)})
        self.assertEqual(max(len(members) for _, _, members in visits_of(rows, 1, 1, 1)), 1)


class Launching(Folder):
    def job(self, *members):
        rows = rows_from_file(self.write("rows.json", runs(list(members))))
        runner = Runner([], "cpu", rows, {"seconds": 0.01, "repeats": 3}, 60, 1)
        return Job(runner.job(rows), 2, dict(os.environ, GLOO_SOCKET_IFNAME="lo"), 60)

    def test_ranks_started_ahead_wait_until_their_job_runs(self):
        job = self.job({**ROW, "network": "mlp:width=8,depth=1"})
        job.start()
        try:
            time.sleep(0.5)
            self.assertFalse(any(rank.records() for rank in job.ranks))
            self.assertTrue(all(rank.process.poll() is None for rank in job.ranks))
            self.assertEqual([index for index, _ in job.run()], [0])
        finally:
            job.end()
        self.assertFalse(os.path.exists(job.folder))

    def test_ranks_of_jobs_that_never_run_are_ended(self):
        jobs = [self.job(ROW), self.job(ROW)]
        with mock.patch("ddpx_torch.launch.room_for", lambda job: True), self.assertRaises(RuntimeError):
            for _ in in_turn(jobs):
                raise RuntimeError("the first ends early")
        self.assertTrue(jobs[1].ranks)
        self.assertTrue(all(rank.process.poll() is not None for rank in jobs[1].ranks))

    def test_ranks_meet_in_a_folder(self):
        store = FolderStore(str(self.folder / "meetings"))
        threading.Timer(0.05, lambda: store.set("2/1/0", "[1]")).start()
        self.assertEqual(FolderStore(store.folder).get("2/1/0"), "[1]")


class Runs(Folder):
    def campaign(self, time=1.0):
        row = rows_from_file(self.write("rows.json", runs([ROW])))[0]
        campaign = Campaign([row])
        campaign.hardware({"torch": "2", "NCCL_NET": "Socket"})
        campaign.take(row, {"step_times_s": [time, 2 * time, 3 * time], "context": {"steps_per_time": "4"}})
        campaign.take(row, {"step_times_s": [time], "context": {"steps_per_time": "5"}})
        campaign.take(row, {"waiting_s": 0.3 * time})
        return campaign

    def test_a_one_gpu_step_s_kernels_are_recorded_once_for_all_links(self):
        alone = {**ROW, "gpus": 1}
        rows = rows_from_file(self.write("rows.json", runs([alone, {**alone, "link": "other"}, ROW])))
        self.assertEqual(recorded_rows(rows, "solo"), [rows[1]])
        self.assertEqual((recorded_rows(rows, "none"), recorded_rows(rows, "all")), ([], rows))
        campaign = Campaign(rows)
        for row in rows:
            campaign.take(row, {"step_times_s": [1.0], "context": {}})
        campaign.take(rows[1], {"busy_s": 0.9})
        campaign.write(str(self.folder / "runs.json"), "name")
        self.assertEqual([row.get("device_busy_share") for row in self.read("runs.json")["rows"]], [0.9, 0.9, None])

    def test_every_repeat_of_every_process_is_kept(self):
        self.campaign().write(str(self.folder / "runs.json"), "name")
        row = self.read("runs.json")["rows"][0]
        self.assertEqual(row["processes"], [{"step_times_s": [1.0, 2.0, 3.0]}, {"step_times_s": [1.0]}])
        self.assertAlmostEqual(row["communication_share"], 0.2)  # 0.3 of the median step, 1.5
        self.assertEqual(row["context"], {"steps_per_time": "4; 5"})
        self.assertEqual(row["engine"], "torch")

    def test_files_of_one_machine_are_merged_row_by_row(self):
        first, second = str(self.folder / "a.json"), str(self.folder / "b.json")
        self.campaign().write(first, "name")
        self.campaign(2.0).write(second, "name")
        whole = merged([first, second], first)
        self.assertEqual(len(whole["rows"]), 1)
        self.assertEqual([p["step_times_s"][0] for p in whole["rows"][0]["processes"]], [1.0, 1.0, 2.0, 2.0])

    def test_files_of_two_machines_are_not(self):
        first, second = str(self.folder / "a.json"), str(self.folder / "b.json")
        self.campaign().write(first, "name")
        other = self.campaign()
        other.context["torch"] = "3"
        other.write(second, "name")
        with self.assertRaises(InputError):
            merged([first, second], first)

    def test_a_file_is_whole_or_not_there(self):
        path = str(self.folder / "x.json")
        with self.assertRaises(ValueError):
            write_json(path, {"a": float("nan")})
        with self.assertRaises(InputError):
            write_json(str(self.folder / "none" / "x.json"), {})
        self.assertEqual([p.name for p in self.folder.iterdir()], [])


if __name__ == "__main__":
    unittest.main()
