"""A user of kubectl, for tests that work with objects rather than with what is printed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kube.harness.gangway import GangwayCluster
from kube.harness.processes import wait_for

READY = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}


class User:
    """kubectl in one namespace."""

    def __init__(self, kubectl: Path, cluster: GangwayCluster, namespace: str) -> None:
        self._command = [str(kubectl), "--kubeconfig", str(cluster.kubeconfig), "-n", namespace]

    def tries(self, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run([*self._command, *arguments], input=given, capture_output=True, text=True, timeout=90)

    def does(self, *arguments: str, given: str = "") -> str:
        done = self.tries(*arguments, given=given)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def sees(self, *arguments: str) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = json.loads(self.does("get", *arguments, "-o", "json"))["items"]
        return items

    def pods(self, app: str) -> list[dict[str, Any]]:
        return self.sees("pods", "-l", f"app={app}")

    def waits(self, what: str, condition: Callable[[], bool]) -> None:
        wait_for(what, condition, pause=0.1)

    def makes_ready(self, app: str) -> None:
        """Every pod there is, and those that follow from it, until none is left that is not ready."""

        def all_ready() -> bool:
            waiting = [pod for pod in self.pods(app) if not is_ready(pod)]
            for pod in waiting:
                self.tries("patch", "pod", name(pod), "--subresource=status", "--type=merge", "-p", json.dumps(READY))
            return not waiting

        for _ in range(10):
            self.waits(f"the pods of {app} are ready", all_ready)
            if self.tries("rollout", "status", self.kind_of(app), "--timeout=1s").returncode == 0:
                return
        raise AssertionError(f"{app} does not come to its end")

    def kind_of(self, app: str) -> str:
        return f"{app.split('-')[0]}/{app}"


def name(thing: dict[str, Any]) -> str:
    text: str = thing["metadata"]["name"]
    return text


def is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
