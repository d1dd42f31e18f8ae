"""The situation files: what they may say, and the objects that they stand for.

A file has a `theme` and `situations`. A situation has a `name` and
  nodes        as in a cluster file: name, count, capacity, labels, taints, and cordoned
  classes      priority classes: name: value, or name: the fields of a PriorityClass
  namespaces   name: labels, beside `default`, where everything is that names no other
  budgets      PodDisruptionBudgets: name, ns, selector (labels), minAvailable
  exist        pods that run before anything is asked; those that are `older` have started a second before the others
  come         steps, each of which has to come to rest: create (pods), delete (names), patch_nodes and patch_pods
               (name: merge patch)
  alike        names of pods that are made with `count`: it is compared how many of them run, not which
  where        names of pods that are compared with their nodes
  forgotten    names of pods that kube-scheduler has made room for and does not look at again for minutes
  ends         how it has to end with kube-scheduler, the guard against a situation that is not what its name says:
               running, pending, victims, each a list of names, or name: count for pods that are alike
  ours         how it has to end with ours, where that is meant to differ (tests/kube/differences.yaml says why)
A pod has a `name` and optionally count (name-0, name-1, …), ns, labels, annotations, node (which it is put on without any
scheduler), class, older, spec (fields of its spec); any other field is an amount that it requests.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from ..comparison.cases import merge

SITUATIONS = Path(__file__).resolve().parent.parent / "scheduling"
HOSTNAME = "kubernetes.io/hostname"
_POD_KEYS = {"name", "count", "ns", "labels", "annotations", "node", "class", "older", "spec"}
_NODE_KEYS = {"name", "count", "capacity", "labels", "taints", "cordoned"}
_STEP_KEYS = {"create", "delete", "patch_nodes", "patch_pods"}
_END_KEYS = ("running", "pending", "victims")


class SituationError(Exception):
    """A situation file says something that it may not say."""


@dataclass(frozen=True)
class Node:
    name: str
    capacity: Mapping[str, str]
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Mapping[str, str], ...] = ()
    cordoned: bool = False

    def manifest(self) -> dict[str, Any]:
        capacity = {"pods": "110"} | dict(self.capacity)
        spec: dict[str, Any] = {"taints": [dict(taint) for taint in self.taints]} if self.taints else {}
        if self.cordoned:
            spec["unschedulable"] = True
        return {
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": self.name, "labels": {HOSTNAME: self.name} | dict(self.labels)},
            "spec": spec,
            "status": {
                "capacity": capacity, "allocatable": capacity,
                "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "simulated"}],
            },
        }  # fmt: skip

    def in_cluster_file(self) -> dict[str, Any]:
        return {
            "name": self.name, "capacity": dict(self.capacity), "labels": dict(self.labels),
            "taints": [dict(taint) for taint in self.taints],
        }  # fmt: skip


@dataclass(frozen=True)
class Step:
    create: tuple[dict[str, Any], ...] = ()
    delete: tuple[str, ...] = ()
    patch_nodes: Mapping[str, Any] = field(default_factory=dict)
    patch_pods: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Situation:
    theme: str
    name: str
    nodes: tuple[Node, ...]
    steps: tuple[Step, ...]
    ends: Mapping[str, Mapping[str, int]]
    ours: Mapping[str, Mapping[str, int]] | None = None
    classes: tuple[dict[str, Any], ...] = ()
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    budgets: tuple[dict[str, Any], ...] = ()
    older: tuple[dict[str, Any], ...] = ()
    exist: tuple[dict[str, Any], ...] = ()
    alike: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    forgotten: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return f"scheduling: {self.theme}: {self.name}"

    @property
    def id(self) -> str:
        return "s" + hashlib.sha256(self.title.encode()).hexdigest()[:8]


def _only(raw: Mapping[str, Any], known: set[str], where: str) -> None:
    if unknown := set(raw) - known:
        raise SituationError(f"{where}: unknown keys {sorted(unknown)}")


def nodes_of(raw: Mapping[str, Any], where: str) -> list[Node]:
    _only(raw, _NODE_KEYS, f"{where}: node {raw.get('name')}")
    capacity = {name: str(amount) for name, amount in raw["capacity"].items()}
    names = [f"{raw['name']}-{i}" for i in range(raw["count"])] if "count" in raw else [raw["name"]]
    return [
        Node(name, capacity, raw.get("labels", {}), tuple(raw.get("taints", [])), raw.get("cordoned", False))
        for name in names
    ]


def pods_of(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The manifests of one entry. Amounts are limits too: extended resources must not differ."""
    amounts = {name: str(amount) for name, amount in raw.items() if name not in _POD_KEYS}
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}]}
    if amounts:
        spec["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
    if "class" in raw:
        spec["priorityClassName"] = raw["class"]
    if "node" in raw:
        spec["nodeName"] = raw["node"]
    spec = merge(spec, raw.get("spec", {}))
    names = [f"{raw['name']}-{i}" for i in range(raw["count"])] if "count" in raw else [raw["name"]]
    metadata = {"namespace": raw.get("ns", "default"), "labels": raw.get("labels", {}),
                "annotations": raw.get("annotations", {})}  # fmt: skip
    return [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **copy.deepcopy(metadata)},
         "spec": copy.deepcopy(spec)}
        for name in names
    ]  # fmt: skip


