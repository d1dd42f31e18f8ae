"""The two sides that a situation is played on: kube-scheduler with its control plane, and Gangway in its place.

The real side is one cluster that is emptied between situations; its nodes are objects, and harness/kubelets.py does with
pods what nodes would. Gangway is started anew for each, with simulated nodes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Any, Protocol

from ..harness.gangway import GangwayCluster
from ..harness.http import Client
from ..harness.kubelets import Kubelets
from ..harness.processes import wait_for
from ..harness.real import RealCluster
from .outcome import outcome
from .rest import Rest
from .situation import Situation

# What makes service accounts and keeps budgets' figures; no others, so that nobody but the scheduler touches pods.
CONTROLLERS = ("serviceaccount-controller", "namespace-controller", "disruption-controller")
# It would allow overhead only as a RuntimeClass says, a kind that Gangway does not serve.
WITHOUT_ADMISSION = ("RuntimeClass",)
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
MERGE = "application/merge-patch+json"


class Side(Protocol):
    at_once: int  # how many situations can be played at the same time

    def play(self, situation: Situation) -> dict[str, Any]:
        """How it ends on a cluster that has nothing else in it."""

    def stop(self) -> None: ...


class Player:
    """Plays a situation on a cluster that has its nodes."""

    def __init__(self, client: Client, patience: float) -> None:
        self.client = client
        self.rest = Rest(client, patience)
        self._patience = patience

    def play(self, situation: Situation, forgotten: Iterable[str] = ()) -> dict[str, Any]:
        for name, labels in situation.namespaces.items():
            self.client.must("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": dict(labels)}})
        for priority_class in situation.classes:
            self.client.must("POST", CLASSES, priority_class)
        self.rest.barrier_says(f"0/{len(situation.nodes)} nodes are available")
        made: dict[str, str] = {}
        deleted: set[str] = set()
        if situation.older:
            self._start(situation.older, made)
            self._next_second(made)
        self._start(situation.exist, made)
        for budget in situation.budgets:
            self._keep_budget(budget, [*situation.older, *situation.exist])
        pods = self.rest.pods()
        for number, step in enumerate(situation.steps, start=1):
            for name, patch in step.patch_nodes.items():
                self.client.must("PATCH", f"/api/v1/nodes/{name}", patch, MERGE)
            paths = {pod["metadata"]["name"]: _path_of(pod) for pod in pods}
            for name, patch in step.patch_pods.items():
                self.client.must("PATCH", paths[name], patch, MERGE)
            for name in step.delete:
                deleted.add(name)
                self.client.must("DELETE", paths[name])
            self._create(step.create, made)
            pods = self.rest.at_rest(number == len(situation.steps), forgotten)
        return outcome(situation, made, deleted, pods)

    def _create(self, pods: Iterable[dict[str, Any]], made: dict[str, str]) -> None:
        for pod in pods:
            path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods"
            made[pod["metadata"]["name"]] = self.rest.create(path, pod)["metadata"]["uid"]

    def _start(self, pods: Iterable[dict[str, Any]], made: dict[str, str]) -> None:
        self._create(pods, made)

        def all_run() -> bool:
            return all(pod["status"].get("phase") == "Running" for pod in self.rest.pods())

        wait_for("the pods that exist to run", all_run, self._patience)

    def _next_second(self, made: dict[str, str]) -> None:
        """Until whatever starts from now on has started later, as far as an API object can tell."""
        latest = max(pod["status"]["startTime"] for pod in self.rest.pods())
        wait_for("the next second", lambda: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()) > latest, self._patience)

    def _keep_budget(self, budget: dict[str, Any], pods: list[dict[str, Any]]) -> None:
        metadata = budget["metadata"]
        wanted = budget["spec"]["selector"]["matchLabels"]
        healthy = sum(
            pod["metadata"]["namespace"] == metadata["namespace"] and wanted.items() <= pod["metadata"]["labels"].items()
            for pod in pods
        )
        path = f"/apis/policy/v1/namespaces/{metadata['namespace']}/poddisruptionbudgets"
        self.client.must("POST", path, budget)

        def is_counted() -> bool:
            status = self.client.must("GET", f"{path}/{metadata['name']}").get("status", {})
            return bool(status.get("observedGeneration")) and status.get("currentHealthy") == healthy

        wait_for(f"budget {metadata['name']} to count {healthy} pods", is_counted, self._patience)


class RealSide:
    at_once = 1

    def __init__(self, patience: float) -> None:
        self._cluster = RealCluster(CONTROLLERS, scheduler=True, without_admission=WITHOUT_ADMISSION)
        self._kubelets = Kubelets(self._cluster.endpoint)
        self._player = Player(Client(self._cluster.endpoint), patience)
        self._player.rest.prepare()
        self._patience = patience

    def play(self, situation: Situation) -> dict[str, Any]:
        try:
            return self._play(situation)
        finally:
            self._clear(situation)

    def _play(self, situation: Situation) -> dict[str, Any]:
        client = self._player.client
        for node in situation.nodes:
            manifest = node.manifest()
            client.must("POST", "/api/v1/nodes", manifest)
            # Admission has tainted it as not ready, which the controllers of nodes would take back.
            taints = manifest["spec"].get("taints", [])
            client.must("PATCH", f"/api/v1/nodes/{node.name}", {"spec": {"taints": taints}}, MERGE)
        found = self._player.play(situation, situation.forgotten)
        self._kubelets.check()
        return found

    def _clear(self, situation: Situation) -> None:
        client, rest = self._player.client, self._player.rest
        for pod in rest.pods():
            client.call("DELETE", _path_of(pod), {"gracePeriodSeconds": 0})
        wait_for("an empty cluster", lambda: not rest.pods(), self._patience)
        client.must("DELETE", "/api/v1/nodes")
        for budget in situation.budgets:
            metadata = budget["metadata"]
            path = f"/apis/policy/v1/namespaces/{metadata['namespace']}/poddisruptionbudgets/{metadata['name']}"
            client.call("DELETE", path)
        for priority_class in situation.classes:
            client.call("DELETE", f"{CLASSES}/{priority_class['metadata']['name']}")
        for name in situation.namespaces:
            client.call("DELETE", f"/api/v1/namespaces/{name}")
        rest.barrier_says("no nodes available to schedule pods")
        if any(priority_class.get("globalDefault") for priority_class in situation.classes):
            wait_for("no default priority", lambda: not self._default_priority(), self._patience)

    def _default_priority(self) -> int:
        pod = {"metadata": {"name": "trial"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        made = self._player.client.must("POST", "/api/v1/namespaces/default/pods?dryRun=All", pod)
        return int(made["spec"].get("priority", 0))

    def stop(self) -> None:
        self._kubelets.stop()
        self._cluster.stop()


class OurSide:
    at_once = 2

    def __init__(self, patience: float) -> None:
        self._patience = patience

    def play(self, situation: Situation) -> dict[str, Any]:
        nodes = [node.in_cluster_file() for node in situation.nodes]
        file = {"apiVersion": "gangway.dev/v1alpha1", "kind": "Cluster", "runtime": "simulated", "nodes": nodes}
        with GangwayCluster(json.dumps(file)) as cluster:
            player = Player(Client(cluster.endpoint), self._patience)
            player.rest.prepare()
            for node in situation.nodes:
                if node.cordoned:
                    player.client.must("PATCH", f"/api/v1/nodes/{node.name}", {"spec": {"unschedulable": True}}, MERGE)
            return player.play(situation)

    def stop(self) -> None:
        """Nothing outlives a situation."""


def _path_of(pod: dict[str, Any]) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
