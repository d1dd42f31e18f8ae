"""Situations and their outcomes: what a file may say, when all is at rest, and what counts as the same end."""

from __future__ import annotations

from typing import Any

import pytest

from kube.comparison.difference import KnownDifference
from kube.harness.kubelets import TERMINATION, next_effect, running_status, seconds_of
from kube.situations.outcome import ending, fingerprint, outcome, still_to_do
from kube.situations.runner import complaints
from kube.situations.situation import (
    Situation,
    SituationError,
    all_pods,
    ending_of,
    load_situations,
    nodes_of,
    pods_of,
    situation_of,
)

NODES = [{"name": "n", "capacity": {"cpu": 4, "memory": "8Gi"}}]


def a_situation(**more: Any) -> Situation:
    return situation_of("theme", {"name": "name", "nodes": NODES, "come": [], "ends": {}} | more)


def a_pod(name: str, node: str = "", *, phase: str = "", said: str = "", **more: Any) -> dict[str, Any]:
    status: dict[str, Any] = {"phase": phase or ("Running" if node else "Pending")}
    if said:
        status["conditions"] = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": said}]
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}"} | more.pop("metadata", {})
    spec = {"schedulerName": "default-scheduler", "containers": [{"name": "c", "image": "i"}]}
    return {"metadata": metadata, "spec": spec | ({"nodeName": node} if node else {}), "status": status | more}


ENDING = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}


