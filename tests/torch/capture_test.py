"""captured.py and models.py on this CPU: sizes, order of arrival, times that add up, a model that is left as it was."""

import copy
import unittest

from support import Folder

import torch
from torch import nn

import ddpx_torch
from ddpx_torch import models
from ddpx_torch.errors import InputError
from ddpx_torch.networks import parse_network


def parameters(model):
    return sum(p.numel() for p in model.parameters())


def build(text, samples=2):
    return models.build(parse_network(text), samples, torch.device("cpu"), 1)


class Models(unittest.TestCase):
    def test_sizes_are_the_closed_forms_and_the_published_ones(self):
        for text in ("mlp:width=24,depth=3,classes=5", "gpt:layers=3,hidden=24,heads=2,sequence=8,vocabulary=50"):
            self.assertEqual(parameters(build(text).model), parse_network(text).parameters())
        for depth, size in ((18, 11_689_512), (50, 25_557_032)):  # He et al. 2016, as torchvision builds them
            self.assertEqual(parameters(models.resnet(depth, 64, 1000)), size)

    def test_a_gpt_looks_back_only(self):
        model = build("gpt:layers=2,hidden=16,heads=2,sequence=6,vocabulary=11").model
        tokens = torch.randint(11, (1, 6))
        other = tokens.clone()
        other[0, 5] = (other[0, 5] + 1) % 11
        before, after = model(tokens), model(other)
        self.assertTrue(torch.allclose(before[0, :5], after[0, :5]))
        self.assertFalse(torch.allclose(before[0, 5], after[0, 5]))

    def test_ranks_share_weights_and_not_data(self):
        made = [models.build(parse_network("mlp:width=8,depth=1"), 2, torch.device("cpu"), 1, rank) for rank in (0, 1)]
        self.assertTrue(torch.equal(made[0].model[0].linear.weight, made[1].model[0].linear.weight))
        self.assertFalse(torch.equal(made[0].batch[0], made[1].batch[0]))


