"""One round against one server: every operation in turn, each by a load client of its own."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .subjects import NAMESPACE, Subject, make_namespace, resident_megabytes

# What a round yields: "create" -> {"per_second": …, "p50_ms": …}, and "memory" and "start" with their own figures.
Figures = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Size:
    pods: int
    connections: int = 64
    lists: int = 10
    watchers: int = 100

    @property
    def serial_creates(self) -> int:
        return max(self.pods // 10, 1)

    @property
    def watched_patches(self) -> int:
        return max(self.pods // 10, 1)


@dataclass(frozen=True)
class Loader:
    """Calls the load client with what all its calls have in common."""

    program: Path
    subject: Subject
    size: Size

    def run(self, operation: str, requests: int, connections: int, **options: int) -> dict[str, float]:
        endpoint = self.subject.endpoint
        command = [
            self.program, operation,
            "--host", endpoint.host, "--port", endpoint.port,
            "--ca", endpoint.ca, "--certificate", endpoint.certificate, "--key", endpoint.key,
            "--namespace", NAMESPACE, "--pods", self.size.pods,
            "--requests", requests, "--connections", connections,
        ]  # fmt: skip
        for name, value in options.items():
            command += [f"--{name}", value]
        for pid in self.subject.pids():
            command += ["--server-pid", pid]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=900)
        if done.returncode != 0:
            raise RuntimeError(f"{self.subject.name}: {operation} failed: {done.stderr.strip()}")
        answer: dict[str, Any] = json.loads(done.stdout)
        return {name: float(value) for name, value in answer.items() if name != "operation"}


def run_round(program: Path, subject: Subject, size: Size) -> Figures:
    figures: Figures = {"start": {"seconds": subject.ready_seconds}}
    memory = figures["memory"] = {"empty": resident_megabytes(subject.pids())}
    make_namespace(subject)
    load = Loader(program, subject, size)
    serial, many = size.serial_creates, size.connections
    figures["create_1"] = load.run("create", serial, 1)
    figures["create"] = load.run("create", size.pods - serial, many, first=serial)
    memory["pods"] = resident_megabytes(subject.pids())
    figures["get"] = load.run("get", 2 * size.pods, many)
    figures["patch"] = load.run("patch", size.pods, many)
    figures["list"] = load.run("list", size.lists, 1)
    figures["select"] = load.run("select", size.lists, 1)
    figures["watch"] = load.run("watch", size.watched_patches, many, watchers=size.watchers, turn=1)
    memory["after"] = resident_megabytes(subject.pids())
    figures["delete"] = load.run("delete", size.pods, many)
    return figures
