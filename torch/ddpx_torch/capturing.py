"""`capture`: one training step of a model, measured on one device, as a network file for ddpx-predict --network."""

import sys

from .errors import DeviceError, InputError, one_line
from .files import check_writable
from .flags import count_of
from .networks import parse_network
from .rows import DTYPES, OPTIMIZERS, Row
from .run import choose_device
from .strategy import Strategy


def add_arguments(parser):
    parser.add_argument("network", metavar="SPEC", help="module:function, mlp:..., gpt:... or resnet:...; the function gets the batch size and returns (module, example batch, loss)")
    parser.add_argument("--batch", metavar="B", default="64", help="samples of a micro-batch (default: 64)")
    parser.add_argument("--dtype", choices=DTYPES, default="fp32", help="bf16 and fp16 by autocast (default: fp32)")
    parser.add_argument("--optimizer", choices=OPTIMIZERS, default="sgd", help="(default: sgd)")
    parser.add_argument("--device", choices=("auto", "cuda", "cpu"), default="auto", help="(default: a GPU where PyTorch sees one)")
    parser.add_argument("--threads", metavar="N", default="1", help="on a CPU (default: 1)")
    parser.add_argument("--name", metavar="TEXT", help="the network's name (default: SPEC)")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the network file to write")


def run(options):
    network = parse_network(options.network, "network")
    batch = count_of("--batch", options.batch)
    threads = count_of("--threads", options.threads, 1024)
    check_writable(options.output, "-o")
    if options.network.endswith(".json"):
        raise InputError("network", "is a captured one already; name its model")
    device_name = choose_device(options, 1)
    import torch

    from . import models
    from .rank import check_memory
    from .timing import keep_freed_memory, use_threads

    if device_name == "cpu":
        keep_freed_memory()
        use_threads(threads)
        device = torch.device("cpu")
    else:
        device = torch.device("cuda", 0)
    try:
        row = Row(options.network, 1, "", Strategy(), "weak", options.dtype, options.optimizer, batch)
        check_memory(row, device, 1)
        work = models.build(network, batch, device, 1)
        document = _captured(options, work, batch)
    except (InputError, DeviceError):
        raise
    except Exception as error:
        if models.memory_error(error):
            raise models.does_not_fit(f"{options.network}, batch {batch}", error) from error
        if network.generator != "user":
            raise
        raise InputError(
            f"network {options.network}",
            f"its training step raised {type(error).__name__}: {one_line(error, 200)}; the module, its example batch and its loss must fit each other",
        ) from error
    notes = document["context"].get("not_modelled")
    if notes:
        sys.stderr.write(f"ddpx_torch: not modelled: {notes}\n")
    parameters = sum(sum(layer["parameters"]) for layer in document["layers"])
    step = float(document["context"]["step_s"])
    sys.stderr.write(f"ddpx_torch: wrote {options.output}: {parameters} parameters, a step of {step * 1e3:.4g} ms\n")
    return 0


def _captured(options, work, batch):
    from .captured import capture

    return capture(
        work.model,
        work.batch,
        work.loss,
        optimizer=options.optimizer,
        dtype=options.dtype,
        samples=batch,
        name=options.name or options.network,
        path=options.output,
        context={"model": options.network},
    )
