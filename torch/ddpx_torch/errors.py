"""What can go wrong, as in the C++ programs: the user can fix it (exit 2), or a device or rank failed (exit 3)."""


class InputError(Exception):
    """`place` is the flag or file, `problem` what is wrong with it, what is accepted and the remedy."""

    def __init__(self, place, problem):
        super().__init__(f"{place}: {problem}")


class DeviceError(Exception):
    """A device, a library or a rank failed: which, and what it was doing."""


def one_line(text, longest=300):
    """`text` without line breaks and control characters, cut where it is longer than a person reads."""
    words = " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())
    return words if len(words) <= longest else words[: longest - 3] + "..."


def quoted(text):
    return "'" + one_line(text, 100) + "'"
