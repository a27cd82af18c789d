"""Percentiles as ddpx-validate has them, for the studies."""


def percentile(values, share):
    """Linear between ranks; `values` in any order, at least one."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
