"""A product and an all-reduce alone and side by side: what each takes from the other."""

import math
import time

import torch
import torch.distributed as dist

VISITS = 5
MOST_PRODUCTS = 400
SPARE = 1.6  # products for so many times the collectives' time, since both slow each other down


def _beside_on_cpu(clock, product, collective):
    """Products run for as long as the collective takes, and the other way round."""

    def products_while(handle):
        count, begin = 0, time.perf_counter()
        while not handle.is_completed():
            product()
            count += 1
        return (time.perf_counter() - begin) / max(1, count)

    clock.mates.exchange(0)
    alone = (clock.once(product, 8), clock.paced(lambda: collective(False), 1)[0])
    clock.mates.exchange(0)
    collective(False)
    begin = time.perf_counter()
    handle = collective(True)
    per_product = products_while(handle)
    handle.wait()
    return alone[0], per_product, alone[1], time.perf_counter() - begin


def _beside_on_gpu(clock, product, collective, side, runs=2):
    """All queued before any of it runs: collectives on a stream of their own, products on the usual one with a mark after each. A
    product counts when it ran from its beginning to its end while collectives did; the first may have begun before them."""
    clock.mates.exchange(0)
    collective_alone = clock.slowest([clock.once(lambda: collective(False), 3, lambda: collective(False))])[0]
    product_alone = clock.slowest([clock.once(product, 5)])[0]
    count = min(MOST_PRODUCTS, 4 + math.ceil(SPARE * runs * collective_alone / product_alone))
    held, begin, end, *marks = clock.events(count + 4)
    torch.cuda.synchronize()
    clock.mates.exchange(0)
    clock.issue = max(clock.issue, 4e-5)
    clock.hold(count + 2 * runs)
    collective(False)  # the ranks meet
    held.record()
    side.wait_event(held)
    with torch.cuda.stream(side):
        begin.record(side)
        for _ in range(runs):
            collective(False)
        end.record(side)
    marks[0].record()
    for mark in marks[1:]:
        product()
        mark.record()
    torch.cuda.synchronize()
    until = held.elapsed_time(end)
    at = [held.elapsed_time(mark) for mark in marks]
    inside = max([i for i in range(1, len(at)) if at[i] <= until], default=1)
    product_beside = (at[inside] - at[1]) / (inside - 1) if inside > 1 else at[1] - at[0]
    return product_alone, product_beside * 1e-3, collective_alone, begin.elapsed_time(end) * 1e-3 / runs


def beside(job, clock, device, tick):
    from .measuring import product_of

    samples = []
    side = torch.cuda.Stream(device) if device.type == "cuda" else None
    for product_pass, rows, width, size in job["beside"]:
        product = product_of("fp32", device, product_pass, rows, width, width)
        values = torch.ones(size // 4, device=device)

        def collective(asynchronous, values=values):
            return dist.all_reduce(values, async_op=asynchronous)

        visits = []
        for _ in range(VISITS):
            visits.append(_beside_on_gpu(clock, product, collective, side) if side else _beside_on_cpu(clock, product, collective))
        names = ("product_alone", "product_beside", "collective_alone", "collective_beside")
        samples.append(
            {
                "link": job["link"],
                "product": {"pass": product_pass, "dtype": "fp32", "rows": rows, "in": width, "out": width},
                "call": {"collective": "all_reduce", "dtype": "fp32", "ranks": clock.mates.world, "bytes": size},
                **{f"{name}_times_s": clock.slowest(list(column)) for name, column in zip(names, zip(*visits))},
            }
        )
        tick()
    return {"besides": samples}
