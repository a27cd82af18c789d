"""From marks and times to a network's layers: which seconds belong to which parameters."""

from dataclasses import dataclass, field


@dataclass
class Group:
    """Parameters of one module whose gradients arrive one after the other: a layer of the network file."""

    module: str
    parameters: list  # indices, as they arrive
    forward: float = 0.0
    backward: float = 0.0
    forward_kernels: int = 0
    backward_kernels: int = 0
    forward_launches: list = field(default_factory=list)  # (seconds, record or None)
    backward_launches: list = field(default_factory=list)


def groups_of(arrival, names):
    """Groups in the order of arrival; `names` are the parameters', "blocks.0.up.weight"."""
    groups = []
    for j in arrival:
        module = names[j].rpartition(".")[0] or "model"
        if groups and groups[-1].module == module:
            groups[-1].parameters.append(j)
        else:
            groups.append(Group(module, [j]))
    return groups


def group_of_module(groups, modules, order):
    """For each watched module the group its forward belongs to: its own, else that of the last module before it, in the order
    of execution, that has one; what runs before all of them belongs to the first."""
    own = {}
    for index, group in enumerate(groups):
        own.setdefault(group.module, index)
    found, last = {}, None
    waiting = []
    for i in order:
        index = own.get(modules[i], last)
        if index is None:
            waiting.append(i)
            continue
        last = index
        found.setdefault(i, index)
    first = found[next(iter(found))] if found else len(groups) - 1
    for i in waiting:
        found.setdefault(i, first)
    return found


def add_wall_times(groups, seen, modules):
    """Adds one step's seconds by its marks. Every moment between the marks begin, backward and end goes to one group: forward
    to the module that began last, backward to the parameters that are ready next, the rest to the last of them."""
    order = [index for what, index, _ in seen if what == "forward"]
    place = group_of_module(groups, modules, order)
    of_parameter = {j: index for index, group in enumerate(groups) for j in group.parameters}
    at = {what: moment for what, _, moment in seen if what in ("begin", "backward", "end")}
    forward = [(index, moment) for what, index, moment in seen if what == "forward" and moment < at["backward"]]
    if forward:
        begins = [at["begin"]] + [moment for _, moment in forward[1:]] + [at["backward"]]
        for (index, _), begin, end in zip(forward, begins, begins[1:]):
            groups[place[index]].forward += end - begin
    else:
        groups[-1].forward += at["backward"] - at["begin"]
    last = at["backward"]
    for what, index, moment in seen:
        if what == "ready" and index in of_parameter:
            groups[of_parameter[index]].backward += moment - last
            last = moment
    groups[-1].backward += at["end"] - last


def add_kernels(groups, marks, spans, modules, launch_of):
    """The same for kernels, each placed by the moment it was launched. `marks` are (what, index, moment), `spans` (moment of
    launch, kernel). Returns what the optimizer's kernels take."""
    order = [index for what, index, _ in marks if what == "forward"]
    place = group_of_module(groups, modules, order)
    of_parameter = {j: index for index, group in enumerate(groups) for j in group.parameters}
    optimizer = 0.0
    backward = next(moment for what, _, moment in marks if what == "backward")
    end = next(moment for what, _, moment in marks if what == "end")
    forward = [(moment, place[index]) for what, index, moment in marks if what == "forward" and moment < backward]
    ready = [(moment, of_parameter[index]) for what, index, moment in marks if what == "ready" and index in of_parameter]
    for moment, span in spans:
        seconds = span.end - span.begin
        if moment >= end:
            optimizer += seconds
        elif moment < backward:
            index = next((group for begin, group in reversed(forward) if begin <= moment), forward[0][1] if forward else -1)
            groups[index].forward += seconds
            groups[index].forward_kernels += 1
            groups[index].forward_launches.append((seconds, launch_of(span)))
        else:
            index = next((group for at, group in ready if at >= moment), len(groups) - 1)
            groups[index].backward += seconds
            groups[index].backward_kernels += 1
            groups[index].backward_launches.append((seconds, launch_of(span)))
    return optimizer


def launches_json(key, launches, samples):
    """{key: the launches of which there are records, as a network file's layer holds them}; nothing where there are none."""
    known = [{"s_per_sample": seconds / samples, **{k: v for k, v in record.items() if k != "name"}} for seconds, record in launches if record and seconds > 0]
    return {key: known} if known else {}
