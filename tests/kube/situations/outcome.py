"""How a situation ended, as a value that two sides can be compared by. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from ..harness.kubelets import DURATION, TERMINATION, seconds_of
from .situation import Situation

Pod = Mapping[str, Any]

LINGERING_SECONDS = 600
DEFAULT_SCHEDULER = "default-scheduler"


def scheduled_condition(pod: Pod) -> Mapping[str, Any] | None:
    conditions = pod.get("status", {}).get("conditions") or []
    return next((condition for condition in conditions if condition["type"] == "PodScheduled"), None)


def is_ending(pod: Pod) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def has_ended(pod: Pod) -> bool:
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def is_bound(pod: Pod) -> bool:
    return bool(pod["spec"].get("nodeName"))


def nominated(pod: Pod) -> str:
    return pod.get("status", {}).get("nominatedNodeName") or ""


def lingers(pod: Pod) -> bool:
    """It will still be ending when the situation is over."""
    notes = pod["metadata"].get("annotations") or {}
    return is_ending(pod) and seconds_of(notes.get(TERMINATION, "0s")) >= LINGERING_SECONDS


def still_to_do(pods: Iterable[Pod], forgotten: Iterable[str] = ()) -> list[str]:
    """Why this is not the end of it."""
    pods = list(pods)
    ending_on = {pod["spec"].get("nodeName", "") for pod in pods if lingers(pod)}
    for pod in pods:
        if pod["metadata"]["name"] in forgotten:
            ending_on.add(nominated(pod))
    return [said for pod in pods if (said := _still_to_do(pod, ending_on))]


def _still_to_do(pod: Pod, ending_on: set[str]) -> str:
    name = pod["metadata"]["name"]
    if is_ending(pod):
        return "" if lingers(pod) else f"{name} is ending"
    if has_ended(pod):
        return ""
    if is_bound(pod):
        if DURATION in (pod["metadata"].get("annotations") or {}):
            return f"{name} will come to its end"
        return "" if pod["status"].get("phase") == "Running" else f"{name} is bound and does not run"
    if pod["spec"].get("schedulerName") != DEFAULT_SCHEDULER:
        return ""
    condition = scheduled_condition(pod)
    if condition is None or condition["status"] != "False":
        return f"nothing is said of {name}"
    if nominated(pod) and nominated(pod) not in ending_on:
        return f"{name} has a node where nobody is in its way"
    return ""


def fingerprint(pods: Iterable[Pod]) -> tuple[tuple[Any, ...], ...]:
    """All that must not change any more."""
    return tuple(sorted(
        (
            pod["metadata"]["namespace"], pod["metadata"]["name"], pod["metadata"]["uid"],
            pod["spec"].get("nodeName", ""), pod.get("status", {}).get("phase", ""), is_ending(pod), nominated(pod),
            (scheduled_condition(pod) or {}).get("message", ""),
        )
        for pod in pods
    ))  # fmt: skip


def _known_as(name: str, alike: Iterable[str]) -> str:
    """Pods that are alike have one name in an outcome: base-0 and base-7 are `base-*`."""
    for base in alike:
        if re.fullmatch(re.escape(base) + r"-\d+", name):
            return f"{base}-*"
    return name


def outcome(situation: Situation, made: Mapping[str, str], deleted: set[str], pods: Iterable[Pod]) -> dict[str, Any]:
    """`made`: uids of all pods by name. Who is missing and was not deleted on purpose is a victim."""
    there = {pod["metadata"]["name"]: pod for pod in pods if made.get(pod["metadata"]["name"]) == pod["metadata"]["uid"]}
    found: dict[str, Any] = {"running": {}, "ended": {}, "pending": {}, "nominated": {}, "places": {}}
    running: Counter[str] = Counter()
    ended: Counter[str] = Counter()
    victims: Counter[str] = Counter()
    waiting: dict[str, list[str]] = {}
    for name in made:
        known_as = _known_as(name, situation.alike)
        pod = there.get(name)
        if pod is None or is_ending(pod):
            victims[known_as] += name not in deleted
        elif has_ended(pod):
            ended[known_as] += 1
        elif is_bound(pod):
            running[known_as] += 1
            if name in situation.where:
                found["places"][name] = pod["spec"]["nodeName"]
        else:
            condition = scheduled_condition(pod) or {}
            waiting.setdefault(known_as, []).append(f"{condition.get('reason')}: {condition.get('message')}")
            if nominated(pod):
                found["nominated"][known_as] = nominated(pod)
    found["running"], found["ended"] = dict(running), dict(ended)
    found["victims"] = {name: count for name, count in victims.items() if count}
    found["pending"] = {name: sorted(said) if len(said) > 1 else said[0] for name, said in waiting.items()}
    return found


def ending(found: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """The part of an outcome that a situation file states: who runs, who waits, who had to go."""
    pending = {name: len(said) if isinstance(said, list) else 1 for name, said in found["pending"].items()}
    return {"running": found["running"], "pending": pending, "victims": found["victims"]}
