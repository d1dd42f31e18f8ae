"""What the crash test knows about its own writes, and a mirror that follows them by watching.

Every key has one writer, so between two requests its state is known: the last acknowledged one. A request that got no
answer may have happened or not; after a restart either is right, and anything else is a lost or half-done write.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from kube.harness.endpoint import Endpoint
from kube.harness.http import Client

COLLECTION = "/api/v1/namespaces/crash/configmaps"
# By label, because a namespace has config maps of the system's own.
LISTING = f"{COLLECTION}?labelSelector=suite%3Dcrash"
KEYS_PER_WRITER = 5
GONE = -1


def checksum(name: str, number: int) -> str:
    return hashlib.sha256(f"{name}/{number}".encode()).hexdigest()


def content(name: str, number: int) -> dict[str, Any]:
    """An object whose parts vouch for each other: a half-done write would not."""
    metadata = {"name": name, "labels": {"suite": "crash"}}
    return {"metadata": metadata, "data": {"number": str(number), "check": checksum(name, number)}}


def number_of(item: dict[str, Any]) -> int:
    """The number that an object carries. Requires: the object is whole, or this says that it is not."""
    name, data = item["metadata"]["name"], item["data"]
    number = int(data["number"])
    if data["check"] != checksum(name, number):
        raise AssertionError(f"{name} is half-written: {data}")
    return number


@dataclass
class Key:
    """`acknowledged` is the number last written for sure; `attempted` one that may have been, when there is one."""

    acknowledged: int = GONE
    attempted: int | None = None

    def allows(self, found: int) -> bool:
        return found == self.acknowledged or (self.attempted is not None and found == self.attempted)

    def settle(self, found: int) -> None:
        self.acknowledged, self.attempted = found, None


@dataclass
class Ledger:
    """Shared by all writers; counts what was acknowledged, so that the crash comes after a number and not a time."""

    keys: dict[str, Key] = field(default_factory=dict)
    highest_revision: int = 0
    acknowledged: int = 0
    changed: threading.Condition = field(default_factory=threading.Condition)

    def note(self, revision: int) -> None:
        with self.changed:
            self.highest_revision = max(self.highest_revision, revision)
            self.acknowledged += 1
            self.changed.notify_all()

    def wait_for_count(self, count: int, seconds: float) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: self.acknowledged >= count, seconds)


class Writer(threading.Thread):
    """Creates, replaces, patches and deletes its own keys until the server is gone."""

    def __init__(self, endpoint: Endpoint, ledger: Ledger, writer: int, seed: str) -> None:
        super().__init__(daemon=True)
        self._client = Client(endpoint, timeout=10)
        self._ledger = ledger
        self._names = [f"writer-{writer}-key-{key}" for key in range(KEYS_PER_WRITER)]
        self._rng = Random(f"{seed}/{writer}")
        self.failure: str | None = None

    def run(self) -> None:
        try:
            while self._write_once():
                pass
        finally:
            self._client.close()

    def _write_once(self) -> bool:
        name = self._rng.choice(self._names)
        key = self._ledger.keys.setdefault(name, Key())
        method, path, body, number = self._choose(name, key)
        key.attempted = number
        content_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
        try:
            response = self._client.call(method, path, body, content_type)
        except Exception:
            return False  # the crash: whether this write happened is for the check after the restart
        if response.status not in (200, 201):
            self.failure = f"{method} {path}: {response.status} {response.content[:300]!r}"
            return False
        key.settle(number)
        answer = response.json()
        metadata = answer.get("metadata", {}) if answer.get("kind") == "ConfigMap" else {}
        self._ledger.note(int(metadata.get("resourceVersion", 0)))
        return True

    def _choose(self, name: str, key: Key) -> tuple[str, str, dict[str, Any] | None, int]:
        number = self._rng.randrange(1 << 30)
        if key.acknowledged == GONE:
            return "POST", COLLECTION, content(name, number), number
        if self._rng.random() < 0.2:
            return "DELETE", f"{COLLECTION}/{name}", None, GONE
        method = self._rng.choice(["PUT", "PATCH"])
        return method, f"{COLLECTION}/{name}", content(name, number), number


class Mirror(threading.Thread):
    """Follows the collection by list and watch, over crashes, and is stopped only at the end."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(daemon=True)
        self._endpoint = endpoint
        self._state: dict[str, int] = {}
        self._revision = ""
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self.resumed = 0
        self.expired = 0
        self.failure: str | None = None

    def run(self) -> None:
        while not self._stopping.is_set() and self.failure is None:
            try:
                self._follow()
            except (OSError, ValueError, RuntimeError):
                self._stopping.wait(0.02)  # the server is down, or answers that it is not ready yet
            except Exception as error:
                self.failure = f"{type(error).__name__}: {error}"

    def _follow(self) -> None:
        client = Client(self._endpoint, timeout=10)
        if not self._revision:
            self._relist(client)
        response, events = client.stream(f"{LISTING}&watch=1&resourceVersion={self._revision}", seconds=30)
        if response.status == 410:
            self._expire()
            return
        if response.status != 200:
            raise RuntimeError(f"watch: {response.status}")
        self.resumed += 1
        for event in events:
            if event["type"] == "ERROR":
                if event["object"].get("code") != 410:
                    raise AssertionError(f"a watch ended with {event['object']}")
                self._expire()
                return
            self._take(event)
            if self._stopping.is_set():
                return

    def _relist(self, client: Client) -> None:
        listing = client.must("GET", LISTING)
        with self._changed:
            self._state = {item["metadata"]["name"]: number_of(item) for item in listing["items"]}
            self._revision = listing["metadata"]["resourceVersion"]
            self._changed.notify_all()

    def _expire(self) -> None:
        self.expired += 1
        self._revision = ""

    def _take(self, event: dict[str, Any]) -> None:
        item = event["object"]
        name, revision = item["metadata"]["name"], item["metadata"]["resourceVersion"]
        if int(revision) <= int(self._revision):
            raise AssertionError(f"{name}: the watch went from revision {self._revision} back to {revision}")
        with self._changed:
            self._revision = revision
            if event["type"] == "DELETED":
                self._state.pop(name, None)
            else:
                self._state[name] = number_of(item)
            self._changed.notify_all()

    def wait_until(self, condition: Callable[[dict[str, int]], bool], seconds: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self.failure is not None or condition(self._state), seconds)

    def stop(self) -> None:
        self._stopping.set()
