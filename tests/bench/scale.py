#!/usr/bin/python3
"""A large simulated cluster in one process: what it costs to fill it, to roll a Deployment over, and to be at rest.

    scale.py                          5,000 nodes, 50,000 pods in Deployments of 5,000
    scale.py --nodes 100 --pods 1000 --size 500        to try things
    scale.py --profile FILE           also samples the rollouts with perf, into FILE.alone and FILE.full

Seconds depend on what else the machine does; CPU seconds of the server hardly do.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import machine
from bench.subjects import resident_megabytes
from kube.harness.gangway import GangwayCluster
from kube.harness.http import Client
from kube.harness.processes import exit_on_sigterm, wait_for

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
TICKS = os.sysconf("SC_CLK_TCK")
PATIENCE = 1800.0


def nodes_file(count: int) -> str:
    return (
        "apiVersion: gangway.dev/v1alpha1\nkind: Cluster\nruntime: simulated\nnodes:\n"
        f"- {{name: node, count: {count}, capacity: {{cpu: '64', memory: 512Gi, nvidia.com/gpu: '8'}}}}\n"
    )


def deployment(name: str, replicas: int) -> dict[str, Any]:
    asks = {"requests": {"cpu": "1", "memory": "1Gi"}}
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "main", "image": "example.com/app:1", "resources": asks}]},
    }
    selector = {"matchLabels": {"app": name}}
    return {"metadata": {"name": name}, "spec": {"replicas": replicas, "selector": selector, "template": template}}


def cpu_seconds(pid: int) -> float:
    """User and system time of all threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


@contextmanager
def sampled(pid: int, file: Path | None) -> Iterator[None]:
    """With perf, into the file."""
    if file is None:
        yield
        return
    perf = subprocess.Popen(["perf", "record", "-q", "-F", "199", "-g", "-o", str(file), "-p", str(pid)])
    try:
        yield
    finally:
        perf.send_signal(signal.SIGINT)
        perf.wait()


@dataclass
class Bench:
    cluster: GangwayCluster
    client: Client

    @contextmanager
    def measured(self, what: str) -> Iterator[None]:
        began, cpu = time.monotonic(), cpu_seconds(self.cluster.pid)
        yield
        self.show(what, time.monotonic() - began, cpu_seconds(self.cluster.pid) - cpu)

    def show(self, what: str, seconds: float, cpu: float) -> None:
        memory = resident_megabytes([self.cluster.pid])
        print(f"{what}: {seconds:.1f} s, CPU {cpu:.2f} s, memory {memory:.0f} MB", flush=True)

    def rest(self, what: str, seconds: float) -> None:
        cpu = cpu_seconds(self.cluster.pid)
        time.sleep(seconds)
        spent = cpu_seconds(self.cluster.pid) - cpu
        self.show(f"{what} at rest ({100 * spent / seconds:.1f} % of a core)", seconds, spent)

    def settle(self) -> None:
        """Until what was under way is over: no second in which it works much."""

        def quiet() -> bool:
            cpu = cpu_seconds(self.cluster.pid)
            time.sleep(2)
            return cpu_seconds(self.cluster.pid) - cpu < 1

        wait_for("the server is quiet", quiet, seconds=PATIENCE)

    def ready_nodes(self) -> int:
        nodes = self.client.must("GET", "/api/v1/nodes")["items"]
        conditions = [each for node in nodes for each in node.get("status", {}).get("conditions", [])]
        return sum(each["type"] == "Ready" and each["status"] == "True" for each in conditions)

    def is_rolled_out(self, name: str) -> bool:
        found = self.client.must("GET", f"{DEPLOYMENTS}/{name}")
        status, replicas = found.get("status", {}), found["spec"]["replicas"]
        counts = [status.get(key, 0) for key in ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")]
        return status.get("observedGeneration") == found["metadata"]["generation"] and counts == [replicas] * 4

    def wait_rolled_out(self, names: list[str]) -> None:
        for name in names:
            wait_for(f"{name} is rolled out", lambda name=name: self.is_rolled_out(name), seconds=PATIENCE, pause=0.2)

    def create(self, names: list[str], replicas: int) -> None:
        for name in names:
            self.client.must("POST", DEPLOYMENTS, deployment(name, replicas))
        self.wait_rolled_out(names)

    def roll(self, name: str, image: str) -> None:
        change = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": image}]}}}}
        self.client.must("PATCH", f"{DEPLOYMENTS}/{name}", change, "application/strategic-merge-patch+json")
        self.wait_rolled_out([name])

def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=50000)
    parser.add_argument("--size", type=int, default=5000, help="pods of a Deployment")
    parser.add_argument("--rest", type=float, default=60, help="seconds")
    parser.add_argument("--profile", type=Path)
    return parser.parse_args()


def main() -> int:
    options = arguments()
    exit_on_sigterm()
    for name, value in machine.describe(Path("/tmp")).items():
        print(f"{name}: {value}")
    began = time.monotonic()
    with GangwayCluster(nodes_file(options.nodes)) as cluster:
        bench = Bench(cluster, Client(cluster.endpoint))
        wait_for("the nodes", lambda: bench.ready_nodes() == options.nodes, seconds=PATIENCE, pause=0.5)
        bench.show(f"{options.nodes:,} nodes ready", time.monotonic() - began, cpu_seconds(cluster.pid))
        bench.settle()
        bench.rest(f"{options.nodes:,} nodes", options.rest)
        names = [f"web-{index}" for index in range(options.pods // options.size)]
        with bench.measured(f"the first {options.size:,} pods are available"):
            bench.create(names[:1], options.size)
        bench.settle()
        sample = options.profile
        with sampled(cluster.pid, sample and sample.with_suffix(".alone")), bench.measured(f"rollout of {options.size:,} pods"):
            bench.roll(names[0], "example.com/app:2")
        bench.settle()
        with bench.measured(f"the other {options.pods - options.size:,} pods are available"):
            bench.create(names[1:], options.size)
        bench.settle()
        bench.rest(f"{options.pods:,} pods", options.rest)
        with sampled(cluster.pid, sample and sample.with_suffix(".full")), \
             bench.measured(f"rollout of {options.size:,} of {options.pods:,} pods"):  # fmt: skip
            bench.roll(names[0], "example.com/app:3")
    return 0


if __name__ == "__main__":
    sys.exit(main())
