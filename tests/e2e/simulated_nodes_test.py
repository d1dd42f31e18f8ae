"""Pods on simulated nodes, as a user of kubectl sees them: how they start, end, fail, restart, go, and survive kill -9."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from kube.harness.gangway import GangwayCluster
from kube.harness.processes import wait_for

NODES = """\
apiVersion: gangway.dev/v1alpha1
kind: Cluster
runtime: simulated
nodes:
- name: node
  count: 3
  capacity: {cpu: "8", memory: 32Gi, nvidia.com/gpu: "4"}
"""


class Pods:
    """kubectl in the namespace default, with pods as dictionaries."""

    def __init__(self, kubectl: Path, cluster: GangwayCluster) -> None:
        self._command = [str(kubectl), "--kubeconfig", str(cluster.kubeconfig)]

    def run(self, *words: str, stdin: str = "") -> str:
        done = subprocess.run(
            [*self._command, *words], input=stdin, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60
        )
        assert done.returncode == 0, f"kubectl {' '.join(words)}: {done.stdout}"
        return done.stdout

    def create(self, name: str, *, seconds: str = "", code: int = 0, annotations: dict[str, str] | None = None,
               labels: dict[str, str] | None = None, node: str = "node-0", **spec: Any) -> None:  # fmt: skip
        notes = dict(annotations or {})
        if seconds:
            notes["gangway.dev/simulated-duration"] = seconds
        if code:
            notes["gangway.dev/simulated-exit-code"] = str(code)
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "annotations": notes, "labels": labels or {}},
            "spec": {"nodeName": node, "containers": [{"name": "main", "image": "any"}]} | spec,
        }
        self.run("create", "-f", "-", stdin=json.dumps(pod))

    def get(self, name: str) -> dict[str, Any]:
        return json.loads(self.run("get", "pod", name, "-o", "json"))

    def names(self) -> set[str]:
        return {pod["metadata"]["name"] for pod in json.loads(self.run("get", "pods", "-o", "json"))["items"]}

    def phase(self, name: str) -> str:
        return self.get(name)["status"]["phase"]

    def wait(self, name: str, what: str, holds: Callable[[dict[str, Any]], bool], seconds: float = 20) -> dict[str, Any]:
        wait_for(f"{what} of {name}", lambda: holds(self.get(name)), seconds=seconds)
        return self.get(name)

    def wait_phase(self, name: str, phase: str, seconds: float = 20) -> dict[str, Any]:
        return self.wait(name, f"phase {phase}", lambda pod: pod["status"]["phase"] == phase, seconds)


@pytest.fixture(scope="module")
def cluster() -> Iterator[GangwayCluster]:
    with GangwayCluster(NODES) as running:
        yield running


@pytest.fixture
def pods(kubectl: Path, cluster: GangwayCluster) -> Iterator[Pods]:
    found = Pods(kubectl, cluster)
    wait_for("the default service account", lambda: "default" in found.run("get", "sa", "-o", "name"))
    yield found
    found.run("delete", "pods", "--all", "--grace-period=0", "--force")


def main_of(pod: dict[str, Any]) -> dict[str, Any]:
    """Before its node has said anything of it, a container in no state."""
    return next(iter(pod["status"].get("containerStatuses", [])), {"state": {}, "restartCount": 0})


def test_runs_for_ever(pods: Pods) -> None:
    pods.create("p")
    pod = pods.wait_phase("p", "Running")
    conditions = {each["type"]: each["status"] for each in pod["status"]["conditions"]}
    assert conditions == dict.fromkeys(
        ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"], "True"
    )
    assert main_of(pod)["containerID"] == f"simulated://{pod['metadata']['uid']}/main/0"
    assert pods.run("get", "pod", "p", "--no-headers").split()[1:4] == ["1/1", "Running", "0"]
    pods.run("wait", "--for=condition=Ready", "pod/p", "--timeout=5s")


@pytest.mark.parametrize(("policy", "code", "phase"), [
    ("Never", 0, "Succeeded"), ("Never", 3, "Failed"), ("OnFailure", 0, "Succeeded"),
])  # fmt: skip
def test_ends_as_its_exit_code_says(pods: Pods, policy: str, code: int, phase: str) -> None:
    pods.create("p", seconds="1s", code=code, restartPolicy=policy)
    ended = main_of(pods.wait_phase("p", phase))["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (code, "Error" if code else "Completed")


@pytest.mark.parametrize(("policy", "code"), [("Always", 0), ("OnFailure", 2)])
def test_is_restarted_with_back_off(pods: Pods, policy: str, code: int) -> None:
    pods.create("p", seconds="1s", code=code, restartPolicy=policy)
    pod = pods.wait("p", "back-off", lambda pod: "waiting" in main_of(pod)["state"] and main_of(pod)["restartCount"] == 1)
    assert main_of(pod)["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert "back-off 10s restarting failed container=main" in main_of(pod)["state"]["waiting"]["message"]
    assert main_of(pod)["lastState"]["terminated"]["exitCode"] == code
    assert "Back-off restarting failed container main" in pods.run("events", "--for", "pod/p")


def test_init_containers_come_first(pods: Pods) -> None:
    pods.create("p", initContainers=[
        {"name": "first", "image": "any"},
        {"name": "side", "image": "any", "restartPolicy": "Always"},
    ])  # fmt: skip
    pod = pods.wait_phase("p", "Running")
    states = {each["name"]: next(iter(each["state"])) for each in pod["status"]["initContainerStatuses"]}
    assert states == {"first": "terminated", "side": "running"}
    assert pods.run("get", "pod", "p", "--no-headers").split()[1] == "2/2"


def test_deletion_waits_for_the_pod_and_no_longer(pods: Pods) -> None:
    pods.create("slow", annotations={"gangway.dev/simulated-termination": "2s"})
    pods.create("stubborn", annotations={"gangway.dev/simulated-termination": "1h"})
    for name in ("slow", "stubborn"):
        pods.wait_phase(name, "Running")
    began = time.monotonic()
    pods.run("delete", "pod", "slow", "--grace-period=30")
    assert 1.5 < time.monotonic() - began < 15
    pods.run("delete", "pod", "stubborn", "--grace-period=600", "--wait=false")
    assert pods.run("get", "pod", "stubborn", "--no-headers").split()[2] == "Terminating"
    began = time.monotonic()
    pods.run("delete", "pod", "stubborn", "--grace-period=2")
    assert time.monotonic() - began < 15
    assert pods.names() == set()


def test_a_pod_past_the_nodes_room_fails(pods: Pods) -> None:
    def asking(amount: dict[str, str]) -> list[dict[str, Any]]:
        return [{"name": "main", "image": "any", "resources": {"requests": amount, "limits": amount}}]

    pods.create("much", containers=asking({"cpu": "9"}))
    assert pods.wait_phase("much", "Failed")["status"]["reason"] == "OutOfcpu"
    pods.create("three", containers=asking({"nvidia.com/gpu": "3"}))
    pods.wait_phase("three", "Running")
    pods.create("two", containers=asking({"nvidia.com/gpu": "2"}))
    assert pods.wait_phase("two", "Failed")["status"]["reason"] == "OutOfnvidia.com/gpu"
    assert pods.run("get", "pod", "two", "--no-headers").split()[2] == "OutOfnvidia.com/gpu"
    pods.run("delete", "pod", "three")
    pods.create("again", containers=asking({"nvidia.com/gpu": "4"}))
    pods.wait_phase("again", "Running")


def test_the_wrong_node_refuses(pods: Pods) -> None:
    pods.create("p", nodeSelector={"kubernetes.io/hostname": "elsewhere"})
    assert pods.wait_phase("p", "Failed")["status"]["reason"] == "NodeAffinity"


def test_a_deadline_ends_a_pod(pods: Pods) -> None:
    pods.create("p", activeDeadlineSeconds=1)
    assert pods.wait_phase("p", "Failed")["status"]["reason"] == "DeadlineExceeded"


def test_peers_fail_together(pods: Pods) -> None:
    notes = {"gangway.dev/simulated-peer-loss": "fail"}
    for name, gang in (("a", "gang"), ("b", "gang"), ("stranger", "other")):
        labels = {"scheduling.x-k8s.io/pod-group": gang}
        pods.create(name, node="node-1", annotations=notes, labels=labels, restartPolicy="Never")
        pods.wait_phase(name, "Running")
    pods.run("delete", "pod", "a")
    assert main_of(pods.wait_phase("b", "Failed"))["state"]["terminated"]["exitCode"] == 1
    assert pods.phase("stranger") == "Running"


def test_kill_9_neither_restarts_nor_prolongs(pods: Pods, cluster: GangwayCluster) -> None:
    pods.create("forever")
    pods.create("timed", seconds="15s", restartPolicy="Never")
    pods.create("over", seconds="6s", restartPolicy="Never", code=4)
    before = {name: pods.wait_phase(name, "Running") for name in ("over", "forever", "timed")}
    cluster.kill()
    time.sleep(4)
    cluster.start()
    over = main_of(pods.wait_phase("over", "Failed"))["state"]["terminated"]
    assert (over["exitCode"], over["startedAt"]) == (4, main_of(before["over"])["state"]["running"]["startedAt"])
    timed = main_of(pods.wait_phase("timed", "Succeeded", seconds=30))
    ended = timed["state"]["terminated"]
    lasted = datetime.fromisoformat(ended["finishedAt"][:-1]) - datetime.fromisoformat(ended["startedAt"][:-1])
    assert 14 <= lasted.total_seconds() <= 15
    assert timed["restartCount"] == 0
    after = pods.get("forever")
    assert after["status"] == before["forever"]["status"]
