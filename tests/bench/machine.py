"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import tempfile
import time
from pathlib import Path


def _field(path: str, name: str) -> str:
    for line in Path(path).read_text().splitlines():
        if line.startswith(name):
            return line.split(":", 1)[1].strip()
    return "unknown"


def file_system(folder: Path) -> str:
    done = subprocess.run(["findmnt", "-no", "FSTYPE", "-T", folder], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def fdatasync_milliseconds(folder: Path, times: int = 200) -> float:
    """The median of 4 KB appends: the floor under every durable write."""
    taken = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(times):
            began = time.perf_counter()
            os.write(file.fileno(), b"x" * 4096)
            os.fdatasync(file.fileno())
            taken.append(time.perf_counter() - began)
    return statistics.median(taken) * 1000


def describe(folder: Path) -> dict[str, str]:
    return {
        "machine": f"{_field('/proc/cpuinfo', 'model name')}, {os.cpu_count()} cores, "
        f"{int(_field('/proc/meminfo', 'MemTotal').split()[0]) // 1024 // 1024} GB",
        "kernel": platform.release(),
        "disk": f"{file_system(folder)}, fdatasync {fdatasync_milliseconds(folder):.2f} ms",
        "load average before": f"{os.getloadavg()[0]:.2f}",
    }
