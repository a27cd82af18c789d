"""How far a long work is."""

import sys
import time


class Progress:
    """A line on stderr while a terminal shows it."""

    def __init__(self, total):
        self.total, self.done, self.begin = total, 0, time.monotonic()
        self.shown = sys.stderr.isatty()
        self.next = self.begin + 2

    def show(self, words=""):
        now = time.monotonic()
        if not self.shown or now < self.next:
            return
        self.next = now + 1
        left = (now - self.begin) / self.done * (self.total - self.done) if self.done else 0
        text = f"{self.done} of {self.total}" + (f", {left:.0f} s left" if self.done else "") + f"  {words}"
        sys.stderr.write("\r\x1b[K" + text[:78])
        sys.stderr.flush()

    def clear(self):
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
