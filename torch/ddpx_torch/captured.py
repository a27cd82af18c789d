"""A user's own model, measured on one device, as a *network* file for ddpx-predict.

    import ddpx_torch
    ddpx_torch.capture(model, batch, loss, optimizer="adamw", dtype="bf16", path="model.json")

`loss(model, batch)` is the scalar that is minimised; the model is the plain one, on its device, not wrapped. It is left as it
was: weights, buffers, gradients, mode, random numbers.
"""

import statistics
import time

import torch

from .errors import InputError, one_line
from .files import opening, write_json
from .marks import trainable, unchanged
from .segments import launches_json
from .timed_groups import kernel_groups, total, wall_groups
from .timing import DROPPED, synchronize
from .training import autocast, set_precision

SECONDS = 2.0  # of steps timed without hooks, and as many with them
FEWEST, MOST = 5, 500
_ELEMENT_BYTES = {torch.float32: 4, torch.bfloat16: 2, torch.float16: 2}
_GRADIENT_DTYPES = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}
# A step counts as bound by the device when the host alone takes so much less.
HOST_SHARE = 0.9


def _first_tensor(value):
    if isinstance(value, torch.Tensor):
        return value
    members = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return next((t for t in map(_first_tensor, members) if t is not None), None)


class _Steps:
    """The step that is captured, in parts."""

    def __init__(self, model, batch, loss, optimizer, dtype):
        self.model, self.batch, self.loss, self.dtype = model, batch, loss, dtype
        self.device = next(model.parameters()).device
        parameters = [p for _, p in trainable(model)]
        made = {"sgd": lambda: torch.optim.SGD(parameters, lr=1e-6), "adamw": lambda: torch.optim.AdamW(parameters, lr=1e-6)}
        self.optimizer = made[optimizer]()

    def forward(self):
        with autocast(self.device, self.dtype):
            value = self.loss(self.model, self.batch)
        if not (isinstance(value, torch.Tensor) and value.numel() == 1 and value.requires_grad):
            raise InputError("loss", "must return a scalar tensor that depends on the model's parameters")
        return value

    def step(self, note=lambda _what: None):
        self.optimizer.zero_grad(set_to_none=True)
        note("begin")
        value = self.forward()
        note("backward")
        value.backward()
        note("end")
        self.optimizer.step()
        note("done")


def _repeats(step):
    return max(FEWEST, min(MOST, round(SECONDS / step)))


