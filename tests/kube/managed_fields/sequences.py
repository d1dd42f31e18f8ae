"""Generates the sequences: the same seed gives the same requests, so a failure is repeated by its title alone."""

from __future__ import annotations

from pathlib import Path
from random import Random

from ..comparison.cases import Case, Step, merge
from ..comparison.cases import load_cases as load
from .fragments import KINDS, Fragment, Kind

SEED = 20240607
GENERATED = 50
STEPS = 8
MANAGERS = ("alpha", "beta", "gamma")
HANDWRITTEN = Path(__file__).resolve().parent / "handwritten"


def _object(kind: Kind, content: Fragment) -> Fragment:
    named: Fragment = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": "x"}}
    return dict(merge(named, content))


def _first(kind: Kind, rng: Random) -> Step:
    manager = rng.choice(MANAGERS)
    body = _object(kind, kind.whole)
    if rng.random() < 0.5:
        return Step("PATCH", f"{kind.collection}/x?fieldManager={manager}", body=body, type="apply", expect=201)
    return Step("POST", f"{kind.collection}?fieldManager={manager}", body=body, expect=201)


def _apply(kind: Kind, rng: Random, path: str, part: Fragment) -> list[Step]:
    force = "&force=true" if rng.random() < 0.5 else ""
    return [Step("PATCH", path + force, body=_object(kind, part), type="apply")]


def _merge_patch(kind: Kind, rng: Random, path: str, part: Fragment) -> list[Step]:
    if rng.random() < 0.3:
        part = merge(part, {"metadata": {"labels": {"gone": "x"}}})
        part["metadata"]["labels"]["l1"] = None
    return [Step("PATCH", path, body=part, type="merge")]


def _strategic_patch(kind: Kind, rng: Random, path: str, part: Fragment) -> list[Step]:
    return [Step("PATCH", path, body=part, type="strategic" if kind.strategic else "merge")]


def _json_patch(kind: Kind, rng: Random, path: str, part: Fragment) -> list[Step]:
    label = rng.choice(["l1", "l2"])
    operations = [
        {"op": "add", "path": "/metadata/labels", "value": {label: "9"}},
        {"op": "add", "path": "/metadata/annotations", "value": {"a1": label}},
    ]
    return [Step("PATCH", path, body=operations[: rng.randint(1, 2)], type="json")]


def _update(kind: Kind, rng: Random, path: str, part: Fragment) -> list[Step]:
    read = Step("GET", f"{kind.collection}/x", save={"current": ""})
    return [read, Step("PUT", path, body="${current}", with_=part)]


def _status(kind: Kind, rng: Random, path: str, part: Fragment) -> list[Step]:
    if kind.status is None:
        return _update(kind, rng, path, part)
    return [Step("PATCH", path.replace("/x?", "/x/status?"), body=kind.status(rng), type="merge")]


OPERATIONS = [_apply, _apply, _apply, _merge_patch, _strategic_patch, _json_patch, _update, _status]


def _sequence(number: int) -> Case:
    kind = KINDS[number % len(KINDS)]
    rng = Random(f"{SEED}/{number}")
    steps = [_first(kind, rng)]
    while len(steps) < STEPS:
        path = f"{kind.collection}/x?fieldManager={rng.choice(MANAGERS)}"
        steps.extend(rng.choice(OPERATIONS)(kind, rng, path, kind.part(rng)))
    return Case("managed fields", f"sequence {number} [{kind.name}]", tuple(steps), (), (), {}, True)


def all_sequences() -> list[Case]:
    return [_sequence(number) for number in range(GENERATED)] + load(HANDWRITTEN)
