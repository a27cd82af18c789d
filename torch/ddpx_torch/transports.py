"""How ranks reach each other: a name for rows to call the link, and the environment that makes NCCL or Gloo use it."""

from dataclasses import dataclass, field

from .errors import InputError, quoted

# NCCL reads its environment once in a process, so every transport is a process set of its own.
# https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
KINDS = {
    "auto": {},
    "p2p": {},
    "shm": {"NCCL_P2P_DISABLE": "1"},
    "socket": {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1", "NCCL_NET": "Socket", "NCCL_IB_DISABLE": "1", "NCCL_SOCKET_IFNAME": "lo"},
}
# NVLink multicast stays off: a program that dies while using it can leave GPUs unusable that others share.
ALWAYS = {"NCCL_NVLS_ENABLE": "0"}


@dataclass(frozen=True)
class Transport:
    name: str
    kind: str = "auto"
    variables: dict = field(default_factory=dict, hash=False)

    def environment(self, base, channels=None):
        variables = dict(base)
        # Gloo looks up the host's own name, which sandboxes often do not know; all ranks are on this host.
        variables.setdefault("GLOO_SOCKET_IFNAME", "lo")
        variables.update(self.switches(channels))
        variables.update(ALWAYS)
        return variables

    def switches(self, channels=None):
        """What a row ran with and another transport's did not."""
        extra = {"NCCL_MAX_CTAS": str(channels)} if channels else {}
        return {**KINDS[self.kind], **self.variables, **extra}


def parse_transport(text):
    """`[NAME=]KIND[,channels=C][,VARIABLE=VALUE...]`"""
    first, *rest = text.split(",")
    name, equals, kind = first.partition("=")
    if not equals:
        name, kind = first, first
    if not name or kind not in KINDS:
        raise InputError(
            "--transport",
            f"is {quoted(text)}; accepted: [NAME=]{'|'.join(KINDS)}[,channels=C][,VARIABLE=VALUE...], as nvlink=p2p",
        )
    variables = {}
    for word in rest:
        key, equals, value = word.partition("=")
        if key == "channels" and value.isascii() and value.isdigit() and 1 <= int(value) <= 1024:
            variables["NCCL_MAX_CTAS"] = value
        elif key.isupper() and key.startswith(("NCCL_", "GLOO_")) and value:
            variables[key] = value
        else:
            raise InputError("--transport", f"has {quoted(word)}; accepted after the kind: channels=C, NCCL_...=VALUE, GLOO_...=VALUE")
    return Transport(name, kind, variables)
