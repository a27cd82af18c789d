"""kernels.py and segments.py: what a trace says, from traces written down here."""

import types
import unittest
from unittest import mock

import support  # noqa: F401  (the package's place)

from ddpx_torch import kernels, measuring, rank
from ddpx_torch.segments import add_kernels, add_wall_times, group_of_module, groups_of, launches_json


def kernel(name, begin, duration, stream=7, **args):
    return {"ph": "X", "cat": "kernel", "name": name, "ts": begin, "dur": duration, "args": {"stream": stream, **args}}


class Kernels(unittest.TestCase):
    def test_nccl_s_kernels_are_known_in_every_spelling(self):
        for name in (
            "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)",
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            "ncclDevKernel_Generic(ncclDevComm*, channelMasks, ncclWork*)",
            "void ncclKernel_ReduceScatter_RING_SIMPLE_Sum_float(ncclDevComm*)",
        ):
            self.assertTrue(kernels.is_collective(name), name)
        self.assertFalse(kernels.is_collective("ampere_sgemm_128x64_tn"))

    def test_overlapping_work_is_counted_once(self):
        spans = kernels.spans_of([kernel("a", 0, 10), kernel("b", 5, 10, stream=9), kernel("c", 30, 5)])
        self.assertAlmostEqual(kernels.union(spans), 20e-6)

    def test_waiting_is_a_collective_that_runs_alone(self):
        events = [kernel("gemm", 0, 10), kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 4, 16, stream=9)]
        busy, waiting = kernels.busy_and_waiting(kernels.spans_of(events), 2)
        self.assertAlmostEqual(busy, 10e-6)
        self.assertAlmostEqual(waiting, 5e-6)

    def test_only_device_work_is_taken_from_a_trace(self):
        events = [
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 0, "dur": 5},
            {"ph": "i", "cat": "kernel", "name": "mark", "ts": 0},
            {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoD", "ts": 2, "dur": 3, "args": {"stream": "7"}},
            {"name": "process_name", "ph": "M", "args": {}},
        ]
        self.assertEqual([span.name for span in kernels.spans_of(events)], ["Memcpy DtoD"])

    def test_a_launch_is_blocks_times_threads_and_what_they_hold(self):
        span = kernels.spans_of([kernel("sgemm", 0, 1, grid=[8, 4, 2], block=[256, 1, 1], **{"registers per thread": 90, "shared memory": 1024})])[0]
        record = kernels.record_of(span, 132)
        self.assertEqual((record["blocks"], record["threads"]), (64, 256))
        self.assertEqual((record["registers_per_thread"], record["shared_bytes"], record["persistent"]), (90, 1024, False))
        self.assertIsNone(kernels.record_of(kernels.spans_of([kernel("x", 0, 1)])[0], 132))


class Marked(unittest.TestCase):
    def test_kernels_belong_to_the_mark_they_were_launched_in(self):
        events = [{"ph": "X", "cat": "user_annotation", "name": f"ddpx:grid:{i}", "ts": 100 * i, "dur": 50} for i in range(2)]
        for i, launch in enumerate((10, 60, 120)):  # the second is launched between the marks
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": launch, "dur": 2, "args": {"correlation": i}})
            events.append(kernel(f"k{i}", 500 + i, 1, correlation=i))
        found = kernels.within_marks(events, "grid", 3)
        self.assertEqual([[span.name for span in spans] for spans in found], [["k0"], ["k2"], []])


class FakeGpu:
    """What the clock asks of torch.cuda, on a device that runs what is queued one after the other."""

    def __init__(self, host, device):
        self.now, self.host, self.device = 0.0, host, device  # seconds of a call on each
        self.queued_until = 0.0
        self.held = []

    def event(self):
        gpu = self

        class Event:
            def record(self):
                self.at = max(gpu.queued_until, gpu.now)

            def elapsed_time(self, other):
                return (other.at - self.at) * 1e3

        return Event()

    def sleep(self, cycles):
        self.held.append(cycles)
        self.queued_until = max(self.queued_until, self.now) + cycles / 1e9

    def call(self):
        self.now += self.host
        self.queued_until = max(self.queued_until, self.now) + self.device

    def synchronize(self, *_):
        self.now = max(self.now, self.queued_until)


class Clocks(unittest.TestCase):
    def test_a_gpu_s_time_holds_nothing_of_the_host_s(self):
        """Calls that take the host 40 us and the device 8: queued while the device is held, they follow each other in 8 us."""
        gpu = FakeGpu(host=40e-6, device=8e-6)
        mates = types.SimpleNamespace(exchange=lambda value: [value])
        clock = measuring.Clock(types.SimpleNamespace(type="cuda"), mates)
        with mock.patch.multiple(measuring.torch.cuda, Event=lambda enable_timing: gpu.event(), _sleep=gpu.sleep, synchronize=gpu.synchronize, create=True), mock.patch.object(
            measuring, "synchronize", gpu.synchronize
        ), mock.patch.object(measuring.time, "perf_counter", lambda: gpu.now):
            times = clock.samples(gpu.call, collective=True)
        self.assertGreaterEqual(len(times), measuring.FEWEST)
        for seconds in times:
            self.assertAlmostEqual(seconds, 8e-6, delta=1e-7)

    def test_a_cpu_rank_computes_before_each_collective_and_times_what_it_adds(self):
        """A product takes 1 ms and a collective 2 ms here; the other rank, which computes less, waits 3."""
        now = [0.0]
        done = []

        def work(name, seconds):
            done.append(name)
            now[0] += seconds

        mates = types.SimpleNamespace(exchange=lambda values: [values, [2e-3 if value < 1.5e-3 else value + 1e-3 for value in values]])
        clock = measuring.Clock(types.SimpleNamespace(type="cpu"), mates)
        with mock.patch.object(measuring, "product_of", lambda *_: lambda: work("product", 1e-3)), mock.patch.object(
            measuring.time, "perf_counter", lambda: now[0]
        ):
            times = clock.samples(lambda: work("collective", 2e-3), collective=True)
        self.assertEqual(len(times), measuring.PACED_SAMPLES)
        for seconds in times:
            self.assertAlmostEqual(seconds, 2e-3)
        # 5 ms of products that take the slower rank 2 ms: two or three.
        between = "".join("c" if name == "collective" else "p" for name in done[20:]).split("c")[1:-1]
        self.assertEqual(set(map(len, between[1:])), {round(measuring.PACE_SECONDS / 2e-3)})


