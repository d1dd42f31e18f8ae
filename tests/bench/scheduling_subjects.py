"""The two clusters that are scheduled on: the embedded server with simulated nodes, and the real control plane, whose
nodes are objects that nobody keeps."""

from __future__ import annotations

from collections.abc import Callable

from kube.harness.gangway import GangwayCluster
from kube.harness.http import Client
from kube.harness.real import RealCluster

CAPACITY = {"cpu": "4", "memory": "32Gi", "pods": "110"}


class Gangway(GangwayCluster):
    def __init__(self, nodes: int) -> None:
        capacity = ", ".join(f"{name}: '{amount}'" for name, amount in CAPACITY.items())
        super().__init__(
            "apiVersion: gangway.dev/v1alpha1\nkind: Cluster\nruntime: simulated\nnodes:\n"
            f"- {{name: node, count: {nodes}, capacity: {{{capacity}}}}}\n"
        )

    def pids(self) -> list[int]:
        return [self.pid]


class Real(RealCluster):
    def __init__(self, nodes: int) -> None:
        # Without what would mark nodes that nobody keeps as not ready or gone.
        super().__init__(
            controllers=("serviceaccount-controller", "garbage-collector-controller"),
            scheduler=True,
            without_admission=("TaintNodesByCondition",),
        )
        client = Client(self.endpoint)
        for index in range(nodes):
            name = f"node-{index}"
            node = {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}}
            client.must("POST", "/api/v1/nodes", node)
            ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
            status = {"capacity": CAPACITY, "allocatable": CAPACITY, "conditions": [ready]}
            client.must("PATCH", f"/api/v1/nodes/{name}/status", {"status": status}, "application/merge-patch+json")
        client.close()

    def pids(self) -> list[int]:
        return [child.process.pid for child in self._children.values()]


Subject = Gangway | Real
SUBJECTS: dict[str, Callable[[int], Subject]] = {"gangway": Gangway, "real": Real}
