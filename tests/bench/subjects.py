"""The two servers under test, started anew for every round, with their pids and the time they took to be ready."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from kube.harness.gangway import GangwayCluster
from kube.harness.http import Client
from kube.harness.processes import wait_for
from kube.harness.real import RealCluster

NAMESPACE = "bench"


class Real(RealCluster):
    """kube-apiserver and etcd alone: what the controllers would cost is not held against them."""

    def __init__(self) -> None:
        self.ready_seconds = 0.0
        self._started = 0.0
        super().__init__(controllers=())

    def _start_etcd(self, peer_port: int) -> None:
        self._started = time.monotonic()
        super()._start_etcd(peer_port)

    def start_apiserver(self) -> None:
        super().start_apiserver()
        self.ready_seconds = time.monotonic() - self._started

    def pids(self) -> list[int]:
        return [child.process.pid for child in self._children.values()]


class Gangway(GangwayCluster):
    def __init__(self) -> None:
        self.ready_seconds = 0.0
        super().__init__()

    def start(self) -> None:
        started = time.monotonic()
        super().start()
        self.ready_seconds = time.monotonic() - started

    def pids(self) -> list[int]:
        return [self.pid]


Subject = Real | Gangway
SUBJECTS: dict[str, Callable[[], Subject]] = {"real": Real, "gangway": Gangway}


def make_namespace(subject: Subject) -> None:
    """With the service account that pods need, which on the real side no controller makes."""
    client = Client(subject.endpoint)
    client.must("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    accounts = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
    if isinstance(subject, Real):
        client.must("POST", accounts, {"metadata": {"name": "default"}})
    wait_for("the default service account", lambda: client.call("GET", f"{accounts}/default").status == 200)
    client.close()


def resident_megabytes(pids: list[int]) -> float:
    kilobytes = 0
    for pid in pids:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                kilobytes += int(line.split()[1])
    return kilobytes / 1024
