"""What a manager may say about an object of each kind: a whole one to begin with, and random parts of it.

Parts overlap on purpose, and now and then contradict the server's rules: both servers have to refuse alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

Fragment = dict[str, Any]

GROUP = "managed.example.com"
WIDGETS: Fragment = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"widgets.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [{
            "name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "properties": {
                    "size": {"type": "integer"},
                    "colour": {"type": "string", "default": "red"},
                    "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                    "steps": {"type": "array", "items": {"type": "string"}},
                    "extra": {"type": "object", "additionalProperties": {"type": "string"}},
                    "block": {"type": "object", "x-kubernetes-map-type": "atomic",
                              "properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                    "ports": {
                        "type": "array", "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["port", "protocol"],
                        "items": {"type": "object", "required": ["port"], "properties": {
                            "port": {"type": "integer"},
                            "protocol": {"type": "string", "default": "TCP"},
                            "note": {"type": "string"},
                        }},
                    },
                }},
                "status": {"type": "object", "properties": {
                    "phase": {"type": "string"}, "count": {"type": "integer"}}},
            }}},
        }],
    },
}  # fmt: skip


@dataclass(frozen=True)
class Kind:
    name: str
    api_version: str
    collection: str
    whole: Fragment
    part: Callable[[Random], Fragment]
    status: Callable[[Random], Fragment] | None = None
    strategic: bool = True


def _some(rng: Random, choices: dict[str, Any]) -> Fragment:
    """A non-empty random choice of fields."""
    count = rng.randint(1, max(1, len(choices) // 2))
    return {key: choices[key] for key in sorted(rng.sample(sorted(choices), count))}


def _value(rng: Random) -> str:
    return rng.choice(["1", "2", "3"])


def _metadata(rng: Random) -> Fragment:
    return _some(rng, {
        "labels": {rng.choice(["l1", "l2", "l3"]): _value(rng)},
        "annotations": {rng.choice(["a1", "a2"]): _value(rng), "example.com/both": _value(rng)},
        "finalizers": [f"example.com/{rng.choice('fgh')}"],
    })  # fmt: skip


def _with_metadata(rng: Random, body: Fragment) -> Fragment:
    return ({"metadata": _metadata(rng)} if rng.random() < 0.4 else {}) | body


def config_map(rng: Random) -> Fragment:
    data = {key: _value(rng) for key in "abcd"}
    return _with_metadata(rng, {"data": _some(rng, data)})


def service(rng: Random) -> Fragment:
    port = rng.choice([80, 81, 82])
    other = rng.choice([83, 84])
    return _with_metadata(rng, {"spec": _some(rng, {
        "selector": {rng.choice(["app", "tier"]): _value(rng)},
        "sessionAffinity": rng.choice(["None", "ClientIP"]),
        "ports": [
            {"name": f"p{port}", "port": port, "protocol": "TCP", "targetPort": rng.choice([8080, "http"])},
            {"name": f"p{other}", "port": other, "protocol": "TCP"},
        ],
        "publishNotReadyAddresses": rng.random() < 0.5,
    })})  # fmt: skip


def pod(rng: Random) -> Fragment:
    container = {"name": rng.choice(["main", "main", "side"]), "image": f"image:{_value(rng)}"}
    return _with_metadata(rng, {"spec": _some(rng, {
        "containers": [container],
        "activeDeadlineSeconds": rng.choice([600, 500, 400]),
        "tolerations": [{"key": rng.choice("xyz"), "operator": "Exists", "effect": "NoSchedule"}],
    })})  # fmt: skip


def pod_status(rng: Random) -> Fragment:
    return {"status": _some(rng, {
        "phase": rng.choice(["Pending", "Running"]),
        "conditions": [{"type": rng.choice(["Ready", "Initialized"]), "status": rng.choice(["True", "False"])}],
        "message": _value(rng),
    })}  # fmt: skip


def deployment(rng: Random) -> Fragment:
    container: Fragment = {"name": rng.choice(["main", "side"]), "image": f"image:{_value(rng)}"}
    container |= _some(rng, {
        "env": [{"name": rng.choice("AB"), "value": _value(rng)}, {"name": "C", "value": _value(rng)}],
        "ports": [{"containerPort": rng.choice([80, 81]), "protocol": "TCP", "name": rng.choice(["p", "q"])}],
        "resources": {"limits": {"cpu": _value(rng)}},
        "args": [_value(rng), _value(rng)],
        "volumeMounts": [{"name": "scratch", "mountPath": f"/{rng.choice('mn')}"}],
    })  # fmt: skip
    template = {"spec": {"containers": [container]}}
    if rng.random() < 0.3:
        template["spec"]["volumes"] = [{"name": "scratch", "emptyDir": {"sizeLimit": f"{_value(rng)}Gi"}}]
    return _with_metadata(rng, {"spec": _some(rng, {
        "replicas": rng.randint(0, 3),
        "paused": rng.random() < 0.5,
        "minReadySeconds": rng.randint(0, 3),
        "template": template,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": rng.choice([1, "50%"])}},
    })})  # fmt: skip


def deployment_status(rng: Random) -> Fragment:
    return {"status": _some(rng, {"replicas": rng.randint(3, 5), "updatedReplicas": 1, "observedGeneration": 1})}


def widget(rng: Random) -> Fragment:
    port = {"port": rng.choice([1, 2]), "protocol": rng.choice(["TCP", "UDP"]), "note": _value(rng)}
    return _with_metadata(rng, {"spec": _some(rng, {
        "size": rng.randint(1, 3),
        "colour": rng.choice(["red", "blue"]),
        "tags": sorted(rng.sample("pqrs", 2)),
        "steps": [_value(rng), _value(rng)],
        "extra": {rng.choice("uvw"): _value(rng)},
        "block": {rng.choice("ab"): _value(rng)},
        "free": {rng.choice("xy"): {"deep": [_value(rng)]}},
        "ports": [port],
    })})  # fmt: skip


def widget_status(rng: Random) -> Fragment:
    return {"status": _some(rng, {"phase": _value(rng), "count": rng.randint(1, 3)})}


_TEMPLATE: Fragment = {
    "metadata": {"labels": {"app": "x"}},
    "spec": {"containers": [{"name": "main", "image": "image:0"}], "volumes": [{"name": "scratch", "emptyDir": {}}]},
}

KINDS = [
    Kind("ConfigMap", "v1", "/api/v1/namespaces/${ns}/configmaps", {"data": {"a": "0", "b": "0"}}, config_map),
    Kind(
        "Service", "v1", "/api/v1/namespaces/${ns}/services",
        {"spec": {"selector": {"app": "0"}, "ports": [{"name": "p80", "port": 80, "protocol": "TCP"}]}}, service,
    ),
    Kind(
        "Pod", "v1", "/api/v1/namespaces/${ns}/pods",
        {"spec": {"containers": [{"name": "main", "image": "image:0"}, {"name": "side", "image": "image:0"}]}},
        pod, pod_status,
    ),
    Kind(
        "Deployment", "apps/v1", "/apis/apps/v1/namespaces/${ns}/deployments",
        {"spec": {"selector": {"matchLabels": {"app": "x"}}, "template": _TEMPLATE}}, deployment, deployment_status,
    ),
    Kind(
        "Widget", f"{GROUP}/v1", f"/apis/{GROUP}/v1/namespaces/${{ns}}/widgets",
        {"spec": {"size": 1, "tags": ["p"], "ports": [{"port": 1, "protocol": "TCP"}]}},
        widget, widget_status, strategic=False,
    ),
]  # fmt: skip