class Tied(nn.Module):
    """A shared, a frozen and an unused parameter, and buffers of two types."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(10, 8)
        self.frozen = nn.Linear(8, 8)
        self.frozen.weight.requires_grad_(False)
        self.frozen.bias.requires_grad_(False)
        self.norm = nn.BatchNorm1d(8)
        self.unused = nn.Linear(8, 3)
        self.head = nn.Linear(8, 10, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, x):
        return self.head(self.norm(self.frozen(self.embedding(x))))


def loss_of(model, batch):
    return nn.functional.cross_entropy(model(batch[0]), batch[1])


class Capture(Folder):
    def capture(self, model, batch, loss=loss_of, **options):
        ddpx_torch.capture(model, batch, loss, path=str(self.folder / "net.json"), **options)
        return self.read("net.json")

    def test_layers_are_in_forward_order_and_tensors_in_order_of_arrival(self):
        work = build("mlp:width=32,depth=3,classes=5")
        document = self.capture(work.model, work.batch, work.loss)
        self.assertEqual([layer["name"] for layer in document["layers"]], ["0.linear", "1.linear", "2.linear", "3"])
        for layer in document["layers"]:  # bias first, as in PyTorch's linear backward
            self.assertEqual(layer["parameters"], [32, 32 * 32] if "linear" in layer["name"] else [5, 5 * 32])

    def test_times_add_up_to_the_step(self):
        work = build("mlp:width=256,depth=3", 16)
        document = self.capture(work.model, work.batch, work.loss, optimizer="adamw")
        layers = sum(layer["forward_s_per_sample"] + layer["backward_s_per_sample"] for layer in document["layers"])
        step = 16 * layers + document["captured"]["optimizer_s"]
        self.assertAlmostEqual(step / float(document["context"]["step_s"]), 1.0, places=4)
        self.assertEqual(document["captured"]["batch_per_rank"], 16)
        self.assertGreater(document["captured"]["optimizer_s"], 0)

    def test_a_heavier_layer_takes_longer(self):
        model = nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 2048), nn.Linear(2048, 64))
        document = self.capture(model, (torch.randn(64, 64), torch.randint(64, (64,))))
        times = [layer["backward_s_per_sample"] for layer in document["layers"]]
        self.assertGreater(times[1], 3 * times[0])  # 32 times the products
        self.assertGreater(times[2], 3 * times[0])

    def test_shared_frozen_and_unused_parameters_are_as_in_ddp(self):
        document = self.capture(Tied(), (torch.randint(10, (4,)), torch.randint(10, (4,))))
        self.assertEqual([layer["parameters"] for layer in document["layers"]], [[80], [8, 8]])
        self.assertEqual(document["layers"][0]["name"], "embedding")  # shared: once, when its last use is done
        self.assertIn("2 parameters get no gradient (unused.weight, unused.bias)", document["context"]["not_modelled"])
        self.assertEqual(document["captured"]["broadcast_bytes"], [2 * 8 * 4, 8])  # running statistics; a counter

    def test_sparse_gradients_are_named(self):
        model = nn.Sequential(nn.Embedding(10, 4, sparse=True), nn.Flatten(), nn.Linear(8, 3))
        document = self.capture(model, (torch.randint(10, (4, 2)), torch.randint(3, (4,))))
        self.assertIn("sparse gradients (0.weight)", document["context"]["not_modelled"])

    def test_the_model_is_left_as_it_was(self):
        model = Tied().train()
        batch = (torch.randint(10, (4,)), torch.randint(10, (4,)))
        loss_of(model, batch).backward()
        before = copy.deepcopy(model.state_dict())
        gradient = model.norm.weight.grad.clone()
        torch.manual_seed(5)
        numbers = torch.get_rng_state()
        model.norm.eval()
        self.capture(model, batch)
        for name, value in model.state_dict().items():
            self.assertTrue(torch.equal(value, before[name]), name)
        self.assertTrue(torch.equal(model.norm.weight.grad, gradient))
        self.assertIsNone(model.unused.weight.grad)
        self.assertTrue(torch.equal(torch.get_rng_state(), numbers))
        self.assertEqual((model.training, model.norm.training), (True, False))
        self.assertEqual(sum(len(m._forward_pre_hooks) for m in model.modules()), 0)

    def test_activations_are_what_a_forward_keeps(self):
        model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
        inputs = torch.randn(8, 16)
        document = self.capture(model, (inputs, torch.randint(4, (8,))))
        # Input, the ReLU's output (which the next layer keeps too), log-softmax, labels, and the loss's weight sum.
        kept = 8 * (16 + 32 + 4) * 4 + 8 * 8 + 4
        self.assertAlmostEqual(document["activation_bytes_per_sample"], kept / 8, delta=1)

    def test_what_cannot_be_captured_is_refused(self):
        batch = (torch.randn(2, 4), torch.randint(4, (2,)))
        half = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4).double())
        frozen = nn.Linear(4, 4)
        for parameter in frozen.parameters():
            parameter.requires_grad_(False)
        for model, options, says in (
            (half, {}, "several number formats"),
            (frozen, {}, "no parameter"),
            (nn.Linear(4, 4), {"optimizer": "lion"}, "accepted: sgd, adamw"),
            (nn.Linear(4, 4), {"dtype": "int8"}, "accepted"),
            (nn.Linear(4, 4), {"loss": lambda m, b: 1.0}, "scalar"),
            (nn.Linear(4, 4), {"loss": lambda m, b: m(b[0])}, "scalar"),
            (nn.DataParallel(nn.Linear(4, 4)), {}, "plain model"),
        ):
            with self.subTest(says=says), self.assertRaises(InputError) as refused:
                self.capture(model, batch, **{"loss": loss_of, **options})
            self.assertIn(says, str(refused.exception))
            self.assertFalse((self.folder / "net.json").exists())
        with self.assertRaises(InputError):
            self.capture(nn.Linear(4, 4), 3)

    def test_what_a_user_s_module_does_wrong_is_one_clear_line(self):
        for words, says, code in (
            (["user_models:misfit"], "RuntimeError: mat1 and mat2 shapes", 2),
            (["user_models:leaves_python"], "raised SystemExit", 2),
            (["user_models:raises"], "raised ValueError: no data here", 2),
            (["user_models:wrong"], "must return (module, example batch, loss)", 2),
            (["user_models:nothing"], "cannot be imported", 2),
            (["nowhere:make"], "cannot be imported", 2),
            (["mlp:width=200000,depth=2"], "it does not fit", 3),
            (["net.json"], "cannot be read", 2),
        ):
            with self.subTest(words=words):
                self.refused("capture", *words, "--batch", "2", "-o", "runs.json", says=says, code=code)


if __name__ == "__main__":
    unittest.main()
