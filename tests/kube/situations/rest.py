"""Waits until a scheduler has nothing more to do. Nothing is assumed about how long that takes."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable
from typing import Any

from ..harness.http import Client, Response
from ..harness.processes import DeadlineExceeded, wait_for
from .outcome import fingerprint, scheduled_condition, still_to_do

NAMESPACE = "barrier"
CLASS = "barrier"
QUIET_SECONDS = 0.25


class Rest:
    """A barrier is a pod that no node takes, last in every line: once it was refused, all before it have had their turn."""

    def __init__(self, client: Client, patience: float) -> None:
        self._client = client
        self._patience = patience
        self._numbers = itertools.count()

    def prepare(self) -> None:
        """Once a cluster."""
        self._client.must("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        self._client.must("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {
            "metadata": {"name": CLASS}, "value": -2_000_000_000, "preemptionPolicy": "Never"})  # fmt: skip

    def create(self, path: str, manifest: dict[str, Any]) -> dict[str, Any]:
        """As soon as it is allowed: admission may not have heard yet of an account or a class that was just made."""

        def made() -> dict[str, Any] | None:
            answer: Response = self._client.call("POST", path, manifest)
            if answer.status == 403:
                return None
            if answer.status != 201:
                raise RuntimeError(f"POST {path}: {answer.status} {answer.content[:500]!r}")
            found: dict[str, Any] = answer.json()
            return found

        return wait_for(f"leave to create {manifest['metadata']['name']}", made, self._patience)

    def barrier(self, expected: str = "") -> None:
        """Returns once a barrier was refused, with the expected words if any are given."""
        name = f"barrier-{next(self._numbers)}"
        path = f"/api/v1/namespaces/{NAMESPACE}/pods"
        self.create(path, {
            "metadata": {"name": name},
            "spec": {"priorityClassName": CLASS, "containers": [{"name": "c", "image": "i"}],
                     "nodeSelector": {"barrier": "no-node-has-this"}},
        })  # fmt: skip
        said = wait_for(f"what is said of {name}", lambda: self._said_of(f"{path}/{name}"), self._patience)
        self._client.call("DELETE", f"{path}/{name}", {"gracePeriodSeconds": 0})
        if expected and expected not in said:
            time.sleep(0.05)
            raise _NotYet(said)

    def barrier_says(self, expected: str) -> None:
        """Until what a barrier is told shows that the scheduler has heard of everything."""

        def told() -> bool:
            try:
                self.barrier(expected)
            except _NotYet:
                return False
            return True

        wait_for(f"a barrier that is told {expected!r}", told, self._patience)

    def _said_of(self, path: str) -> str | None:
        condition = scheduled_condition(self._client.must("GET", path))
        return str(condition["message"]) if condition and condition["status"] == "False" else None

    def pods(self) -> list[dict[str, Any]]:
        found = self._client.must("GET", "/api/v1/pods")["items"]
        return [pod for pod in found if pod["metadata"]["namespace"] != NAMESPACE]

    def at_rest(self, is_last: bool, forgotten: Iterable[str] = ()) -> list[dict[str, Any]]:
        """All pods, once nothing is left to do, nothing changes, and before the end a barrier was refused as well."""
        deadline = time.monotonic() + self._patience
        known: Any = None
        since = 0.0
        passed = not is_last
        while True:
            pods = self.pods()
            todo = still_to_do(pods, forgotten)
            now = fingerprint(pods)
            if todo or now != known:
                known, since, passed = now, time.monotonic(), not is_last
                if time.monotonic() > deadline:
                    raise DeadlineExceeded(f"no rest within {self._patience:g} s: {_listed(todo)}")
            elif time.monotonic() - since > QUIET_SECONDS:
                if passed:
                    return pods
                self.barrier()
                since, passed = time.monotonic(), True
            time.sleep(0.05)


class _NotYet(Exception):
    pass


def _listed(todo: Iterable[str]) -> str:
    return "; ".join(todo) or "something changes all the time"