def test_a_pod_is_made_of_amounts_and_fields() -> None:
    (pod,) = pods_of({"name": "p", "cpu": 2, "nvidia.com/gpu": 1, "class": "high", "node": "n", "spec": {"hostNetwork": True}})
    assert pod["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "2", "nvidia.com/gpu": "1"}
    assert pod["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "2", "nvidia.com/gpu": "1"}
    assert (pod["spec"]["priorityClassName"], pod["spec"]["nodeName"]) == ("high", "n")
    assert pod["spec"]["hostNetwork"] is True
    assert [p["metadata"]["name"] for p in pods_of({"name": "p", "count": 2})] == ["p-0", "p-1"]


def test_nodes_are_the_same_as_objects_and_in_a_cluster_file() -> None:
    first, second = nodes_of({"name": "n", "count": 2, "capacity": {"cpu": 4}, "labels": {"zone": "a"}, "cordoned": True}, "")
    assert second.manifest()["metadata"]["labels"] == {"kubernetes.io/hostname": "n-1", "zone": "a"}
    assert first.manifest()["status"]["allocatable"] == {"pods": "110", "cpu": "4"}
    assert first.manifest()["spec"]["unschedulable"] is True
    assert first.in_cluster_file() == {"name": "n-0", "capacity": {"cpu": "4"}, "labels": {"zone": "a"}, "taints": []}


def test_unknown_keys_and_doubled_names_are_refused() -> None:
    with pytest.raises(SituationError, match="unknown keys"):
        a_situation(nods=[])
    with pytest.raises(SituationError, match="unknown keys"):
        a_situation(come=[{"creat": []}])
    with pytest.raises(SituationError, match="unknown keys"):
        ending_of({"runs": []}, "here")
    with pytest.raises(SituationError, match="told apart"):
        a_situation(exist=[{"name": "a"}], come=[{"create": [{"name": "a"}]}])


def test_older_pods_are_apart() -> None:
    situation = a_situation(exist=[{"name": "a", "older": True}, {"name": "b"}], come=[{"create": [{"name": "c"}]}])
    assert [pod["metadata"]["name"] for pod in situation.older] == ["a"]
    assert [pod["metadata"]["name"] for pod in situation.exist] == ["b"]
    assert [pod["metadata"]["name"] for pod in all_pods(situation)] == ["a", "b", "c"]


def test_the_situations_can_be_read_and_name_only_pods_that_they_make() -> None:
    situations = load_situations()
    assert len(situations) > 40
    for situation in situations:
        names = {pod["metadata"]["name"] for pod in all_pods(situation)}
        known = names | {f"{base}-*" for base in situation.alike}
        for said in (situation.ends, situation.ours or {}):
            assert {name for part in said.values() for name in part} <= known, situation.title
        assert set(situation.where) <= names, situation.title


def test_rest_is_when_everybody_runs_or_was_told_why_not() -> None:
    assert still_to_do([a_pod("a", "n"), a_pod("b", said="0/1 nodes")]) == []
    assert still_to_do([a_pod("a")]) == ["nothing is said of a"]
    assert still_to_do([a_pod("a", "n", phase="Pending")]) == ["a is bound and does not run"]
    assert still_to_do([a_pod("a", "n", metadata=ENDING)]) == ["a is ending"]
    assert still_to_do([a_pod("a", said="0/1 nodes", nominatedNodeName="n")]) == ["a has a node where nobody is in its way"]
    foreign = a_pod("a")
    foreign["spec"]["schedulerName"] = "other"
    assert still_to_do([foreign]) == []


def test_who_takes_an_hour_to_go_does_not_keep_others_from_rest() -> None:
    slow = a_pod("slow", "n", metadata=ENDING | {"annotations": {TERMINATION: "1h"}})
    assert still_to_do([slow, a_pod("next", said="0/1 nodes", nominatedNodeName="n")]) == []
    assert still_to_do([slow, a_pod("next", said="0/1 nodes", nominatedNodeName="m")]) != []


def test_who_is_forgotten_is_not_waited_for() -> None:
    pod = a_pod("a", said="0/1 nodes", nominatedNodeName="n")
    assert still_to_do([pod], forgotten=["b"]) != []
    assert still_to_do([pod], forgotten=["a"]) == []


def test_a_fingerprint_changes_with_what_is_said() -> None:
    before, after = (fingerprint([a_pod("a", said=said)]) for said in ("0/1 nodes", "0/2 nodes"))
    assert before != after
    assert fingerprint([a_pod("a"), a_pod("b")]) == fingerprint([a_pod("b"), a_pod("a")])


def test_who_is_missing_is_a_victim_unless_it_was_deleted() -> None:
    made = {name: f"uid-{name}" for name in ("a", "b", "c", "d", "e")}
    pods = [a_pod("a", "n"), a_pod("c", "n", metadata=ENDING), a_pod("e", said="0/1 nodes", nominatedNodeName="n")]
    found = outcome(a_situation(where=["a"]), made, {"d"}, pods)
    assert found["running"] == {"a": 1}
    assert found["places"] == {"a": "n"}
    assert found["victims"] == {"b": 1, "c": 1}
    assert found["pending"] == {"e": "Unschedulable: 0/1 nodes"}
    assert found["nominated"] == {"e": "n"}
    assert ending(found) == {"running": {"a": 1}, "pending": {"e": 1}, "victims": {"b": 1, "c": 1}}


def test_a_pod_that_was_made_again_is_another() -> None:
    again = a_pod("a", "n", metadata={"uid": "another"})
    assert outcome(a_situation(), {"a": "uid-a"}, set(), [again])["victims"] == {"a": 1}


def test_pods_that_are_alike_are_counted() -> None:
    made = {name: f"uid-{name}" for name in ("low-0", "low-1", "low-x")}
    found = outcome(a_situation(alike=["low"]), made, set(), [a_pod("low-0", "n"), a_pod("low-x", "n")])
    assert found["running"] == {"low-*": 1, "low-x": 1}
    assert found["victims"] == {"low-*": 1}


def an_outcome(*, running: dict[str, int], pending: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"running": running, "pending": pending or {}, "victims": {}}


def test_outcomes_have_to_be_equal_and_as_the_situation_says() -> None:
    situation = a_situation(ends={"running": ["a"]})
    same = an_outcome(running={"a": 1})
    assert complaints(situation, same, same, []) == []
    assert complaints(situation, same, an_outcome(running={"a": 1}, pending={"b": "x"}), []) != []
    other = an_outcome(running={"b": 1})
    (first, second) = complaints(situation, other, other, [])
    assert first.startswith("with kube-scheduler it does not end as the situation says")
    assert second.startswith("with kube-scheduler it does not end as the situation says")


def test_what_is_meant_to_differ_has_to_differ_as_said() -> None:
    situation = a_situation(ends={"running": ["a"]}, ours={"running": ["b"]})
    known = [KnownDifference("scheduling: theme: name", "running", "why")]
    real = an_outcome(running={"a": 1})
    assert complaints(situation, real, an_outcome(running={"b": 1}), known) == []
    assert complaints(situation, real, an_outcome(running={"c": 1}), known) != []
    assert complaints(situation, real, real, known) != []
    assert complaints(situation, real, an_outcome(running={"b": 1}), []) != []


def test_durations() -> None:
    assert (seconds_of("90s"), seconds_of("1h30m"), seconds_of("250ms")) == (90.0, 5400.0, 0.25)
    for wrong in ("", "5", "s", "1d", "1h 30m"):
        with pytest.raises(ValueError):
            seconds_of(wrong)


def test_nodes_run_what_is_bound_and_remove_what_was_told_to_end() -> None:
    assert next_effect(a_pod("a")) is None
    assert next_effect(a_pod("a", "n", phase="Pending")) == ("run", 0.0)
    assert next_effect(a_pod("a", "n")) is None
    assert next_effect(a_pod("a", "n", metadata=ENDING)) == ("remove", 0.0)
    slow = ENDING | {"annotations": {TERMINATION: "1h"}}
    assert next_effect(a_pod("a", "n", metadata=slow)) == ("remove", 30.0)
    short = {"annotations": {"gangway.dev/simulated-duration": "2s"}}
    assert next_effect(a_pod("a", "n", metadata=short)) == ("finish", 2.0)
    status = running_status(a_pod("a", "n"), "2026-01-01T00:00:00Z")
    assert (status["phase"], status["startTime"]) == ("Running", "2026-01-01T00:00:00Z")
    assert {c["type"]: c["status"] for c in status["conditions"]}["Ready"] == "True"
