"""How the ranks of a job meet: values of all of them by key, without occupying the device, and their process groups."""

import datetime
import json
import os
import time

WAIT = datetime.timedelta(hours=2)  # the launcher ends ranks that hang


class Alone:
    """The ranks of a job of one."""

    rank, world = 0, 1

    def exchange(self, value, ranks=1):
        return [value]

    def group(self, ranks):
        return None

    def close(self):
        pass


class FolderStore:
    """Values by key as files, for ranks of one host. torch.distributed's FileStore is looked at every ten milliseconds, which would
    be how far apart ranks come together; and no rank serves it, so that one that ends takes no other along."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)

    def set(self, key, value):
        path = os.path.join(self.folder, key.replace("/", "-"))
        with open(path + ".part", "w", encoding="utf-8") as file:
            file.write(value)
        os.replace(path + ".part", path)

    def get(self, key):
        path = os.path.join(self.folder, key.replace("/", "-"))
        begin = time.monotonic()
        while not os.path.exists(path):
            time.sleep(min(0.01, max(1e-4, (time.monotonic() - begin) / 10)))
        with open(path, encoding="utf-8") as file:
            return file.read()


class Together:
    """Ranks that meet at a store: values of all ranks by key, without occupying the device."""

    def __init__(self, rank, world, device, folder=None):
        import torch.distributed as dist

        self.rank, self.world = rank, world
        backend = "nccl" if device.type == "cuda" else "gloo"
        if folder is None:  # a launcher's environment says where they meet
            dist.init_process_group(backend, rank=rank, world_size=world, timeout=WAIT, init_method="env://")
            self.store = dist.PrefixStore("ddpx", dist.distributed_c10d._get_default_store())
            self.store.set_timeout(WAIT)
        else:
            store = dist.FileStore(os.path.join(folder, "store"), world)
            dist.init_process_group(backend, rank=rank, world_size=world, timeout=WAIT, store=store)
            self.store = FolderStore(os.path.join(folder, "meetings"))
        self.meetings = {}
        self.groups = {}

    def exchange(self, value, ranks=None):
        """The values of the first `ranks` ranks, all of which ask; all ranks where none is given."""
        ranks = ranks or self.world
        self.meetings[ranks] = self.meetings.get(ranks, 0) + 1
        place = f"{ranks}/{self.meetings[ranks]}"
        self.store.set(f"{place}/{self.rank}", json.dumps(value))
        return [json.loads(self.store.get(f"{place}/{other}")) for other in range(ranks)]

    def group(self, ranks):
        """The process group of the first `ranks` ranks; every rank asks for it."""
        import torch.distributed as dist

        if ranks == self.world or ranks == 1:
            return None
        if ranks not in self.groups:
            self.groups[ranks] = dist.new_group(list(range(ranks)))
        return self.groups[ranks]

    def close(self):
        import torch.distributed as dist

        dist.destroy_process_group()
