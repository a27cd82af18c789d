"""What each group of a captured step takes: by the host's clock on a CPU, by the kernels' own records on a GPU.

`steps` is the step that is captured (captured.py), `names` its parameters' names.
"""

import statistics

import torch

from . import kernels
from .errors import DeviceError, InputError
from .marks import Marks
from .segments import add_kernels, add_wall_times, groups_of
from .timing import synchronize


def _arrival(seen):
    return [index for what, index, _ in seen if what == "ready"]


def wall_groups(steps, names, count):
    """Groups with the median seconds of `count` steps by the host's clock: on a CPU the host is the device."""
    marks = Marks(steps.model)
    visits, optimizer = [], []
    with marks.attached():
        for _ in range(count):
            marks.seen = []
            steps.step(marks.note)
            groups = groups_of(_arrival(marks.seen), names)
            if visits and [g.parameters for g in groups] != [g.parameters for g in visits[0]]:
                raise InputError("model", "gets its gradients in another order in every step; such a model is not modelled")
            add_wall_times(groups, marks.seen, [name for name, _ in marks.modules])
            visits.append(groups)
            moments = {what: moment for what, _, moment in marks.seen}
            optimizer.append(moments["done"] - moments["end"])
    for index, group in enumerate(visits[0]):
        group.forward = statistics.median(groups[index].forward for groups in visits)
        group.backward = statistics.median(groups[index].backward for groups in visits)
    return visits[0], statistics.median(optimizer)


def kernel_groups(steps, names, count=3):
    """Groups with the kernels' own seconds, from the profiler's records of some steps."""
    marks = Marks(steps.model, trace=True)
    multiprocessors = torch.cuda.get_device_properties(steps.device).multi_processor_count

    def launch_of(span):
        return kernels.record_of(span, multiprocessors) if kernels.is_product(span) else None

    def run():
        steps.step(marks.note)
        synchronize(steps.device)

    kernels.recorded(run, ("cpu", "cuda"))  # the first recording sets the profiler up
    groups, optimizer = None, 0.0
    for _ in range(count):
        with marks.attached():
            events = kernels.recorded(run, ("cpu", "cuda"))
        found = [mark[:3] for mark in kernels.marks_of(events)]
        spans = kernels.launched(events)
        if not spans or not any(what == "ready" for what, _, _ in found):
            raise DeviceError("torch.profiler recorded no kernels or no marks; capture needs a PyTorch whose profiler sees the GPU")
        if any(kernels.is_collective(span.name) for _, span in spans):
            raise InputError("model", "runs collectives: capture the plain model, not a distributed one")
        fresh = groups_of(_arrival(found), names)
        spent = add_kernels(fresh, found, spans, [name for name, _ in marks.modules], launch_of)
        if groups is None or spent + total(fresh) < optimizer + total(groups):
            groups, optimizer = fresh, spent  # the least disturbed one
    return groups, optimizer


def total(groups):
    return sum(group.forward + group.backward for group in groups)
