"""What nodes do with pods where there are no nodes: says that bound pods run, and removes those that were told to end.

The same as Gangway's simulated nodes (docs/guide/simulated-nodes.md), as far as schedulers can tell: a pod runs as soon
as it is bound, ends after `gangway.dev/simulated-duration`, and takes `gangway.dev/simulated-termination`, at most its
grace period, to go. Pods are never refused.
"""

from __future__ import annotations

import heapq
import itertools
import queue
import re
import threading
import time
from datetime import datetime, timezone
from typing import Any

from .endpoint import Endpoint
from .http import Client

DURATION = "gangway.dev/simulated-duration"
TERMINATION = "gangway.dev/simulated-termination"
UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
WATCH_SECONDS = 300.0


def seconds_of(text: str) -> float:
    """Of a duration like 1h30m."""
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|s|m|h)", text)
    if "".join(number + unit for number, unit in parts) != text or not parts:
        raise ValueError(f"{text!r} is not a duration like 90s or 1h30m")
    return sum(float(number) * UNITS[unit] for number, unit in parts)


def running_status(pod: dict[str, Any], now: str) -> dict[str, Any]:
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": now}
        for kind in ("Initialized", "ContainersReady", "Ready")
    ]
    containers = [
        {"name": c["name"], "image": c["image"], "imageID": "", "restartCount": 0, "ready": True,
         "state": {"running": {"startedAt": now}}}
        for c in pod["spec"]["containers"]
    ]  # fmt: skip
    return {"phase": "Running", "startTime": now, "conditions": conditions, "containerStatuses": containers}


def next_effect(pod: dict[str, Any]) -> tuple[str, float] | None:
    """What the node of this pod does with it next, and after how many seconds."""
    if not pod["spec"].get("nodeName"):
        return None
    metadata, phase = pod["metadata"], pod.get("status", {}).get("phase")
    notes = metadata.get("annotations") or {}
    if "deletionTimestamp" in metadata:
        takes = seconds_of(notes.get(TERMINATION, "0s"))
        return "remove", min(takes, float(metadata.get("deletionGracePeriodSeconds") or 0))
    if phase == "Pending":
        return "run", 0.0
    if phase == "Running" and DURATION in notes:
        return "finish", seconds_of(notes[DURATION])
    return None


class Kubelets:
    """Two threads from construction to `stop`: one follows the pods, the other does what is due."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._seen: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._stopping = threading.Event()
        self.failure: Exception | None = None
        self._threads = [threading.Thread(target=self._guarded, args=(work,), daemon=True)
                         for work in (self._follow, self._act)]  # fmt: skip
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._seen.put(None)
        self._threads[1].join(timeout=10)

    def check(self) -> None:
        if self.failure is not None:
            raise RuntimeError("the nodes' stand-in failed") from self.failure

    def _guarded(self, work: Any) -> None:
        try:
            work()
        except Exception as error:
            if not self._stopping.is_set():
                self.failure = error

    def _follow(self) -> None:
        client = Client(self._endpoint)
        while not self._stopping.is_set():
            pods = client.must("GET", "/api/v1/pods")
            for pod in pods["items"]:
                self._seen.put(pod)
            path = f"/api/v1/pods?watch=true&resourceVersion={pods['metadata']['resourceVersion']}"
            _, events = client.stream(path, WATCH_SECONDS)
            for event in events:
                if self._stopping.is_set() or event["type"] == "ERROR":
                    break
                if event["type"] != "DELETED":
                    self._seen.put(event["object"])

    def _act(self) -> None:
        client = Client(self._endpoint)
        due: list[tuple[float, int, str, dict[str, Any]]] = []
        planned: set[tuple[str, str]] = set()
        order = itertools.count()
        while not self._stopping.is_set():
            wait = max(0.0, due[0][0] - time.monotonic()) if due else 3600.0
            try:
                pod = self._seen.get(timeout=wait)
                effect = next_effect(pod) if pod else None
                if pod and effect and (key := (pod["metadata"]["uid"], effect[0])) not in planned:
                    planned.add(key)
                    heapq.heappush(due, (time.monotonic() + effect[1], next(order), effect[0], pod))
            except queue.Empty:
                pass
            while due and due[0][0] <= time.monotonic():
                _, _, what, pod = heapq.heappop(due)
                _do(client, what, pod)


def _do(client: Client, what: str, pod: dict[str, Any]) -> None:
    """A pod that has gone, or come to its end, in the meantime needs nothing any more."""
    metadata = pod["metadata"]
    path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
    if what == "remove":
        answer = client.call("DELETE", path, {"gracePeriodSeconds": 0, "preconditions": {"uid": metadata["uid"]}})
    else:
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        status = running_status(pod, now) if what == "run" else {"phase": "Succeeded"}
        body = {"metadata": {"uid": metadata["uid"]}, "status": status}
        answer = client.call("PATCH", f"{path}/status", body, "application/strategic-merge-patch+json")
    if answer.status >= 300 and answer.status not in (404, 409):
        raise RuntimeError(f"{what} {path}: {answer.status} {answer.content[:500]!r}")
