"""python3 -m ddpx_torch COMMAND"""

import argparse
import signal
import sys

from . import __version__, capturing, measure, merge, run, traces
from .errors import DeviceError, InputError
from .launch import Interrupted

DESCRIPTION = "Trains with real PyTorch, for ddpx to compare its forecasts with."
FOOTER = """examples:
  python3 -m ddpx_torch run --network mlp:width=1024 --batch 64,256 -o runs.json
  python3 -m ddpx_torch run --rows rows.json --transport nvlink=p2p --transport shm -o runs.json

exit codes: 0 ok; 2 a flag or a file is wrong; 3 a device or a rank failed; 130 interrupted"""


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise InputError("command line", f"{message}; {self.prog} --help says what is accepted")


def parser():
    top = _Parser("ddpx_torch", description=DESCRIPTION, epilog=FOOTER, formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("--version", action="version", version=f"ddpx_torch {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
    for name, module, words in (
        ("run", run, "train rows in fresh processes and write a runs file"),
        ("capture", capturing, "measure a model on one device and write it as a network file"),
        ("measure", measure, "measure PyTorch's speed on this host, for ddpx-calibrate --from"),
        ("trace", traces, "communication in torch.profiler's traces of a distributed run"),
        ("merge", merge, "join runs files of the same machine"),
    ):
        command = commands.add_parser(name, help=words, description=module.__doc__)
        module.add_arguments(command)
        command.set_defaults(command=module.run)
    return top


def main():
    try:
        options = parser().parse_args()
        return options.command(options)
    except InputError as error:
        sys.stderr.write(f"ddpx_torch: {error}\n")
        return 2
    except DeviceError as error:
        sys.stderr.write(f"ddpx_torch: {error}\n")
        return 3
    except Interrupted as error:
        sys.stderr.write(f"ddpx_torch: interrupted by {error}\n")
        return 130
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main())
