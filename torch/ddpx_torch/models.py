"""The models of the generators, as PyTorch users write them, and what a training step of them needs."""

import contextlib
import importlib
import math
import os
import sys
from dataclasses import dataclass
from typing import Any, Callable

import torch
import torch.nn.functional as F
from torch import nn

from .errors import DeviceError, InputError, one_line


@dataclass
class Work:
    """A model, one example batch on its device, and loss(model, batch): the scalar that is minimised."""

    model: nn.Module
    batch: Any
    loss: Callable


class LinearRelu(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x):
        return torch.relu(self.linear(x))


class Attention(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(hidden, 3 * hidden)
        self.projection = nn.Linear(hidden, hidden)

    def forward(self, x):
        batch, tokens, hidden = x.shape
        parts = self.qkv(x).split(hidden, dim=2)
        q, k, v = (part.view(batch, tokens, self.heads, -1).transpose(1, 2) for part in parts)
        if hasattr(F, "scaled_dot_product_attention"):  # torch >= 2.0
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
            future = torch.ones(tokens, tokens, dtype=torch.bool, device=x.device).triu(1)
            y = scores.masked_fill(future, -math.inf).softmax(-1) @ v
        return self.projection(y.transpose(1, 2).reshape(batch, tokens, hidden))


class GptBlock(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.ln1 = nn.LayerNorm(hidden)
        self.attention = Attention(hidden, heads)
        self.ln2 = nn.LayerNorm(hidden)
        self.up = nn.Linear(hidden, 4 * hidden)
        self.down = nn.Linear(4 * hidden, hidden)

    def forward(self, x):
        x = x + self.attention(self.ln1(x))
        return x + self.down(F.gelu(self.up(self.ln2(x))))


class Gpt(nn.Module):
    """A GPT-2 style decoder; the head shares the token embedding's weight (model/network.hpp)."""

    def __init__(self, layers, hidden, heads, sequence, vocabulary):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, hidden)
        self.positions = nn.Embedding(sequence, hidden)
        self.blocks = nn.ModuleList(GptBlock(hidden, heads) for _ in range(layers))
        self.ln = nn.LayerNorm(hidden)
        self.head = nn.Linear(hidden, vocabulary, bias=False)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)
        self.head.weight = self.tokens.weight

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln(x))


class Residual(nn.Module):
    """A residual block of two 3x3 convolutions, or of 1x1, 3x3, 1x1 with the output four times as wide (He et al.
    2016; the stride sits on the 3x3 convolution)."""

    def __init__(self, inputs, width, stride, bottleneck):
        super().__init__()
        outputs = 4 * width if bottleneck else width
        if bottleneck:
            shapes = [(inputs, width, 1, 1), (width, width, 3, stride), (width, outputs, 1, 1)]
        else:
            shapes = [(inputs, width, 3, stride), (width, outputs, 3, 1)]
        self.convolutions = nn.ModuleList(
            nn.Conv2d(i, o, size, step, padding=size // 2, bias=False) for i, o, size, step in shapes
        )
        self.norms = nn.ModuleList(nn.BatchNorm2d(o) for _, o, _, _ in shapes)
        self.shortcut = None
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = x
        last = len(self.convolutions) - 1
        for i, (convolution, norm) in enumerate(zip(self.convolutions, self.norms)):
            y = norm(convolution(y))
            if i < last:
                y = torch.relu(y)
        return torch.relu(y + (x if self.shortcut is None else self.shortcut(x)))


class Stem(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.convolution = nn.Conv2d(3, width, 7, 2, padding=3, bias=False)
        self.norm = nn.BatchNorm2d(width)

    def forward(self, x):
        return F.max_pool2d(torch.relu(self.norm(self.convolution(x))), 3, 2, padding=1)


_RESNET_BLOCKS = {
    10: (1, 1, 1, 1),
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
}


def resnet(depth, width, classes):
    bottleneck = depth >= 50
    inputs = width
    blocks = [Stem(width)]
    for stage, count in enumerate(_RESNET_BLOCKS[depth]):
        for i in range(count):
            stage_width = width << stage
            blocks.append(Residual(inputs, stage_width, 2 if stage > 0 and i == 0 else 1, bottleneck))
            inputs = stage_width * (4 if bottleneck else 1)
    return nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))


