"""measure.py: what is measured, and what a file keeps of what was measured before."""

import argparse
import collections
import time
import types
import unittest
from unittest import mock

import support  # noqa: F401  (the package's place)
import torch

from ddpx_torch import kernels, measure, measuring, timing, training
from ddpx_torch.models import blocks_of, build
from ddpx_torch.networks import parse_network
from ddpx_torch.rows import Row
from ddpx_torch.strategy import parse_strategy


def options(**members):
    parser = argparse.ArgumentParser()
    measure.add_arguments(parser)
    words = [word for key, value in members.items() for word in ("--" + key.replace("_", "-"), str(value))]
    return parser.parse_args(["-o", "m.json", *words])


class Host(unittest.TestCase):
    def visits(self, **members):
        seen = []
        runner = types.SimpleNamespace(
            visits=seen.extend, campaign=types.SimpleNamespace(reports=collections.defaultdict(list), context={}, notes=[])
        )
        with mock.patch.object(measure, "Runner", lambda *_, **__: runner):
            measure._Measuring(options(**members), "cuda").host()
        return seen

    def test_every_shared_step_has_its_step_alone(self):
        rows = measure.host_rows("nvlink")
        alone = {(row.network, row.batch, row.optimizer, row.dtype) for row in rows if row.gpus == 1 and row.strategy.micro_batches == 1}
        for row in rows:
            self.assertIn((row.network, row.batch, row.optimizer, row.dtype), alone)

    def test_depths_tell_what_a_step_costs_from_what_its_tensors_do(self):
        depths = {parse_network(network)["depth"] for network in measure.HOST_NETWORKS}
        self.assertGreaterEqual(len(depths), 3)
        self.assertGreaterEqual(max(depths), 6 * min(depths))

    def test_by_block_both_optimizers_update_blocks_of_both_kinds(self):
        rows = [row for row in measure.host_rows("nvlink") if row.strategy.fsdp == "block"]
        self.assertEqual(
            {(row.network.split(":")[0], row.optimizer) for row in rows},
            {(generator, optimizer) for generator in ("mlp", "gpt") for optimizer in ("sgd", "adamw")},
        )

    def test_by_block_there_are_blocks_of_two_tensors_and_of_twelve(self):
        tensors = set()
        for row in measure.host_rows("nvlink"):
            if row.strategy.fsdp == "block":
                model = build(parse_network(row.network), row.batch, torch.device("cpu"), 1).model
                tensors.add(len(list(blocks_of(model)[0].parameters())))
        self.assertEqual(tensors, {2, 12})

    def test_small_steps_are_in_every_process_set_and_large_ones_in_one(self):
        seen = self.visits(processes=3)
        counts = collections.Counter(row for _, _, rows, _ in seen for row in rows)
        self.assertEqual({counts[row] for row in measure.host_rows("auto")}, {3})
        self.assertEqual({counts[row] for row in measure.device_rows("auto")}, {1})


    def test_on_one_gpu_only_steps_of_one_gpu_run(self):
        seen = self.visits(ranks=1)
        self.assertEqual({row.gpus for _, _, rows, _ in seen for row in rows}, {1})


class Documents(unittest.TestCase):
    def document(self, parts, **samples):
        known = measure.opening(measure.SCHEMA, {})
        known.update(
            name="known",
            links=[{"name": "nvlink"}, {"name": "tcp"}],
            collectives=[{"link": "nvlink", "bytes": 1}, {"link": "tcp", "bytes": 1}],
            products=[{"rows": 1}],
            copies=[{"bytes": 1}],
            optimizers=[],
            launches=[{"times_s": [1]}],
            steps=[{"engine": "native"}, {"engine": "torch"}],
        )
        measuring_ = types.SimpleNamespace(device="cuda", ranks=2, samples=samples, device_json=None, context={}, notes=[])
        with mock.patch.object(measure, "read_json", lambda *_: known):
            return measure._document(options(add_to="known.json"), measuring_, parts)

    def test_a_part_measured_anew_takes_the_place_of_what_there_was_of_it(self):
        found = self.document(["compute", "host"], products=[{"rows": 2}], copies=[], optimizers=[], launches=[], steps=[{"engine": "torch", "batch_per_rank": 64}])
        self.assertEqual(found["products"], [{"rows": 2}])
        self.assertEqual(found["launches"], [])
        self.assertEqual(found["steps"], [{"engine": "native"}, {"engine": "torch", "batch_per_rank": 64}])
        self.assertEqual(len(found["collectives"]), 2)

    def test_a_link_measured_anew_takes_the_place_of_its_namesake(self):
        found = self.document(["link"], links=[{"name": "tcp"}], collectives=[{"link": "tcp", "bytes": 2}])
        self.assertEqual(found["collectives"], [{"link": "nvlink", "bytes": 1}, {"link": "tcp", "bytes": 2}])
        self.assertEqual(found["products"], [{"rows": 1}])

    def test_a_part_that_was_not_reached_takes_nothing_s_place(self):
        found = self.document(["compute", "host"])
        self.assertEqual(found["products"], [{"rows": 1}])
        self.assertEqual(len(found["steps"]), 2)


