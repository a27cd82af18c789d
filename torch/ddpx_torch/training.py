"""One training step of a row, as a PyTorch user writes it."""

import contextlib
import functools

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from .errors import InputError, one_line
from .models import blocks_of
from .strategy import MIB

_HALF = {"bf16": torch.bfloat16, "fp16": torch.float16}


def version():
    parts = torch.__version__.split("+")[0].split(".")
    return tuple(int("".join(c for c in part if c.isdigit()) or 0) for part in parts[:2])


def set_precision(dtype):
    """fp32 means fp32: TF32 products and convolutions only where a row asks for them."""
    allowed = dtype == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = allowed
    torch.backends.cudnn.allow_tf32 = allowed


def autocast(device, dtype):
    if dtype not in _HALF:
        return contextlib.nullcontext()
    return torch.autocast(device.type, _HALF[dtype])


def check_supported(row, device):
    """What this PyTorch cannot run, said before anything is built."""
    words = row.words()
    strategy = row.strategy
    if device.type == "cpu":
        if row.dtype in ("tf32", "fp16"):
            raise InputError(words, f"PyTorch on CPUs has no {row.dtype} training; accepted there: fp32, bf16")
        if strategy.channels:
            raise InputError(words, "channels=C is NCCL's; Gloo has none")
        if strategy.compression == "bf16" and version() < (2, 0):
            raise InputError(words, f"Gloo of PyTorch {torch.__version__} cannot reduce bf16; use compress=fp16 or PyTorch 2")
    explicit = strategy.bucket is not None
    first = strategy.first_bucket
    # Pull request 121640 (2024): with bucket_cap_mb given, the first bucket is as large as the others.
    if explicit and first is not None and first != strategy.bucket and version() >= (2, 4):
        raise InputError(words, f"PyTorch {torch.__version__} makes the first bucket as large as bucket=SIZE; drop first-bucket")


@contextlib.contextmanager
def _first_bucket(size):
    """PyTorch takes the first bucket's size from this name when a DistributedDataParallel is made."""
    usual = getattr(dist, "_DEFAULT_FIRST_BUCKET_BYTES", None)
    if size is None or usual is None:
        yield
        return
    dist._DEFAULT_FIRST_BUCKET_BYTES = size
    try:
        yield
    finally:
        dist._DEFAULT_FIRST_BUCKET_BYTES = usual


def _wrap_ddp(model, strategy, device, group, options):
    arguments = dict(options, gradient_as_bucket_view=strategy.bucket_view)
    if strategy.bucket is not None:
        arguments["bucket_cap_mb"] = strategy.bucket / MIB
    if device.type == "cuda":
        arguments["device_ids"] = [device.index]
    first = strategy.first_bucket if strategy.first_bucket is not None else strategy.bucket
    with _first_bucket(first):
        wrapped = DistributedDataParallel(model, process_group=group, **arguments)
    if strategy.compression:
        from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

        hook = getattr(default_hooks, strategy.compression + "_compress_hook")
        wrapped.register_comm_hook(group, hook)
    return wrapped


def _by_block(model, words):
    blocks = blocks_of(model)
    if not blocks:
        raise InputError(words, "fsdp=block wraps the elements of a ModuleList or Sequential, and the model has none")
    return blocks


def _fully_shard(model, device, group, words):
    """FSDP2 around each block and the rest; False where this PyTorch (before 2.6) has none."""
    try:
        from torch.distributed.fsdp import fully_shard
    except Exception:
        return False
    from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

    mesh = DeviceMesh.from_group(group, device.type) if group else init_device_mesh(device.type, (dist.get_world_size(),))
    for block in _by_block(model, words):
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return True


def _wrap_fsdp(model, strategy, device, group, words):
    """(wrapped model, what wraps it)"""
    if strategy.fsdp == "block" and _fully_shard(model, device, group, words):
        return model, "fully_shard"
    try:
        from torch.distributed.fsdp import FullyShardedDataParallel
        from torch.distributed.fsdp.wrap import lambda_auto_wrap_policy
    except Exception as error:
        raise InputError(
            words, f"FSDP of PyTorch {torch.__version__} cannot be imported here ({one_line(error, 80)}); use PyTorch 2"
        ) from error
    arguments = {"process_group": group, "device_id": device if device.type == "cuda" else torch.device("cpu")}
    if strategy.fsdp == "block":
        blocks = {id(block) for block in _by_block(model, words)}
        arguments["auto_wrap_policy"] = functools.partial(lambda_auto_wrap_policy, lambda_fn=lambda m: id(m) in blocks)
    return FullyShardedDataParallel(model, **arguments), "FullyShardedDataParallel"


class Trainer:
    """A row's model, wrapped, with its optimizer. `ddp_options` are further arguments of DistributedDataParallel; `compile` is
    torch.compile around it all, which then splits its program at DistributedDataParallel's buckets (DDPOptimizer)."""

    def __init__(self, row, work, device, group=None, ddp_options=None, compile=False):
        strategy = row.strategy
        self.work = work
        self.device = device
        self.dtype = row.dtype
        self.micro_batches = strategy.micro_batches
        self.sync = strategy.sync
        self.is_ddp = row.gpus > 1 and not strategy.fsdp
        self.fsdp = None
        if row.gpus > 1 and device.type == "cpu" and version() < (2, 0) and any(p.dtype == torch.bfloat16 for p in work.model.parameters()):
            raise InputError(row.words(), f"Gloo of PyTorch {torch.__version__} cannot reduce the model's bf16 gradients; use PyTorch 2")
        if row.gpus == 1:
            self.model = work.model
        elif strategy.fsdp:
            self.model, self.fsdp = _wrap_fsdp(work.model, strategy, device, group, row.words())
        else:
            self.model = _wrap_ddp(work.model, strategy, device, group, ddp_options or {})
        parameters = [p for p in self.model.parameters() if p.requires_grad]
        if not parameters:
            raise InputError(row.words(), "the model has no parameter that wants a gradient")
        if row.optimizer == "adamw":
            self.optimizer = torch.optim.AdamW(parameters, lr=1e-4)
        else:
            self.optimizer = torch.optim.SGD(parameters, lr=0.01)
        self.called = torch.compile(self.model) if compile else self.model
        self.loss = None

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        for i in range(self.micro_batches):
            # FSDP reduces every micro-batch: without it each rank would keep all gradients, which it is there to avoid.
            quiet = self.is_ddp and not (self.sync and i == self.micro_batches - 1)
            with self.model.no_sync() if quiet else contextlib.nullcontext():
                with autocast(self.device, self.dtype):
                    loss = self.work.loss(self.called, self.work.batch)
                    if self.micro_batches > 1:
                        loss = loss / self.micro_batches
                loss.backward()
        self.optimizer.step()
        self.loss = loss.detach()

    def bucket_bytes(self):
        """Of the buckets in use, first one first; nothing before the second step and without DistributedDataParallel."""
        if not self.is_ddp:
            return []
        data = self.model._get_ddp_logging_data()
        text = data.get("rebuilt_bucket_sizes") or data.get("bucket_sizes") or ""
        return [int(size) for size in text.split(",") if size.strip().isdigit()]
