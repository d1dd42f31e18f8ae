"""Child processes that never outlive the tests that started them.

Each child is its own process group and asks the kernel for SIGKILL when its parent's thread dies, so a test run that is
itself killed leaves nothing behind. Children are started from the main thread only: the death signal follows the thread.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


class DeadlineExceeded(Exception):
    """A condition did not come true in time."""


def wait_for(what: str, probe: Callable[[], T | None], seconds: float = 30.0, pause: float = 0.02) -> T:
    """The first non-None, non-False answer of the probe; an error that says what was awaited after the deadline."""
    deadline = time.monotonic() + seconds
    while True:
        answer = probe()
        if answer is not None and answer is not False:
            return answer
        if time.monotonic() >= deadline:
            raise DeadlineExceeded(f"{what}: not seen within {seconds:g} s")
        time.sleep(pause)


def free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago; all are held open together so that they differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for sock in sockets:
            sock.bind(("127.0.0.1", 0))
        return [sock.getsockname()[1] for sock in sockets]
    finally:
        for sock in sockets:
            sock.close()


def exit_on_sigterm() -> None:
    """Makes SIGTERM an ordinary exit, so that `with` blocks and atexit still remove folders."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def _die_with_parent() -> None:
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Child:
    """One running program with its output in a log file."""

    def __init__(self, name: str, command: Sequence[str | Path], log: Path, env: dict[str, str] | None = None) -> None:
        self.name = name
        self.log = log
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_die_with_parent,
                env=env,
            )

    def check_alive(self) -> None:
        code = self.process.poll()
        if code is not None:
            raise RuntimeError(f"{self.name} exited with {code}; the end of its log:\n{self.log_tail()}")

    def log_tail(self, lines: int = 20) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def stop(self, grace: float = 0.0) -> None:
        """Ends the whole group: at once, or after SIGTERM and a grace period."""
        if self.process.poll() is None and grace > 0:
            self.process.terminate()
            try:
                self.process.wait(grace)
            except subprocess.TimeoutExpired:
                pass
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
