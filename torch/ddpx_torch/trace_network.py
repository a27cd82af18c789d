"""A network from torch.profiler's trace of training on one GPU, recorded with record_shapes=True: the order in which gradients come
and their sizes are those of autograd's AccumulateGrad, kernels belong to the gradient that is ready next after their launch."""

import math

from .errors import InputError, quoted
from .files import opening
from .kernels import is_collective, is_product, launched, record_of
from .segments import Group, launches_json

_ACCUMULATE = "torch::autograd::AccumulateGrad"
_BACKWARD = "autograd::engine::evaluate_function: "
_GRADIENTS = {"float": "fp32", "c10::bfloat16": "bf16", "c10::half": "fp16"}


def _begin(event):
    return float(event["ts"]) * 1e-6


def _end(event):
    return (float(event["ts"]) + float(event.get("dur", 0))) * 1e-6


def _named(events, start):
    found = [e for e in events if e.get("ph") == "X" and str(e.get("name", "")).startswith(start) and e.get("cat") in ("cpu_op", "user_annotation")]
    return sorted(found, key=_begin)


def _last_step(events, place):
    """(begin, end, optimizer's begin) of the last step between two optimizer steps."""
    optimizers = _named(events, "Optimizer.step")
    if len(optimizers) < 2:
        raise InputError(place, f"holds {len(optimizers)} optimizer steps; a whole training step lies between two: record three steps or more")
    before, last = optimizers[-2:]
    return _end(before), _end(last), _begin(last)


def _parameters(accumulations, place):
    """(moment of readiness, elements) in order of arrival, and the gradients' format."""
    ready, formats = [], set()
    for event in accumulations:
        args = event.get("args") or {}
        dims, kinds = args.get("Input Dims"), args.get("Input type")
        if not (isinstance(dims, list) and dims and isinstance(dims[0], list) and all(isinstance(n, int) and n > 0 for n in dims[0])):
            raise InputError(place, "does not say how large gradients are: record it with record_shapes=True")
        formats.add(str(kinds[0]).lower() if isinstance(kinds, list) and kinds else "float")
        ready.append((_end(event), math.prod(dims[0])))
    if len(formats) > 1 or not formats <= set(_GRADIENTS):
        raise InputError(place, f"has gradients of {', '.join(sorted(formats))}: buckets of several number formats are not modelled")
    return ready, _GRADIENTS[formats.pop()]


def network_of(document, place, batch, dtype, optimizer, name):
    """The network file's content."""
    events = [event for event in document["traceEvents"] if isinstance(event, dict)]
    begin, end, optimizer_begin = _last_step(events, place)
    accumulations = [event for event in _named(events, _ACCUMULATE) if begin <= _begin(event) < end]
    backward = [event for event in _named(events, _BACKWARD) if begin <= _begin(event) < end]
    if not accumulations or not backward:
        raise InputError(place, "has no backward pass between its last two optimizer steps: record it with ProfilerActivity.CPU and CUDA")
    ready, gradient_dtype = _parameters(accumulations, place)
    properties = document.get("deviceProperties")
    multiprocessors = properties[0].get("numSms", 0) if isinstance(properties, list) and properties and isinstance(properties[0], dict) else 0
    groups = [Group(f"gradient {i + 1}", [elements]) for i, (_, elements) in enumerate(ready)]
    forward, forward_kernels, update = 0.0, 0, 0.0
    for moment, span in launched(events):
        if not begin <= moment < end:
            continue
        if is_collective(span.name):
            raise InputError(place, "holds NCCL kernels: it is of a distributed run; a network comes from one GPU's trace")
        seconds = span.end - span.begin
        if moment >= optimizer_begin:
            update += seconds
        elif moment < _begin(backward[0]):
            forward, forward_kernels = forward + seconds, forward_kernels + 1
        else:
            group = next((group for (at, _), group in zip(ready, groups) if moment <= at), groups[-1])
            group.backward += seconds
            group.backward_kernels += 1
            group.backward_launches.append((seconds, record_of(span, multiprocessors) if is_product(span) else None))
    total = sum(group.backward for group in groups)
    if not total or not forward:
        raise InputError(place, "has no kernels of a forward and a backward pass in its last step: record it with ProfilerActivity.CPU and CUDA")
    result = opening("ddpx.network", {"trace": place, "not_modelled": "the host's own time: a profiled host is slower, so a step that it bounds is forecast too fast"})
    result["name"] = name
    result["captured"] = {
        "batch_per_rank": batch,
        "dtype": dtype,
        "optimizer": optimizer,
        "optimizer_s": update,
        "gradient_dtype": gradient_dtype,
    }
    result["layers"] = [_layer(group, forward * group.backward / total, forward_kernels * group.backward_kernels, batch, groups) for group in reversed(groups)]
    return result


def _layer(group, forward, weight, batch, groups):
    """Forward's time is told by no module in a trace: it is laid on the layers as backward's, which changes nothing of a step's."""
    kernels = sum(other.backward_kernels for other in groups)
    layer = {
        "name": group.module,
        "parameters": group.parameters,
        "forward_s_per_sample": forward / batch,
        "backward_s_per_sample": group.backward / batch,
        "forward_kernels": round(weight / kernels),
        "backward_kernels": group.backward_kernels,
    }
    layer.update(launches_json("backward_launches", group.backward_launches, batch))
    return layer


def check_words(options):
    """The flags that only a network needs."""
    if options.network and len(options.files) != 1:
        raise InputError("--network", f"comes from one GPU's trace; {len(options.files)} files are given")
    if options.network and options.batch is None:
        raise InputError("--network", "needs --batch: a trace does not say how many samples a step took")
    if not options.network and (options.batch, options.dtype, options.optimizer) != (None, None, None):
        raise InputError("--batch, --dtype, --optimizer", "are the network's; give --network FILE")
    if options.network and options.json:
        raise InputError("--network", f"and --json are two answers; give one of them ({quoted(options.network)})")
