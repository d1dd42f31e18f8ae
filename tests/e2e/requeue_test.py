"""Preempted pods that come back (gangway.dev/on-preempt: Requeue), as a user of kubectl sees them, on simulated nodes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.gpu_cluster import a_pod, bound, creates, gang, gpu_cluster
from e2e.user import User, name
from kube.harness.gangway import GangwayCluster


@pytest.fixture(scope="module")
def cluster(kubectl: Path) -> Iterator[GangwayCluster]:
    with gpu_cluster(kubectl) as started:
        yield started


@pytest.fixture
def user(cluster: GangwayCluster, kubectl: Path) -> Iterator[User]:
    someone = User(kubectl, cluster, "default")
    yield someone
    someone.does("delete", "jobs,requeuedpods,pods,podgroups", "--all", "--force", "--grace-period=0")
    someone.waits("an empty cluster", lambda: not someone.sees("pods") and not someone.sees("allotments"))
    someone.waits("no records", lambda: not someone.sees("requeuedpods"))


def pod_of(user: User, pod: str) -> dict:
    return next((each for each in user.sees("pods") if name(each) == pod), {})


def note(pod: dict, key: str) -> str:
    text: str = pod.get("metadata", {}).get("annotations", {}).get(f"gangway.dev/{key}", "")
    return text


def test_a_gang_comes_back_whole_with_what_it_was_made_of(user: User) -> None:
    things = gang("low", 3, 4, priority="medium", on_preempt="Requeue")
    things[1]["metadata"]["annotations"]["example.com/note"] = "mine"
    creates(user, *things)
    user.waits("the gang", lambda: len(bound(user)) == 3)
    before = {name(pod): pod["metadata"]["uid"] for pod in user.sees("pods")}

    creates(user, a_pod("critical", 1, priority="critical"))
    user.waits("the critical pod", lambda: "critical" in bound(user))
    user.waits("all of the gang", lambda: all(note(pod_of(user, pod), "attempt") == "2" for pod in before))
    again = {name(pod): pod for pod in user.sees("pods") if name(pod) != "critical"}
    assert set(again) == set(before)
    assert all(again[pod]["metadata"]["uid"] != uid for pod, uid in before.items())
    assert again["low-0"]["metadata"]["annotations"]["example.com/note"] == "mine"
    assert again["low-0"]["spec"]["priorityClassName"] == "medium"
    assert bound(user) == {"critical"}, "two of three would fit, and do not start"
    assert all(record["spec"]["by"] == "default/critical" for record in user.sees("requeuedpods"))

    user.does("delete", "pod", "critical", "--force", "--grace-period=0")
    user.waits("the gang again", lambda: bound(user) == set(before))


def test_the_place_in_line_is_the_old_one(user: User) -> None:
    creates(user, *[a_pod(f"filler-{i}", 4) for i in range(2)], a_pod("early", 4, on_preempt="Requeue"))
    user.waits("a full cluster", lambda: len(bound(user)) == 3)
    creates(user, a_pod("late", 4))
    fillers = {"filler-0", "filler-1"}
    for filler in fillers:
        user.does("annotate", "pod", filler, "gangway.dev/max-preemptions=9", "gangway.dev/min-runtime=10m")
    creates(user, a_pod("middle", 4, priority="medium"))
    user.waits("the one in the middle", lambda: "middle" in bound(user))
    assert fillers <= bound(user), "they are protected"
    user.waits("the return", lambda: note(pod_of(user, "early"), "attempt") == "2")
    assert pod_of(user, "early")["metadata"]["creationTimestamp"] >= pod_of(user, "late")["metadata"]["creationTimestamp"]
    user.does("delete", "pod", "middle", "--force", "--grace-period=0")
    user.waits("the early one", lambda: "early" in bound(user))
    assert "late" not in bound(user)


def test_what_a_user_deletes_stays_away(user: User) -> None:
    creates(user, a_pod("mine", 1, on_preempt="Requeue"))
    user.waits("the pod", lambda: bound(user) == {"mine"})
    user.does("delete", "pod", "mine", "--wait")
    creates(user, a_pod("another", 1))
    user.waits("another", lambda: bound(user) == {"another"})
    assert not user.sees("requeuedpods") and not pod_of(user, "mine")


def test_pods_of_a_job_are_left_to_the_job(user: User) -> None:
    pod = a_pod("x", 4, priority="medium", on_preempt="Requeue")
    template = {"metadata": {"annotations": pod["metadata"]["annotations"]},
                "spec": {**pod["spec"], "restartPolicy": "Never"}}  # fmt: skip
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "owned"},
           "spec": {"completions": 3, "parallelism": 3, "template": template}}  # fmt: skip
    creates(user, job)
    user.waits("three pods", lambda: len(bound(user)) == 3)
    before = bound(user)
    creates(user, a_pod("critical", 4, priority="critical"))
    user.waits("the critical pod", lambda: "critical" in bound(user))
    user.waits("a successor", lambda: any(each.get("status", {}).get("uid") for each in user.sees("requeuedpods")))
    successor = user.sees("requeuedpods")[0]["status"]["pod"]
    assert successor not in before
    assert not note(pod_of(user, successor), "attempt"), "the Job has made it"


def test_a_killed_server_goes_on_with_it(user: User, cluster: GangwayCluster) -> None:
    creates(user, *gang("low", 3, 4, priority="medium", on_preempt="Requeue"))
    user.waits("the gang", lambda: len(bound(user)) == 3)
    creates(user, *gang("critical", 3, 4, priority="critical"))
    user.waits("a record", lambda: bool(user.sees("requeuedpods")))
    cluster.kill()
    cluster.start()
    user.waits("the critical gang", lambda: bound(user) == {"critical-0", "critical-1", "critical-2"})
    user.waits("the return", lambda: all(note(pod_of(user, f"low-{i}"), "attempt") == "2" for i in range(3)))
