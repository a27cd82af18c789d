"""Models as a user's module gives them, good and bad."""

import os
import signal
import sys
import time

import torch
from torch import nn


def _loss(model, batch):
    return nn.functional.cross_entropy(model(batch["x"]), batch["y"])


def make(samples):
    model = nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 4))
    return model, {"x": torch.randn(samples, 16), "y": torch.randint(4, (samples,))}, _loss


def _second_rank(after, does):
    model, batch, loss = None, None, None
    calls = [0]

    def watched(wrapped, given):
        calls[0] += 1
        if calls[0] > after and torch.distributed.is_initialized() and torch.distributed.get_rank() == 1:
            does()
        return _loss(wrapped, given)

    def made(samples):
        parts = make(samples)
        return parts[0], parts[1], watched

    del model, batch, loss
    return made


def dies(samples):
    return _second_rank(5, lambda: os.kill(os.getpid(), signal.SIGKILL))(samples)


def leaves(samples):
    return _second_rank(5, lambda: os._exit(0))(samples)


def hangs(samples):
    return _second_rank(5, lambda: time.sleep(1000))(samples)


def diverges(samples):
    model, batch, loss = make(samples)
    return model, batch, lambda m, b: loss(m, b) * float("inf")


def wrong(samples):
    return make(samples)[0]


def raises(samples):
    raise ValueError("no data\nhere")


def misfit(samples):
    model, batch, loss = make(samples)
    return model, {**batch, "x": torch.randn(samples, 17)}, loss


def leaves_python(samples):
    sys.exit(4)


def unused(samples):
    model, batch, _ = make(samples)
    model.add_module("spare", nn.Identity())
    model.spare.weight = nn.Parameter(torch.zeros(3))
    return model, batch, _loss
