"""Where a step is: modules as their forward begins, parameters as their gradient is ready. Hooks watch, none changes a value."""

import contextlib
import time

import torch


def watched_modules(model):
    """What a user would call a layer: modules that hold parameters themselves or hold no other module."""
    if type(model).__name__ == "OptimizedModule":  # torch.compile: its inside is one program
        return [("compiled", model)]
    return [
        (name or "model", module)
        for name, module in model.named_modules()
        if not any(True for _ in module.children()) or any(True for _ in module.parameters(recurse=False))
    ]


def trainable(model):
    """(name, parameter) that want a gradient, shared ones once."""
    return [(name, p) for name, p in model.named_parameters() if p.requires_grad]


class Marks:
    """A list of (what, index, time): "forward" i, "ready" j. `trace` also writes them into a running torch.profiler."""

    def __init__(self, model, trace=False):
        self.modules = watched_modules(model)
        self.parameters = trainable(model)
        self.trace = trace
        self.seen = []

    def note(self, what, index=0):
        self.seen.append((what, index, time.perf_counter()))
        if self.trace:
            with torch.profiler.record_function(f"ddpx:{what}:{index}"):
                pass

    @contextlib.contextmanager
    def attached(self):
        handles = []
        for i, (_, module) in enumerate(self.modules):
            handles.append(module.register_forward_pre_hook(lambda _m, _a, i=i: self.note("forward", i)))
        # The node that accumulates a parameter's gradient; DistributedDataParallel watches the same one. It lives as long as
        # somebody holds it.
        nodes = [p.expand_as(p).grad_fn.next_functions[0][0] for _, p in self.parameters]
        for j, node in enumerate(nodes):
            handles.append(node.register_hook(lambda *_args, j=j: self.note("ready", j)))
        try:
            yield self
        finally:
            for handle in handles:
                handle.remove()
            del nodes


@contextlib.contextmanager
def unchanged(model):
    """Puts weights, buffers, gradients, mode and random numbers back as they were."""
    device = next(model.parameters()).device
    values = {id(t): (t, t.detach().clone()) for t in list(model.parameters()) + list(model.buffers())}
    gradients = [(p, p.grad) for p in model.parameters()]
    modes = [(module, module.training) for module in model.modules()]
    numbers = torch.get_rng_state()
    device_numbers = torch.cuda.get_rng_state(device) if device.type == "cuda" else None
    for parameter, _ in gradients:
        parameter.grad = None
    try:
        yield
    finally:
        with torch.no_grad():
            for tensor, value in values.values():
                tensor.copy_(value)
        for parameter, gradient in gradients:
            parameter.grad = gradient
        for module, training in modes:
            module.training = training
        torch.set_rng_state(numbers)
        if device_numbers is not None:
            torch.cuda.set_rng_state(device_numbers, device)
