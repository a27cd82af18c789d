"""PyTorch, or one line that says why there is none."""

import sys

from .errors import DeviceError, InputError, one_line


def load_torch():
    try:
        import torch
    except ImportError as error:
        raise InputError(
            "PyTorch", f"cannot be imported by {sys.executable} ({one_line(error, 120)}); use a Python that has torch >= 1.13"
        ) from error
    except Exception as error:  # a library that does not fit the system
        raise DeviceError(f"PyTorch: importing it failed: {type(error).__name__}: {one_line(error)}") from error
    if not hasattr(torch, "nn"):  # a folder called torch is found where there is no PyTorch
        raise InputError("PyTorch", f"is not there for {sys.executable}; use a Python that has torch >= 1.13")
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < (1, 13):
        raise InputError("PyTorch", f"is {torch.__version__} for {sys.executable}; 1.13 or newer is needed")
    if not torch.distributed.is_available():
        raise InputError("PyTorch", f"of {sys.executable} was built without torch.distributed, which ranks need")
    return torch
