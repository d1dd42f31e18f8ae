"""Gangs and preemption, as a user of kubectl sees them, on simulated nodes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.gpu_cluster import a_group, a_pod, bound, creates, gang, gpu_cluster, why
from e2e.user import User
from kube.harness.gangway import GangwayCluster


@pytest.fixture(scope="module")
def cluster(kubectl: Path) -> Iterator[GangwayCluster]:
    with gpu_cluster(kubectl) as started:
        yield started


@pytest.fixture
def user(cluster: GangwayCluster, kubectl: Path) -> Iterator[User]:
    someone = User(kubectl, cluster, "default")
    yield someone
    someone.does("delete", "pods,podgroups", "--all", "--force", "--grace-period=0")
    someone.waits("an empty cluster", lambda: not someone.sees("pods") and not someone.sees("allotments"))


def test_two_gangs_that_need_the_whole_cluster_are_never_half_and_half(user: User) -> None:
    creates(user, *gang("first", 3, 4), *gang("second", 3, 4))
    user.waits("one of them", lambda: len(bound(user)) == 3)
    assert bound(user) in ({"first-0", "first-1", "first-2"}, {"second-0", "second-1", "second-2"})
    waits = "second" if "first-0" in bound(user) else "first"
    user.waits("a reason", lambda: "all 3 pods of the group must fit at once" in why(user, f"{waits}-0"))
    runs = "first" if waits == "second" else "second"
    user.does("delete", "pod", *(f"{runs}-{i}" for i in range(3)), "--force", "--grace-period=0")
    user.waits("the other", lambda: bound(user) == {f"{waits}-{i}" for i in range(3)})


def test_a_critical_pod_takes_the_place_of_one_member(user: User) -> None:
    creates(user, *gang("medium", 3, 4, priority="medium"))
    user.waits("the gang", lambda: len(bound(user)) == 3)
    creates(user, a_pod("critical", 1, priority="critical"))
    user.waits("the critical pod", lambda: "critical" in bound(user))
    assert len(bound(user) & {"medium-0", "medium-1", "medium-2"}) == 2
    assert "medium-0" in bound(user), "the first of a gang goes last"
    lost = ({"medium-1", "medium-2"} - bound(user)).pop()
    node = user.does("get", "pod", "critical", "-o", "jsonpath={.spec.nodeName}")
    message = f"by default/critical on node {node}"
    user.waits("the event", lambda: message in user.does(
        "get", "events", "--field-selector", f"involvedObject.name={lost},reason=Preempted"))  # fmt: skip
    record = user.sees("allotments")
    assert any(entry["name"] == "critical" for each in record for entry in each["status"].get("preemptedBy", []))


def test_nobody_is_evicted_for_a_gang_that_cannot_fit(user: User) -> None:
    creates(user, *gang("medium", 3, 4, priority="medium"))
    user.waits("the gang", lambda: len(bound(user)) == 3)
    creates(user, *gang("critical", 4, 4, priority="critical"))
    user.waits("a reason", lambda: "all 4 pods of the group must fit at once" in why(user, "critical-0"))
    assert bound(user) == {"medium-0", "medium-1", "medium-2"}


def test_an_elastic_gang_shrinks_before_a_large_one_is_touched(user: User) -> None:
    creates(user, *gang("large", 2, 4, priority="medium"), *gang("elastic", 4, 1, minimum=1, priority="medium"))
    user.waits("both", lambda: len(bound(user)) == 6)
    creates(user, a_pod("critical", 1, priority="critical"))
    user.waits("the critical pod", lambda: "critical" in bound(user))
    assert {"large-0", "large-1", "elastic-0"} <= bound(user)
    assert len(bound(user)) == 6


def test_minimum_runtime_protects_from_all_but_the_top_class(user: User) -> None:
    creates(user, a_pod("young", 4, min_runtime="10m"), *[a_pod(f"young-{i}", 4, min_runtime="10m") for i in range(2)])
    user.waits("all", lambda: len(bound(user)) == 3)
    creates(user, a_pod("medium", 4, priority="medium"))
    user.waits("a reason", lambda: "Insufficient nvidia.com/gpu" in why(user, "medium"))
    assert len(bound(user)) == 3
    creates(user, a_pod("critical", 4, priority="critical"))
    user.waits("the critical pod", lambda: "critical" in bound(user))


def test_a_gang_is_not_starved_by_small_pods(user: User) -> None:
    creates(user, *[a_pod(f"small-{i}", 2) for i in range(6)])
    user.waits("a full cluster", lambda: len(bound(user)) == 6)
    creates(user, *gang("large", 3, 4))
    user.waits("a reason", lambda: "must fit at once" in why(user, "large-0"))
    creates(user, *[a_pod(f"later-{i}", 2) for i in range(6)])
    for i in range(6):
        user.does("delete", "pod", f"small-{i}", "--force", "--grace-period=0")
    user.waits("the gang", lambda: {"large-0", "large-1", "large-2"} <= bound(user))
    assert not any(pod.startswith("later") for pod in bound(user))


def test_wrong_annotations_are_refused_with_their_path(user: User) -> None:
    done = user.tries("create", "-f", "-", given=json.dumps(a_group("bad", 2, on_preempt="Explode")))
    assert done.returncode != 0
    assert "gangway.dev/on-preempt" in done.stderr and "Requeue" in done.stderr
    done = user.tries("create", "-f", "-", given=json.dumps(a_group("rigid", 2, on_preempt="Shrink")))
    assert done.returncode != 0 and "elastic" in done.stderr
