"""traces.py: traces of torch.profiler, written down here."""

import gzip
import json
import unittest

from support import Folder

from ddpx_torch.errors import InputError
from ddpx_torch.traces import measured

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def trace(*kernels, rank=None, world=None):
    events = [
        {"ph": "X", "cat": "kernel", "name": name, "ts": begin, "dur": duration, "args": {"stream": stream}}
        for name, begin, duration, stream in kernels
    ]
    document = {"schemaVersion": 1, "traceEvents": [{"ph": "M", "name": "process_name"}, *events]}
    if world:
        document["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": world}
    return document


class Traces(Folder):
    def figures(self, *documents):
        return measured([self.write(f"trace{i}.json", document) for i, document in enumerate(documents)])

    def test_what_overlaps_is_hidden_and_the_rest_exposed(self):
        found = self.figures(trace(("gemm", 0, 1000, 7), (ALL_REDUCE, 500, 2000, 20), ("adam", 2500, 500, 7), rank=0, world=2))
        one = found["traces"][0]
        self.assertAlmostEqual(one["span_s"], 3e-3)
        self.assertAlmostEqual(one["collectives_s"], 2e-3)
        self.assertAlmostEqual(one["exposed_s"], 1.5e-3)
        self.assertFalse(found["complete"])
        self.assertNotIn("waiting_s", one)

    def test_with_every_rank_waiting_is_told_from_transfer(self):
        """The second rank comes 700 us late to the first all-reduce: the first one's kernel waits for it."""
        first = trace(("gemm", 0, 100, 7), (ALL_REDUCE, 100, 1000, 20), (ALL_REDUCE, 1100, 400, 20), rank=0, world=2)
        second = trace(("gemm", 5000, 800, 7), (ALL_REDUCE, 5800, 300, 20), (ALL_REDUCE, 6100, 400, 20), rank=1, world=2)
        found = self.figures(second, first)  # in any order, on clocks of their own
        self.assertEqual([t["rank"] for t in found["traces"]], [0, 1])
        self.assertTrue(found["complete"])
        for one, waiting in zip(found["traces"], (7e-4, 0.0)):
            self.assertAlmostEqual(one["waiting_s"], waiting)
            self.assertAlmostEqual(one["transfer_s"], 7e-4)

    def test_a_rank_of_several_without_a_collective_is_an_error(self):
        with self.assertRaises(InputError) as refused:
            self.figures(trace(("gemm", 0, 10, 7), rank=1, world=4))
        self.assertIn("rank 1 of 4 and has no NCCL kernel", str(refused.exception))
        with self.assertRaises(InputError):  # two traces are two ranks, whatever they say
            self.figures(trace(("gemm", 0, 10, 7)), trace(("gemm", 0, 10, 7)))

    def test_one_gpu_has_none(self):
        self.assertEqual(self.figures(trace(("gemm", 0, 10, 7)))["traces"][0]["exposed_s"], 0)

    def test_traces_of_the_wrong_kind_are_refused_in_one_line(self):
        for content, says in (
            ("", "is not JSON"),
            ("{", "is not JSON"),
            ("[" * 100000, "is not JSON"),
            ("[]", "traceEvents"),
            ({"traceEvents": {}}, "traceEvents"),
            ({"schema": "ddpx.runs"}, "traceEvents"),
            ({"traceEvents": [{"ph": "X", "cat": "cpu_op", "ts": 0, "dur": 1}]}, "holds no kernels"),
            ({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "x"}]}, "without its time"),
            ({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "x", "ts": "then"}]}, "without its time"),
            ({"traceEvents": [3, None]}, "holds no kernels"),
        ):
            with self.subTest(content=str(content)[:40]):
                self.write("bad.json", content)
                result = self.command("trace", "bad.json")
                self.assertEqual((result.returncode, len(result.stderr.splitlines())), (2, 1), result.stderr)
                self.assertIn(says, result.stderr)

    def test_one_job_s_ranks_once_each(self):
        good = (ALL_REDUCE, 0, 10, 7)
        for documents in ((trace(good, rank=0, world=2), trace(good, rank=0, world=2)), (trace(good, rank=0, world=2), trace(good, rank=1, world=4))):
            with self.assertRaises(InputError):
                self.figures(*documents)

    def test_compressed_traces_are_read_and_figures_written(self):
        content = json.dumps(trace((ALL_REDUCE, 0, 10, 7), rank=0, world=2)).encode()
        (self.folder / "t.json.gz").write_bytes(gzip.compress(content))
        result = self.command("trace", "t.json.gz", "--json", "figures.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.read("figures.json")["ranks"], 2)
        self.assertIn("100.0 %", result.stdout)
        (self.folder / "t.json.gz").write_bytes(gzip.compress(content)[:40])
        self.assertEqual(self.command("trace", "t.json.gz").returncode, 2)


if __name__ == "__main__":
    unittest.main()