def _cross_entropy(model, batch):
    return F.cross_entropy(model(batch[0]), batch[1])


def _next_token(model, batch):
    logits = model(batch[0])
    return F.cross_entropy(logits.view(-1, logits.shape[-1]), batch[1].view(-1))


def to_device(value, device):
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, dict):
        return {key: to_device(member, device) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        moved = [to_device(member, device) for member in value]
        return type(value)(*moved) if hasattr(value, "_fields") else type(value)(moved)
    return value


def import_function(target):
    module_name, _, function_name = target.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # as `python3 file.py` finds its neighbours
    try:
        function = getattr(importlib.import_module(module_name), function_name)
    except (Exception, SystemExit) as error:
        raise InputError(
            f"--network {target}",
            f"cannot be imported: {type(error).__name__}: {one_line(error)}; give module:function, the module in this "
            "folder or on PYTHONPATH",
        ) from error
    if not callable(function):
        raise InputError(f"--network {target}", "is no function; it is called with the batch size")
    return function


def _user_work(target, samples, device):
    function = import_function(target)
    try:
        made = function(samples)
    except (Exception, SystemExit) as error:
        raise InputError(f"--network {target}", f"raised {type(error).__name__}: {one_line(error)}") from error
    if not (isinstance(made, tuple) and len(made) == 3 and isinstance(made[0], nn.Module) and callable(made[2])):
        raise InputError(
            f"--network {target}", "must return (module, example batch, loss), loss(module, batch) being a scalar tensor"
        )
    return Work(made[0].to(device), to_device(made[1], device), made[2])


def build(network, samples, device, seed, rank=0):
    """The same weights on every rank, the batch each rank's own."""
    torch.manual_seed(seed)
    if network.generator == "user":
        return _user_work(network.target, samples, device)
    # Since torch 2.0 a model can be made where it is to live, which is much faster than moving it there.
    there = device if hasattr(torch, "get_default_device") else contextlib.nullcontext()
    with there:
        if network.generator == "mlp":
            width = network["width"]
            layers = [LinearRelu(width, width) for _ in range(network["depth"])]
            model, loss = nn.Sequential(*layers, nn.Linear(width, network["classes"])), _cross_entropy
        elif network.generator == "gpt":
            model, loss = Gpt(**dict(network.keys)), _next_token
        else:
            model, loss = resnet(network["depth"], network["width"], network["classes"]), _cross_entropy
    model = model.to(device)
    torch.manual_seed(seed + 1 + rank)
    if network.generator == "gpt":
        shape = (samples, network["sequence"] + 1)
        tokens = torch.randint(network["vocabulary"], shape, device=device)
        return Work(model, (tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()), loss)
    if network.generator == "mlp":
        inputs = torch.randn(samples, network["width"], device=device)
    else:
        inputs = torch.randn(samples, 3, network["image"], network["image"], device=device)
    return Work(model, (inputs, torch.randint(network["classes"], (samples,), device=device)), loss)


def blocks_of(model):
    """What FSDP per block wraps: the elements of the longest ModuleList or Sequential, or none."""
    lists = [m for m in model.modules() if isinstance(m, (nn.ModuleList, nn.Sequential))]
    if not lists:
        return []
    longest = max(lists, key=len)
    return [block for block in longest if any(True for _ in block.parameters())]


def memory_error(error):
    """Whether PyTorch ran out of memory: an exception class of its own since 1.13, on GPUs only."""
    kind = getattr(torch.cuda, "OutOfMemoryError", None)
    text = str(error)
    return (kind is not None and isinstance(error, kind)) or "out of memory" in text or "can't allocate memory" in text


def does_not_fit(words, error):
    return DeviceError(
        f"training {words}: it does not fit in the device's memory ({one_line(error, 120)}); make the batch or the "
        "network smaller"
    )
