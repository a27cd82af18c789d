"""traces.py: traces of torch.profiler, written down here."""

import gzip
import json
import subprocess
import unittest

from support import Folder, program

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


def operation(name, begin, duration, category="cpu_op", **args):
    return {"ph": "X", "cat": category, "name": name, "ts": begin, "dur": duration, "args": args}


def kernel_of(name, launch, begin, duration, correlation):
    """A kernel and the call that launched it."""
    return [
        operation("cudaLaunchKernel", launch, 1, "cuda_runtime", correlation=correlation),
        operation(name, begin, duration, "kernel", correlation=correlation, stream=7, grid=[40, 4, 1], block=[256, 1, 1], **{"registers per thread": 90, "shared memory": 1024}),
    ]


def training(step=1000, steps=3, kind="float", shapes=True):
    """Steps of two layers: forward 100 us, gradients of 12 and 20 elements after 60 and 90 us, an update of 30 us. Kernels run long
    after their launch."""
    events = []
    for i in range(steps):
        at = i * step
        number = 10 * i
        accumulate = {"Input Dims": [[3, 4]], "Input type": [kind]} if shapes else {}
        events += kernel_of("sgemm_forward", at + 10, at + 500, 100, number)
        events += [operation("autograd::engine::evaluate_function: AddmmBackward0", at + 50, 5)]
        events += kernel_of("sgemm_backward", at + 52, at + 600, 60, number + 1)
        events += [operation("torch::autograd::AccumulateGrad", at + 60, 2, **accumulate)]
        events += kernel_of("void elementwise_kernel", at + 65, at + 660, 40, number + 2)
        events += kernel_of("sgemm_backward", at + 70, at + 700, 50, number + 3)
        events += [operation("torch::autograd::AccumulateGrad", at + 80, 2, **{**accumulate, "Input Dims": [[20]]} if shapes else {})]
        events += [operation("Optimizer.step#SGD.step", at + 90, 10, "user_annotation")]
        events += kernel_of("multi_tensor_apply", at + 92, at + 760, 30, number + 4)
    return {"schemaVersion": 1, "deviceProperties": [{"numSms": 132}], "traceEvents": events}


class Networks(Folder):
    def network(self, document, *words):
        self.write("trace.json", document)
        return self.command("trace", "trace.json", "--network", "net.json", *words)

    def test_one_gpu_s_trace_is_a_network(self):
        result = self.network(training(), "--batch", "10")
        self.assertEqual(result.returncode, 0, result.stderr)
        found = self.read("net.json")
        layers = found["layers"]
        self.assertEqual([layer["parameters"] for layer in layers], [[20], [12]])  # gradients arrive from the last layer on
        for layer, seconds in zip(layers, (90e-6, 60e-6)):
            self.assertAlmostEqual(10 * layer["backward_s_per_sample"], seconds)
            self.assertEqual(layer["backward_launches"][0]["blocks"], 160)
        self.assertAlmostEqual(10 * sum(layer["forward_s_per_sample"] for layer in layers), 100e-6)
        self.assertAlmostEqual(found["captured"]["optimizer_s"], 30e-6)
        self.assertEqual([len(layer["backward_launches"]) for layer in layers], [1, 1])  # products, not elementwise kernels
        predict = program("ddpx-predict")
        if predict:
            forecast = subprocess.run(
                [str(predict), "--machine", "h200x2-torch", "--network", str(self.folder / "net.json"), "--link", "nvlink", "--gpus", "1,2", "--json"],
                capture_output=True,
                text=True,
            )
            self.assertEqual(forecast.returncode, 0, forecast.stderr)
            alone = json.loads(forecast.stdout)["rows"][0]["terms_s"]
            self.assertAlmostEqual(alone["forward"], 100e-6, delta=5e-6)  # and gaps between kernels
            self.assertAlmostEqual(alone["optimizer"], 30e-6)

    def test_what_no_network_comes_from_is_said(self):
        batch = ("--batch", "4")
        distributed = training()
        distributed["traceEvents"] += kernel_of(ALL_REDUCE, 2070, 2650, 10, 99)
        half = training()
        [e for e in half["traceEvents"] if "Input Dims" in e["args"]][-1]["args"]["Input type"] = ["double"]
        without_backward = training()
        without_backward["traceEvents"] = [e for e in without_backward["traceEvents"] if "autograd" not in e["name"]]
        for document, words, says in (
            (training(shapes=False), batch, "record_shapes=True"),
            (training(steps=1), batch, "record three steps or more"),
            (distributed, batch, "one GPU's trace"),
            (half, batch, "several number formats"),
            (training(kind="double"), batch, "gradients of double"),
            (without_backward, batch, "no backward pass"),
            (trace(("gemm", 0, 10, 7)), batch, "0 optimizer steps"),
            ({"traceEvents": {}}, batch, "traceEvents"),
            (training(), (), "needs --batch"),
            (training(), ("--batch", "0"), "--batch: is '0'"),
            (training(), (*batch, "--json", "x.json"), "two answers"),
        ):
            with self.subTest(says=says):
                result = self.network(document, *words)
                self.assertEqual((result.returncode, len(result.stderr.splitlines())), (2, 1), result.stderr)
                self.assertIn(says, result.stderr)
                self.assertFalse((self.folder / "net.json").exists())
        self.assertIn("give --network", self.command("trace", "trace.json", "--batch", "3").stderr)


if __name__ == "__main__":
    unittest.main()