def class_of(name: str, said: Any) -> dict[str, Any]:
    said = said if isinstance(said, Mapping) else {"value": said}
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, **said}


def budget_of(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": raw["name"], "namespace": raw.get("ns", "default")},
        "spec": {"selector": {"matchLabels": raw["selector"]}, "minAvailable": raw["minAvailable"]},
    }  # fmt: skip


def _step(raw: Mapping[str, Any], where: str) -> Step:
    _only(raw, _STEP_KEYS, where)
    create = tuple(pod for entry in raw.get("create", []) for pod in pods_of(entry))
    return Step(create, tuple(raw.get("delete", [])), raw.get("patch_nodes", {}), raw.get("patch_pods", {}))


def ending_of(raw: Mapping[str, Any], where: str) -> dict[str, dict[str, int]]:
    _only(raw, set(_END_KEYS), f"{where}: ends")
    ending: dict[str, dict[str, int]] = {}
    for key in _END_KEYS:
        said = raw.get(key, {})
        ending[key] = dict(said) if isinstance(said, Mapping) else {name: 1 for name in said}
    return ending


_SITUATION_KEYS = {f.name for f in fields(Situation)} - {"theme", "steps", "older"} | {"come"}


def situation_of(theme: str, raw: Mapping[str, Any]) -> Situation:
    where = f"{theme}: {raw.get('name')}"
    _only(raw, _SITUATION_KEYS, where)
    exist = raw.get("exist", [])
    made = {bool(old): tuple(pod for entry in exist if bool(entry.get("older")) is old for pod in pods_of(entry))
            for old in (True, False)}  # fmt: skip
    situation = Situation(
        theme=theme,
        name=raw["name"],
        nodes=tuple(node for entry in raw["nodes"] for node in nodes_of(entry, where)),
        steps=tuple(_step(step, where) for step in raw["come"]),
        ends=ending_of(raw["ends"], where),
        ours=ending_of(raw["ours"], where) if "ours" in raw else None,
        classes=tuple(class_of(name, said) for name, said in raw.get("classes", {}).items()),
        namespaces=raw.get("namespaces", {}),
        budgets=tuple(budget_of(budget) for budget in raw.get("budgets", [])),
        older=made[True],
        exist=made[False],
        alike=tuple(raw.get("alike", [])),
        where=tuple(raw.get("where", [])),
        forgotten=tuple(raw.get("forgotten", [])),
    )
    names = [pod["metadata"]["name"] for pod in all_pods(situation)]
    if doubled := {name for name in names if names.count(name) > 1}:
        raise SituationError(f"{where}: pods are told apart by name: {sorted(doubled)}")
    return situation


def all_pods(situation: Situation) -> list[dict[str, Any]]:
    return [*situation.older, *situation.exist, *(pod for step in situation.steps for pod in step.create)]


def load_situations(folder: Path = SITUATIONS) -> list[Situation]:
    found: list[Situation] = []
    for path in sorted(folder.glob("*.yaml")):
        document = yaml.safe_load(path.read_text())
        found.extend(situation_of(document["theme"], raw) for raw in document["situations"])
    # Namespaces take their time to go, and stay when the situation is over.
    for what, names in (
        ("name", [situation.title for situation in found]),
        ("namespace", [name for situation in found for name in situation.namespaces]),
    ):
        if doubled := {name for name in names if names.count(name) > 1}:
            raise SituationError(f"two situations have the same {what}: {sorted(doubled)}")
    return found
