"""What the README shows of a command is what the command prints.

Every `<!-- run: COMMAND -->` is run, in order, at the root of the repository; the block of output that
follows it holds the lines of standard output, `...` standing for any number of them. A command without a
block of its own before the next one has to succeed. With DDPX_UPDATE_GOLDEN set a block that leaves
nothing out is replaced by what is printed.
"""
import os
import re
import subprocess
import sys

RUN = re.compile(r"^<!-- run: (?P<command>.+) -->$")


def blocks(lines):
    """(command, first, end): the lines of the block between the fences are lines[first:end]."""
    command, first = None, None
    for i, line in enumerate(lines):
        found = RUN.match(line)
        if found and first is None:
            if command is not None:
                yield command, None, None
            command = found["command"]
        elif command is not None and line == "```":
            if first is None:
                first = i + 1
            else:
                yield command, first, i
                command, first = None, None
    if command is not None:
        yield command, None, None


def shows(shown, printed):
    """Whether `printed` has the lines of `shown`, `...` for any number of lines."""
    parts, part = [], []
    for line in shown:
        if line == "...":
            parts.append(part)
            part = []
        else:
            part.append(line)
    parts.append(part)
    if len(parts) == 1:
        return part == printed
    if printed[: len(parts[0])] != parts[0] or printed[len(printed) - len(part) :] != part:
        return False
    at = len(parts[0])
    for middle in parts[1:-1]:
        while at + len(middle) <= len(printed) and printed[at : at + len(middle)] != middle:
            at += 1
        at += len(middle)
    return at + len(part) <= len(printed)


def main(path):
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    wrong, shift, new = 0, 0, list(lines)
    found = list(blocks(lines))
    if not found:
        sys.exit(f"{path}: has no <!-- run: ... -->")
    for command, first, end in found:
        run = subprocess.run(command, shell=True, text=True, capture_output=True, timeout=120, check=False)
        printed = run.stdout.rstrip("\n").split("\n")
        if run.returncode != 0 and first is None:
            wrong += 1
            print(f"{path}: {command}\nexits with {run.returncode}: {run.stderr}")
        if first is None or shows(lines[first:end], printed):
            continue
        if os.environ.get("DDPX_UPDATE_GOLDEN") and "..." not in lines[first:end]:
            new[first + shift : end + shift] = printed
            shift += len(printed) - (end - first)
            continue
        wrong += 1
        print(f"{path}: {command}\nprints, not what is shown at line {first + 1}:\n{run.stdout}{run.stderr}")
    if new != lines:
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(new))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main(sys.argv[1])
