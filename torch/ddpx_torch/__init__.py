"""Runs real PyTorch training for ddpx and captures models for its forecasts.

Talks to the C++ programs by files only (docs/files.md). Plain Python over torch >= 1.13; importing
this package imports no torch, so that every command can say in one line that there is none.
"""

__version__ = "0.1.0"


def capture(model, example_batch, loss, **options):
    """One training step of `model` as a ddpx network; see ddpx_torch/captured.py."""
    from .captured import capture as captured

    return captured(model, example_batch, loss, **options)
