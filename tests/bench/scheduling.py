#!/usr/bin/python3
"""Scheduling from end to end: from the creation of the measured pods until the last of them is bound.

    scheduling.py                         the three shapes on the embedded server with simulated nodes
    scheduling.py --real                  also on kube-apiserver, etcd and kube-scheduler, in turns
    scheduling.py --shape basic --rounds 3
    scheduling.py --scale 0.1             a tenth of everything, to try things
    scheduling.py --profile FILE          also samples the measured part of Gangway with perf, into FILE.<shape>

The shapes are those of Kubernetes' own scheduler_perf. What is counted includes the API, events and evictions; on the
embedded server also what the simulated nodes report, which the real side, whose nodes are objects only, is spared.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import machine
from bench.run import load_client
from bench.scale import cpu_seconds, sampled
from bench.scheduling_subjects import SUBJECTS, Subject
from kube.harness.http import Client
from kube.harness.processes import exit_on_sigterm, wait_for

NAMESPACE = "default"
CONNECTIONS = 64
PATIENCE = 1800.0


@dataclass(frozen=True)
class Pods:
    count: int
    cpu: str
    memory: str = "500Mi"
    priority_class: str | None = None

    def body(self, name: str) -> dict[str, Any]:
        asks = {"requests": {"cpu": self.cpu, "memory": self.memory}}
        spec: dict[str, Any] = {
            # No node has to let anything end: what is measured is the scheduler.
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "pause", "image": "registry.k8s.io/pause:3.10", "resources": asks}],
        }
        if self.priority_class:
            spec["priorityClassName"] = self.priority_class
        meta = {"name": name + "-{index}", "labels": {"bench": name}}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


@dataclass(frozen=True)
class Shape:
    what: str
    nodes: int
    before: Pods
    measured: Pods
    elsewhere: float  # pods/s of kube-scheduler 1.33.13 with its API server on two cores, measured elsewhere
    aim: int  # times as many

    def scaled(self, factor: float) -> Shape:
        def less(count: int) -> int:
            return max(1, round(count * factor))

        return replace(
            self,
            nodes=less(self.nodes),
            before=replace(self.before, count=less(self.before.count)),
            measured=replace(self.measured, count=less(self.measured.count)),
        )


SHAPES = {
    "basic": Shape("SchedulingBasic", 500, Pods(500, "100m"), Pods(1000, "100m"), 258, 10),
    "large": Shape("SchedulingBasic, 5,000 nodes", 5000, Pods(1000, "100m"), Pods(10000, "100m"), 169, 10),
    "preemption": Shape(
        "PreemptionBasic", 1000, Pods(4000, "900m", priority_class="low"), Pods(1000, "3", priority_class="high"), 3.4, 30
    ),
}


@dataclass
class Binding:
    """Sees the pods of one label as they are bound, by a watch of its own. One that is ended because it reads too slowly
    begins again with a list."""

    subject: Subject
    name: str
    count: int
    ended: float = 0.0
    error: str | None = None

    def __post_init__(self) -> None:
        self._bound: set[str] = set()
        self._path = (
            f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=bench%3D{self.name}&fieldSelector=spec.nodeName!%3D"
        )
        revision = self._list()
        self._thread = threading.Thread(target=self._follow, args=[revision], daemon=True)
        self._thread.start()

    def _list(self) -> str:
        client = Client(self.subject.endpoint)
        found = client.must("GET", self._path)
        client.close()
        self._bound.update(pod["metadata"]["name"] for pod in found["items"])
        return str(found["metadata"]["resourceVersion"])

    def _watch(self, revision: str) -> None:
        small = {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
        path = f"{self._path}&watch=1&resourceVersion={revision}"
        response, events = Client(self.subject.endpoint).stream(path, PATIENCE, small)
        if response.status != 200:
            raise RuntimeError(f"watch: {response.status} {response.content[:500]!r}")
        for event in events:
            if event["type"] == "ERROR":
                return
            # A pod matches because it was bound; what else happens to it does not matter.
            self._bound.add(event["object"]["metadata"]["name"])
            if len(self._bound) == self.count:
                return

    def _follow(self, revision: str) -> None:
        try:
            while len(self._bound) < self.count:
                self._watch(revision)
                if len(self._bound) < self.count:
                    revision = self._list()
            self.ended = time.monotonic()
        except (OSError, RuntimeError) as error:
            self.error = str(error)

    def wait(self) -> float:
        self._thread.join(PATIENCE)
        if not self.ended:
            raise RuntimeError(self.error or f"{self.count - len(self._bound)} pods were not bound in time")
        return self.ended


def create(subject: Subject, pods: Pods, name: str) -> None:
    endpoint = subject.endpoint
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(pods.body(name), file)
        file.flush()
        command = [
            load_client(), "create", "--namespace", NAMESPACE, "--pod", file.name,
            "--host", endpoint.host, "--port", endpoint.port,
            "--ca", endpoint.ca, "--certificate", endpoint.certificate, "--key", endpoint.key,
            "--requests", pods.count, "--connections", min(CONNECTIONS, pods.count),
        ]  # fmt: skip
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode != 0:
            raise RuntimeError(f"{subject.name}: creating pods failed: {done.stderr.strip()}")


def cpu_of(subject: Subject) -> float:
    return sum(cpu_seconds(pid) for pid in subject.pids())


def settle(subject: Subject) -> None:
    """Until what was under way is over: no second in which it works much."""

    def quiet() -> bool:
        cpu = cpu_of(subject)
        time.sleep(1)
        return cpu_of(subject) - cpu < 0.3

    wait_for("the cluster is quiet", quiet, seconds=PATIENCE)


def make_priority_classes(subject: Subject) -> None:
    client = Client(subject.endpoint)
    for name, value in (("low", 0), ("high", 10)):
        client.must("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": name}, "value": value})
    client.close()


def run_round(subject: Subject, shape: Shape, profile: Path | None) -> dict[str, float]:
    make_priority_classes(subject)
    before = Binding(subject, "before", shape.before.count)
    create(subject, shape.before, "before")
    before.wait()
    settle(subject)
    measured = Binding(subject, "measured", shape.measured.count)
    with sampled(subject.pids()[0], profile):
        cpu, began = cpu_of(subject), time.monotonic()
        create(subject, shape.measured, "measured")
        created = time.monotonic()
        ended = measured.wait()
        bound_cpu = cpu_of(subject) - cpu
        settle(subject)
    return {
        "pods_per_second": shape.measured.count / (ended - began),
        "seconds": ended - began,
        "creating_seconds": created - began,
        "cpu_seconds": bound_cpu,
        "cpu_seconds_at_rest": cpu_of(subject) - cpu,
    }


def show(name: str, shape: Shape, figures: list[dict[str, float]]) -> float:
    rates = [each["pods_per_second"] for each in figures]
    rate = statistics.median(rates)
    middle = {key: statistics.median([each[key] for each in figures]) for key in figures[0]}
    print(
        f"{name}: {shape.what}: {rate:,.1f} pods/s ({min(rates):,.1f}–{max(rates):,.1f}), {middle['seconds']:.2f} s, "
        f"of which creating {middle['creating_seconds']:.2f} s; CPU {middle['cpu_seconds']:.2f} s until the last was bound, "
        f"{middle['cpu_seconds_at_rest']:.2f} s until all was quiet",
        flush=True,
    )
    return rate


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=SHAPES, action="append")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--profile", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.rounds < 1 or options.scale <= 0:
        parser.error("at least one round, and a scale above nothing, are needed")
    return options


def main() -> int:
    options = arguments()
    exit_on_sigterm()
    about = machine.describe(Path(tempfile.gettempdir()))
    for name, value in about.items():
        print(f"{name}: {value}")
    if os.getloadavg()[0] > 0.5:
        print("NOTE other programs are busy on this machine: only compare, do not record")
    results: dict[str, Any] = {"machine": about, "shapes": {}}
    for key in options.shape or SHAPES:
        shape = SHAPES[key].scaled(options.scale)
        names = ["gangway", "real"] if options.real else ["gangway"]
        figures: dict[str, list[dict[str, float]]] = {name: [] for name in names}
        for _ in range(options.rounds):
            for name in names:
                profile = options.profile and options.profile.with_suffix(f".{key}")
                with SUBJECTS[name](shape.nodes) as subject:
                    figures[name].append(run_round(subject, shape, profile if name == "gangway" else None))
        rates = {name: show(name, shape, figures[name]) for name in names}
        if options.real:
            print(f"    {rates['gangway'] / rates['real']:.1f} times the real one (aim: {shape.aim})", flush=True)
        else:
            ratio = rates["gangway"] / shape.elsewhere
            print(f"    {ratio:.1f} times the {shape.elsewhere:g} of kube-scheduler 1.33.13, measured elsewhere (aim: {shape.aim})", flush=True)  # fmt: skip
        results["shapes"][key] = figures
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