class Cores(unittest.TestCase):
    def bound(self, cores, ranks, threads=1, device="cpu"):
        """The cores of each rank; None where it is left alone."""
        kept = [None] * ranks
        for number in range(ranks):
            with mock.patch.object(rank.os, "sched_getaffinity", lambda _: set(cores)), mock.patch.object(
                rank.os, "sched_setaffinity", lambda _, share, number=number: kept.__setitem__(number, list(share))
            ):
                rank.bind({"device": device, "threads": threads}, number, ranks)
        return kept

    def test_cpu_ranks_share_the_cores_among_them(self):
        self.assertEqual(self.bound([0, 1], 2), [[0], [1]])
        self.assertEqual(self.bound([2, 3, 5, 7, 8], 2, threads=2), [[2, 3], [5, 7]])
        self.assertEqual(self.bound([4, 6], 1), [[4, 6]])

    def test_ranks_that_outnumber_cores_and_ranks_of_gpus_are_left_alone(self):
        self.assertEqual(self.bound([0, 1], 3), [None] * 3)
        self.assertEqual(self.bound([0, 1, 2], 2, threads=2), [None] * 2)
        self.assertEqual(self.bound([0, 1], 2, device="cuda"), [None] * 2)


NAMES = ["a.weight", "a.bias", "c.weight"]


class Segments(unittest.TestCase):
    def test_parameters_of_one_module_that_arrive_together_are_a_layer(self):
        groups = groups_of([2, 1, 0], NAMES)
        self.assertEqual([(g.module, g.parameters) for g in groups], [("c", [2]), ("a", [1, 0])])
        apart = groups_of([1, 2, 0], NAMES)  # a module whose parameters arrive apart is two
        self.assertEqual([g.module for g in apart], ["a", "c", "a"])

    def test_modules_without_parameters_belong_to_the_one_before(self):
        groups = groups_of([2, 1, 0], NAMES)
        self.assertEqual(group_of_module(groups, ["pre", "a", "relu", "c"], [0, 1, 2, 3]), {1: 1, 2: 1, 3: 0, 0: 1})

    def test_every_moment_of_the_step_goes_to_one_layer(self):
        groups = groups_of([2, 1, 0], NAMES)
        seen = [
            ("begin", 0, 0.0),
            ("forward", 0, 0.5),
            ("forward", 1, 1.0),
            ("forward", 2, 3.0),
            ("backward", 0, 7.0),
            ("ready", 2, 9.0),
            ("ready", 1, 10.0),
            ("ready", 0, 14.0),
            ("end", 0, 15.0),
            ("done", 0, 17.0),
        ]
        add_wall_times(groups, seen, ["a", "relu", "c"])
        self.assertEqual([(g.module, g.forward, g.backward) for g in groups], [("c", 4.0, 2.0), ("a", 3.0, 6.0)])

    def test_kernels_go_to_where_they_were_launched_not_to_where_they_ran(self):
        groups = groups_of([2, 1, 0], NAMES)
        marks = [
            ("begin", 0, 0.0),
            ("forward", 0, 1.0),
            ("forward", 1, 2.0),
            ("backward", 0, 3.0),
            ("ready", 2, 4.0),
            ("ready", 1, 5.0),
            ("ready", 0, 6.0),
            ("end", 0, 7.0),
        ]
        late = [kernels.Span(f"k{i}", 100 + i, 100 + i + (i + 1)) for i in range(6)]  # seconds 1, 2, ... 6
        spans = list(zip([0.5, 2.5, 3.5, 4.5, 6.5, 8.0], late))
        optimizer = add_kernels(groups, marks, spans, ["a", "c"], lambda span: {"name": span.name} if span.name != "k4" else None)
        self.assertEqual([(g.module, g.forward, g.backward) for g in groups], [("c", 2.0, 3.0), ("a", 1.0, 9.0)])
        self.assertEqual([(g.forward_kernels, g.backward_kernels) for g in groups], [(1, 1), (1, 2)])
        self.assertEqual([launches_json("launches", g.forward_launches, 2) for g in groups], [{"launches": [{"s_per_sample": 1.0}]}, {"launches": [{"s_per_sample": 0.5}]}])
        # The last one is no product.
        self.assertEqual([launches_json("launches", g.backward_launches, 2) for g in groups], [{"launches": [{"s_per_sample": 1.5}]}, {"launches": [{"s_per_sample": 2.0}]}])
        self.assertEqual(launches_json("launches", [(1.0, None), (0.0, {"name": "k"})], 2), {})
        self.assertEqual(optimizer, 6.0)


if __name__ == "__main__":
    unittest.main()
