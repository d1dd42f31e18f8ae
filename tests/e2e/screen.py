"""A terminal of a given size, and what stands on it: just enough of one for programs that draw over their own lines."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import termios
import time
from collections.abc import Callable

DEADLINE = 60.0
CONTROL = re.compile(rb"\x1b\[(\d*)([A-Z])")


class Screen:
    def __init__(self, rows: int, columns: int) -> None:
        self._leader, self.follower = pty.openpty()
        fcntl.ioctl(self.follower, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._columns = columns
        self._unread = b""
        self._lines: list[str] = [""]  # the last is the one that the cursor is on

    def close(self) -> None:
        os.close(self._leader)
        os.close(self.follower)

    def shows(self, check: Callable[[list[str]], bool]) -> None:
        """Waits until the lines above the cursor are as they should be."""
        end = time.monotonic() + DEADLINE
        while len(self._lines) < 2 or not check(self._lines[:-1]):
            assert time.monotonic() < end, self._lines
            if select.select([self._leader], [], [], 1)[0]:
                self._take(os.read(self._leader, 65536))

    def _take(self, more: bytes) -> None:
        data = self._unread + more
        while data:
            if data.startswith(b"\x1b"):
                found = CONTROL.match(data)
                if found is None:
                    break  # the rest of it is still to come
                data = data[found.end() :]
                if found.group(2) == b"F":  # up, to the beginning of the line
                    up = int(found.group(1) or 1)
                    assert up < len(self._lines), "it draws over what is not its own"
                    self._lines = self._lines[: len(self._lines) - up]
                    self._lines[-1] = ""
                else:
                    assert found.group(2) == b"J", found.group()
                continue
            text, newline, rest = data.partition(b"\n")
            cut = text.find(b"\x1b")
            if cut >= 0:
                text, newline, rest = text[:cut], b"", data[cut:]
            self._lines[-1] += text.rstrip(b"\r").decode()
            assert len(self._lines[-1]) <= self._columns, "a line wraps"
            if newline:
                self._lines.append("")
            data = rest
        self._unread = data