def _plain_step(steps):
    """A step's seconds as it is without hooks: median of times that end when the device is done."""
    device = steps.device
    for _ in range(DROPPED):
        steps.step()
    synchronize(device)
    begin = time.perf_counter()
    steps.step()
    synchronize(device)
    count = _repeats(time.perf_counter() - begin)
    times = []
    # On a GPU the host runs ahead as it does in training: blocks of steps that nobody waits in.
    block = 1 if device.type == "cpu" else max(1, count // 5)
    for _ in range(max(FEWEST, count // block)):
        begin = time.perf_counter()
        for _ in range(block):
            steps.step()
        synchronize(device)
        times.append((time.perf_counter() - begin) / block)
    return statistics.median(times), count


def _host_times(steps, count):
    """(forward and backward, optimizer): what the host alone takes, from an idle device each time, so that no call waits for a
    place in the queue."""
    parts = []
    for _ in range(min(count, 10)):
        steps.optimizer.zero_grad(set_to_none=True)
        spent = []
        value = None
        for part in ("forward", "backward", "optimizer"):
            synchronize(steps.device)
            begin = time.perf_counter()
            if part == "forward":
                value = steps.forward()
            elif part == "backward":
                value.backward()
            else:
                steps.optimizer.step()
            spent.append(time.perf_counter() - begin)
        parts.append((spent[0] + spent[1], spent[2]))
    synchronize(steps.device)
    return tuple(statistics.median(column) for column in zip(*parts))


def _activation_bytes(steps):
    """What a forward keeps for its backward, every storage once, without the parameters."""
    known = {p.data_ptr() for p in steps.model.parameters()}
    kept = {}

    def pack(tensor):
        if isinstance(tensor, torch.Tensor) and tensor.device == steps.device and tensor.data_ptr() not in known:
            kept[tensor.data_ptr()] = max(kept.get(tensor.data_ptr(), 0), tensor.numel() * tensor.element_size())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        value = steps.forward()
    total = sum(kept.values())
    value.backward()
    return total


def _not_modelled(model, arrived, parameters):
    """What a forecast of this model leaves out."""
    notes = []
    missing = [name for j, (name, _) in enumerate(parameters) if j not in arrived]
    if missing:
        notes.append(
            f"{len(missing)} parameters get no gradient ({one_line(', '.join(missing), 120)}): DistributedDataParallel needs "
            "find_unused_parameters=True, whose own all-reduce and fixed buckets are not in the forecast"
        )
    sparse = [name for name, p in parameters if p.grad is not None and p.grad.is_sparse]
    if sparse:
        notes.append(f"sparse gradients ({one_line(', '.join(sparse), 120)}) are forecast as dense ones")
    if type(model).__name__ == "OptimizedModule":
        notes.append("torch.compile under DistributedDataParallel splits the program at buckets, which is not in the forecast")
    return notes


def _check(model, optimizer, dtype):
    kind = type(model).__name__
    if kind in ("DistributedDataParallel", "FullyShardedDataParallel", "DataParallel"):
        raise InputError("model", f"is a {kind}; capture the plain model inside it")
    if optimizer not in ("sgd", "adamw"):
        raise InputError("optimizer", f"is '{one_line(optimizer)}'; accepted: sgd, adamw")
    if dtype not in ("fp32", "tf32", "bf16", "fp16"):
        raise InputError("dtype", f"is '{one_line(dtype)}'; accepted: fp32, tf32, bf16, fp16")
    parameters = trainable(model)
    if not parameters:
        raise InputError("model", "has no parameter that wants a gradient")
    kinds = {p.dtype for _, p in parameters}
    if len(kinds) > 1 or not kinds <= set(_ELEMENT_BYTES):
        words = ", ".join(sorted(str(k) for k in kinds))
        raise InputError("model", f"has parameters of {words}: buckets of several number formats are not modelled")
    return parameters


def _broadcasts(model):
    """DistributedDataParallel sends buffers before a forward, those of one type together."""
    sizes = {}
    for buffer in model.buffers():
        sizes[buffer.dtype] = sizes.get(buffer.dtype, 0) + buffer.numel() * buffer.element_size()
    return [size for size in sizes.values() if size]


def _layer(group, parameters, samples, factor):
    layer = {"name": group.module, "parameters": [parameters[j][1].numel() for j in group.parameters]}
    layer["forward_s_per_sample"] = group.forward * factor / samples
    layer["backward_s_per_sample"] = group.backward * factor / samples
    if factor == 1.0 and group.forward_kernels + group.backward_kernels:
        # Bound by the host, the device's own gaps do not show in the step's time: the machine's are taken.
        layer["forward_kernels"] = group.forward_kernels
        layer["backward_kernels"] = group.backward_kernels
    layer.update(launches_json("forward_launches", group.forward_launches, samples / factor))
    layer.update(launches_json("backward_launches", group.backward_launches, samples / factor))
    return layer


def _unique_names(layers):
    seen = {}
    for layer in layers:
        seen[layer["name"]] = seen.get(layer["name"], 0) + 1
        if seen[layer["name"]] > 1:
            layer["name"] += f" ({seen[layer['name']]})"


def capture(model, example_batch, loss, *, optimizer="sgd", dtype="fp32", samples=None, name="captured", path=None, context=None):
    """The network file's content; written to `path` where one is given. `samples` is the batch's size, by default the first
    dimension of its first tensor."""
    parameters = _check(model, optimizer, dtype)
    first = _first_tensor(example_batch)
    if samples is None and (first is None or first.dim() == 0):
        raise InputError("example_batch", "has no tensor whose first dimension is the number of samples; give samples=")
    samples = int(samples or first.shape[0])
    device = parameters[0][1].device
    set_precision(dtype)
    names = [n for n, _ in parameters]
    with unchanged(model):
        steps = _Steps(model, example_batch, loss, optimizer, dtype)
        step, count = _plain_step(steps)
        host = _host_times(steps, count) if device.type == "cuda" else (0.0, 0.0)
        groups, optimizer_time = wall_groups(steps, names, count) if device.type == "cpu" else kernel_groups(steps, names)
        activations = _activation_bytes(steps)
        notes = _not_modelled(model, {j for group in groups for j in group.parameters}, parameters)
    device_bound = device.type == "cpu" or sum(host) < HOST_SHARE * step
    factor = step / (total(groups) + optimizer_time) if device_bound else 1.0
    layers = [_layer(group, parameters, samples, factor) for group in reversed(groups)]
    _unique_names(layers)
    document = opening("ddpx.network", _context(device, context, notes, step, device_bound))
    document["name"] = name
    element = 4 if dtype in ("fp32", "tf32") else 2  # the file counts elements of four bytes, the model shrinks them again
    document["activation_bytes_per_sample"] = activations / samples * 4 / element
    document["captured"] = {
        "batch_per_rank": samples,
        "dtype": dtype,
        "optimizer": optimizer,
        "optimizer_s": optimizer_time * factor,
        "host_s": host[0],
        "host_optimizer_s": host[1],
        "broadcast_bytes": _broadcasts(model),
        "gradient_dtype": _GRADIENT_DTYPES[parameters[0][1].dtype],
    }
    kernels = sum(group.forward_kernels + group.backward_kernels for group in groups)
    if kernels and factor != 1.0:  # else the layers count them, for the machine's gaps
        document["captured"]["kernels"] = kernels
    document["layers"] = layers
    if path is not None:
        write_json(path, document)
    return document


def _context(device, given, notes, step, device_bound):
    context = dict(given or {})
    context["torch"] = str(torch.__version__)
    context["device"] = torch.cuda.get_device_name(device) if device.type == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    context["step_s"] = f"{step:.6g}"
    context["bound_by"] = "device" if device_bound else "host"
    if notes:
        context["not_modelled"] = "; ".join(notes)
    return context
