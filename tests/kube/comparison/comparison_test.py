"""The comparison itself: what it must see as different, and what it must not."""

from __future__ import annotations

from typing import Any

import pytest

from kube.comparison.cases import CaseError, at_path, load_cases, merge, substitute
from kube.comparison.difference import Difference, KnownDifference, differences, ignored, without_ignored
from kube.comparison.execution import Answer
from kube.comparison.normalise import Normaliser

FIRST = "11111111-1111-1111-1111-111111111111"
SECOND = "22222222-2222-2222-2222-222222222222"


def normal(*bodies: Any) -> list[Any]:
    normaliser = Normaliser()
    return [normaliser.answer(Answer(200, "application/json", [], body))["body"] for body in bodies]


def an_object(uid: str, version: str) -> dict[str, Any]:
    return {"kind": "ConfigMap", "metadata": {"name": "a", "uid": uid, "resourceVersion": version}}


def test_identities_are_numbered_in_order_of_appearance() -> None:
    assert normal(an_object(FIRST, "7")) == normal(an_object(SECOND, "1234"))


def test_a_version_that_changed_differs_from_one_that_did_not() -> None:
    assert normal(an_object(FIRST, "7"), an_object(FIRST, "7")) != normal(an_object(FIRST, "7"), an_object(FIRST, "8"))


def test_numbering_does_not_depend_on_the_order_of_fields() -> None:
    one = {"metadata": {"uid": FIRST, "ownerReferences": [{"uid": SECOND}]}}
    other = {"metadata": {"ownerReferences": [{"uid": FIRST}], "uid": SECOND}}
    assert normal(one) == normal(other)


def test_an_owner_reference_has_to_name_the_right_uid() -> None:
    def dependent(owner: str) -> dict[str, Any]:
        return {"metadata": {"uid": SECOND, "ownerReferences": [{"uid": owner}]}}

    assert normal(an_object(FIRST, "1"), dependent(FIRST)) != normal(an_object(FIRST, "1"), dependent(SECOND))


def test_generated_names_are_known_everywhere() -> None:
    first = {"metadata": {"name": "made-abcde", "generateName": "made-"}, "message": 'pods "made-abcde" exists'}
    second = {"metadata": {"name": "made-vwxyz", "generateName": "made-"}, "message": 'pods "made-vwxyz" exists'}
    assert normal(first) == normal(second)


def test_only_clients_managers_are_compared() -> None:
    entry = {"manager": "me", "operation": "Update"}
    system = {"manager": "kube-controller-manager", "operation": "Update"}
    assert normal({"metadata": {"managedFields": [system, entry]}}) == normal({"metadata": {"managedFields": [entry]}})


def table(age: str, **more: Any) -> dict[str, Any]:
    return {"kind": "Table", "rows": [{"cells": ["a", age]}]} | more


def test_ages_in_all_tables_of_a_watch_are_left_out() -> None:
    columns = {"columnDefinitions": [{"name": "Name"}, {"name": "Age"}]}

    def events(age: str, name: str = "a") -> Any:
        later = {"kind": "Table", "rows": [{"cells": [name, age]}]}
        return {"events": [{"object": table(age, **columns)}, {"object": later}]}

    assert normal(events("0s")) == normal(events("1s"))
    assert normal(events("0s")) != normal(events("0s", name="b"))
    assert normal(table("0s", **columns), table("0s")) != normal(table("0s", **columns), table("1s"))


@pytest.mark.parametrize(
    ("real", "ours", "paths"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, ["a"]),
        ({"a": 1}, {}, ["a"]),
        ({}, {"a": None}, ["a"]),
        ({"a": [1, 2]}, {"a": [1]}, ["a.1"]),
        ({"a": {"b": [{"c": 1}]}}, {"a": {"b": [{"c": 2}]}}, ["a.b.0.c"]),
        ({"a": 1}, {"a": True}, ["a"]),
        ({"message": "json: cannot unmarshal string"}, {"message": "not a number"}, []),
        ({"message": "json: cannot unmarshal string"}, {"message": ""}, ["message"]),
        ({"message": "already exists"}, {"message": "exists"}, ["message"]),
        ({"reason": "json: cannot unmarshal"}, {"reason": "other"}, ["reason"]),
    ],
)
def test_differences(real: Any, ours: Any, paths: list[str]) -> None:
    assert [difference.path for difference in differences(real, ours)] == paths


def test_causes_are_compared_without_their_order() -> None:
    one, two = {"field": "a", "reason": "x"}, {"field": "b", "reason": "y"}
    assert not list(differences({"details": {"causes": [one, two]}}, {"details": {"causes": [two, one]}}))


@pytest.mark.parametrize(
    ("path", "pattern", "covered"),
    [
        ("body.status", "body.status", True),
        ("body.status.phase", "body.status", True),
        ("body.statuses", "body.status", False),
        ("body.items.3.status", "body.items.*.status", True),
        ("body.items", "body.items.*", False),
    ],
)
def test_ignored_paths(path: str, pattern: str, covered: bool) -> None:
    assert ignored(path, (pattern,)) is covered


def test_what_is_ignored_is_not_numbered() -> None:
    body = {"items": [{"metadata": {"name": "a", "resourceVersion": "7"}, "status": {"phase": "Up"}}], "status": {}}
    left = {"items": [{"metadata": {"name": "a"}, "status": {"phase": "Up"}}]}
    assert without_ignored(body, ("items.*.metadata.resourceVersion", "status")) == left


def test_a_known_difference_covers_its_cases_only() -> None:
    known = KnownDifference("list: *", "body.kind", "because")
    difference = Difference("body.kind", "A", "B")
    assert not known.covers("watch: a", difference) and not known.used
    assert known.covers("list: a [Pod]", difference) and known.used


def test_merge_follows_rfc_7386() -> None:
    assert merge({"a": {"b": 1, "c": 2}, "d": [1]}, {"a": {"b": None}, "d": [2]}) == {"a": {"c": 2}, "d": [2]}


def test_variables() -> None:
    variables = {"id": "x", "sample": {"metadata": {"name": "${id}"}}}
    assert substitute({"a": "${sample}", "b": "n-${id}"}, variables) == {"a": {"metadata": {"name": "x"}}, "b": "n-x"}
    with pytest.raises(CaseError):
        substitute("n-${unknown}", variables)


def test_paths_into_answers() -> None:
    assert at_path({"a": [{"b": 1}]}, "a.0.b") == 1
    assert at_path({"a": []}, "a.0.b") is None


def test_the_case_files_are_valid_and_many() -> None:
    assert len(load_cases()) >= 350