class Products(unittest.TestCase):
    def test_are_those_of_a_linear_layer_with_its_bias(self):
        device = torch.device("cpu")
        with mock.patch.object(torch.nn.functional, "linear", wraps=torch.nn.functional.linear) as called:
            result = measuring.product_of("fp32", device, "forward", 3, 4, 5)()
        self.assertEqual(tuple(result.shape), (3, 5))
        self.assertEqual([tuple(value.shape) for value in called.call_args.args], [(3, 4), (5, 4), (5,)])
        for product_pass, shape in (("data_gradient", (3, 4)), ("weight_gradient", (5, 4))):
            self.assertEqual(tuple(measuring.product_of("fp32", device, product_pass, 3, 4, 5)().shape), shape)


    def measuring(self, device="cuda", **members):
        return measure._Measuring(options(**members), device)

    def test_between_those_that_are_timed_some_are_recorded(self):
        shapes = self.measuring(dtypes="fp32,bf16").recorded()
        self.assertEqual(len(set(map(tuple, shapes))), len(shapes))
        timed = {int(width) for width in measure.WIDTHS["cuda"].split(",")}
        self.assertFalse([shape for shape in shapes if shape[3] == shape[4] and shape[3] in timed])
        self.assertIn(["bf16", "forward", 4096, 768, 3072], shapes)
        self.assertEqual(self.measuring(widths="512").recorded(), [])
        self.assertEqual(self.measuring(batches="64").recorded(), [])
        self.assertEqual(self.measuring("cpu").recorded(), [])

    def test_records_join_the_products(self):
        measuring_ = self.measuring()
        measuring_.samples = {
            "products": [{"rows": 1, "times_s": [2.0]}, {"rows": 2, "times_s": [3.0]}],
            "grids": [({"name": "k"}, [1.5]), (None, [])],
            "recorded": [{"rows": 3, "kernel": {"name": "k"}, "record_times_s": [4.0]}],
        }
        measuring_.add_grids()
        self.assertEqual(
            measuring_.samples,
            {"products": [{"rows": 1, "times_s": [2.0], "kernel": {"name": "k"}, "record_times_s": [1.5]}, {"rows": 2, "times_s": [3.0]}, {"rows": 3, "kernel": {"name": "k"}, "record_times_s": [4.0]}]},
        )
        measuring_.samples = {"links": []}  # nothing of products
        measuring_.add_grids()
        self.assertEqual(measuring_.samples, {"links": []})

    def test_a_run_takes_what_its_kernels_take(self):
        spans = [kernels.Span("k", begin, begin + length) for begin, length in ((0, 2.0), (10, 1.0), (20, 4.0), (30, 1.0))]
        self.assertEqual(kernels.run_times(spans, 2), [3.0, 5.0])
        self.assertEqual(kernels.run_times(spans[:3], 2), [])
        self.assertEqual(kernels.run_times([], 2), [])
        self.assertEqual(kernels.run_times([kernels.Span("k", 1.0, 1.0)], 1), [])


class Trained(unittest.TestCase):
    def trainer(self, **how):
        row = Row("mlp:width=8,depth=2", 1, "tcp", parse_strategy("ddp"), "weak", "fp32", "sgd", 4)
        work = build(parse_network(row.network), 4, torch.device("cpu"), 1)
        return training.Trainer(row, work, torch.device("cpu"), **how)

    def test_a_compiled_model_is_called_and_the_plain_one_is_updated(self):
        called = []

        def compiled(model):
            return lambda *arguments: called.append(1) or model(*arguments)

        with mock.patch.object(torch, "compile", compiled, create=True):
            trainer = self.trainer(compile=True)
        before = [p.detach().clone() for p in trainer.model.parameters()]
        trainer.step()
        self.assertEqual(called, [1])
        self.assertFalse(all(torch.equal(a, b) for a, b in zip(before, trainer.model.parameters())))

    def test_one_thread_is_one_thread_of_products_too(self):
        values = torch.ones(384, 384)
        timing.use_threads(1)
        values @ values
        own, all_threads = time.thread_time(), time.process_time()
        for _ in range(40):
            values @ values
        own, all_threads = time.thread_time() - own, time.process_time() - all_threads
        self.assertLess(all_threads, 1.25 * own)


class ByBlock(unittest.TestCase):
    def test_every_block_is_sharded_and_then_the_rest(self):
        """fully_shard needs PyTorch 2.6; here what it would be called with."""
        model = build(parse_network("gpt:layers=3,hidden=8,heads=2,sequence=4,vocabulary=8"), 2, torch.device("cpu"), 1).model
        calls = []
        mesh = types.SimpleNamespace(DeviceMesh=types.SimpleNamespace(from_group=lambda group, kind: (group, kind)), init_device_mesh=lambda kind, shape: (kind, shape))
        fsdp = types.SimpleNamespace(fully_shard=lambda module, mesh: calls.append((module, mesh)))
        modules = {"torch.distributed.fsdp": fsdp, "torch.distributed.device_mesh": mesh}
        with mock.patch.dict("sys.modules", modules), mock.patch.object(training.dist, "get_world_size", lambda: 2):
            wrapped, by = training._wrap_fsdp(model, parse_strategy("fsdp=block"), torch.device("cpu"), None, "row")
        self.assertIs(wrapped, model)
        self.assertEqual(by, "fully_shard")
        self.assertEqual([module for module, _ in calls], [*model.blocks, model])
        self.assertEqual({mesh for _, mesh in calls}, {("cpu", (2,))})


if __name__ == "__main__":
    unittest.main()
