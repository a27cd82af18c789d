"""Values of flags, or one line naming the flag, the value and what is accepted."""

from .errors import InputError, quoted


def count_of(flag, text, most=1_000_000, fewest=1):
    if not (text.isascii() and text.isdigit() and len(text) < 10 and fewest <= int(text) <= most):
        raise InputError(flag, f"is {quoted(text)}; a whole number from {fewest} to {most} is needed")
    return int(text)


def seconds_of(flag, text):
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise InputError(flag, f"is {quoted(text)}; seconds above 0 are needed")
    return value


def list_of(flag, text, accepted):
    words = text.split(",")
    for word in words:
        if word not in accepted:
            raise InputError(flag, f"has {quoted(word)}; accepted: {', '.join(accepted)}")
    return words
