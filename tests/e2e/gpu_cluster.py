"""Three simulated nodes of four GPUs and two priority classes, and what users put on them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.user import User, name
from kube.harness.gangway import GangwayCluster

CLUSTER = """\
apiVersion: gangway.dev/v1alpha1
kind: Cluster
runtime: simulated
nodes:
- {name: gpu, count: 3, capacity: {cpu: "32", memory: 64Gi, nvidia.com/gpu: "4"}}
"""

CLASSES = """\
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: medium}
value: 1000000
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: critical}
value: 1100000
"""


@contextmanager
def gpu_cluster(kubectl: Path, classes: str = CLASSES) -> Iterator[GangwayCluster]:
    with GangwayCluster(CLUSTER) as started:
        User(kubectl, started, "default").does("create", "-f", "-", given=classes)
        yield started


def a_pod(pod: str, gpus: int, *, group: str = "", priority: str = "", labels: dict[str, str] | None = None,
          **annotations: str) -> dict:  # fmt: skip
    amounts = {"nvidia.com/gpu": str(gpus), "cpu": "1"}
    all_labels = {**(labels or {}), **({"scheduling.x-k8s.io/pod-group": group} if group else {})}
    notes = {"gangway.dev/" + key.replace("_", "-"): value for key, value in annotations.items()}
    spec: dict = {"containers": [{"name": "c", "image": "i", "resources": {"limits": amounts, "requests": amounts}}]}
    if priority:
        spec["priorityClassName"] = priority
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": pod, "labels": all_labels, "annotations": notes},
            "spec": spec}  # fmt: skip


def a_group(group: str, minimum: int, **annotations: str) -> dict:
    notes = {"gangway.dev/" + key.replace("_", "-"): value for key, value in annotations.items()}
    return {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup",
            "metadata": {"name": group, "annotations": notes}, "spec": {"minMember": minimum}}  # fmt: skip


def creates(user: User, *things: dict) -> None:
    user.does("create", "-f", "-", given="\n---\n".join(json.dumps(thing) for thing in things))


def gang(group: str, size: int, gpus: int, minimum: int = 0, priority: str = "", **annotations: str) -> list[dict]:
    index = "batch.kubernetes.io/job-completion-index"
    members = [a_pod(f"{group}-{i}", gpus, group=group, priority=priority, labels={index: str(i)}) for i in range(size)]
    return [a_group(group, minimum or size, **annotations), *members]


def bound(user: User) -> set[str]:
    return {name(pod) for pod in user.sees("pods") if pod["spec"].get("nodeName") and not is_ending(pod)}


def is_ending(pod: dict) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def why(user: User, pod: str) -> str:
    return user.does("get", "pod", pod, "-o", "jsonpath={.status.conditions[?(@.type=='PodScheduled')].message}")
