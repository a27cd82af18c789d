"""The opening every ddpx file has, and files that are whole or not there."""

import json
import math
import os
import tempfile

from .errors import InputError, one_line, quoted

SCHEMA_VERSION = 1
LARGEST_FILE = 256 << 20


def opening(schema, context):
    return {"schema": schema, "schema_version": SCHEMA_VERSION, "context": context}


def check_writable(path, flag):
    """Minutes of measuring must not end at a file that cannot be written."""
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        raise InputError(flag, f"{quoted(path)} is a folder; name a file")
    if not os.path.isdir(folder):
        raise InputError(flag, f"the folder of {quoted(path)} does not exist; make it first")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise InputError(flag, f"{quoted(path)} cannot be written; name another file")


def write_json(path, document):
    """Beside itself, then renamed: a reader never sees half of one."""
    text = json.dumps(document, indent=2, allow_nan=False) + "\n"
    folder = os.path.dirname(os.path.abspath(path))
    try:
        handle, temporary = tempfile.mkstemp(prefix=os.path.basename(path) + ".", dir=folder)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise InputError(quoted(path), f"cannot be written: {error.strerror}") from error


def _refuse_constant(word):
    raise ValueError(f"{word} is no number")


def _unique(pairs):
    members = {}
    for key, value in pairs:
        if key in members:
            raise ValueError(f"the key {quoted(key)} stands there twice")
        members[key] = value
    return members


def read_json(path, what):
    """The parsed file; `what` says in an error which content was wanted."""
    try:
        if os.path.getsize(path) > LARGEST_FILE:
            raise InputError(quoted(path), f"is larger than 256 MiB; {what} is wanted")
        with open(path, encoding="utf-8") as file:
            document = json.load(file, parse_constant=_refuse_constant, object_pairs_hook=_unique)
    except OSError as error:
        raise InputError(quoted(path), f"cannot be read: {error.strerror}; {what} is wanted") from error
    except (ValueError, RecursionError) as error:
        raise InputError(quoted(path), f"is not JSON: {one_line(error, 120)}; {what} is wanted") from error
    if not isinstance(document, dict):
        raise InputError(quoted(path), f"is no JSON object; {what} is wanted")
    return document


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
