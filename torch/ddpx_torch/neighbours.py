"""Other ranks of this host at work: copies of a captured model that train in processes of their own while the capture goes on. On a
CPU ranks share caches and memory, and a step alone says too little: two ranks on two cores each took 1.1 to 1.9 times as long.

Started by Neighbours: JSON words, then "ready" on stdout; it is stopped and continued by signals, and ends with who started it.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time

from .errors import DeviceError, InputError, one_line

READY = "ready"
PATIENCE = 120.0


class Neighbours:
    """`count` of them, stopped except inside `working()`."""

    def __init__(self, count, **words):
        self.network = words["network"]
        package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
        command = [sys.executable, "-m", "ddpx_torch.neighbours", json.dumps(words)]
        self.processes = [
            subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ, PYTHONPATH=path), text=True)
            for _ in range(count)
        ]

    def __enter__(self):
        try:
            for process in self.processes:
                if process.stdout.readline().strip() != READY:
                    said = process.communicate(timeout=PATIENCE)[1].strip().splitlines()
                    raise InputError(f"network {self.network}", f"cannot be trained: {one_line(said[-1] if said else 'its process ended without a word')}")
                process.send_signal(signal.SIGSTOP)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.communicate()

    @contextlib.contextmanager
    def working(self):
        for process in self.processes:
            if process.poll() is not None:
                raise DeviceError(f"a copy of the model that trained beside the first ended with exit code {process.returncode}")
            process.send_signal(signal.SIGCONT)
        try:
            yield
        finally:
            for process in self.processes:
                process.send_signal(signal.SIGSTOP)


def _end_with(parent):
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)


def main():
    words = json.loads(sys.argv[1])
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    import torch

    from . import models
    from .captured import Steps
    from .networks import parse_network
    from .timing import DROPPED, keep_freed_memory
    from .training import set_precision

    keep_freed_memory()
    torch.set_num_threads(words["threads"])
    set_precision(words["dtype"])
    work = models.build(parse_network(words["network"]), words["batch"], torch.device("cpu"), 2)
    steps = Steps(work.model, work.batch, work.loss, words["optimizer"], words["dtype"])
    for _ in range(DROPPED):
        steps.step()
    print(READY, flush=True)
    while True:
        steps.step()


if __name__ == "__main__":
    main()
