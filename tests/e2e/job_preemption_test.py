"""What becomes of PyTorchJobs and TFJobs that are preempted: Fail, Requeue and Shrink, on simulated nodes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.gpu_cluster import gpu_cluster
from e2e.training_jobs import (
    a_user_of_jobs, conditions, events, job_of, pods_of, running, state, submits, variables,
)  # fmt: skip
from e2e.user import User
from kube.harness.gangway import GangwayCluster

CRITICAL = {"Master": {"count": 1, "gpus": 1, "priority": "critical"}}


@pytest.fixture(scope="module")
def cluster(kubectl: Path) -> Iterator[GangwayCluster]:
    with gpu_cluster(kubectl) as started:
        yield started


@pytest.fixture
def user(cluster: GangwayCluster, kubectl: Path) -> Iterator[User]:
    yield from a_user_of_jobs(cluster, kubectl)


def fills_the_cluster(user: User, on_preempt: str, **more: object) -> None:
    """Three pods of four GPUs each: all there are."""
    whole = {"gpus": 4, "priority": "medium", "peer_loss": "fail"}
    submits(user, "PyTorchJob", "medium", {
        "Master": {"count": 1, "restart": "Never", **whole}, "Worker": {"count": 2, "restart": "OnFailure", **whole},
    }, annotations={"on-preempt": on_preempt, "checkpoint-dir": "/checkpoints"}, **more)  # fmt: skip
    user.waits("the medium job runs", lambda: running(user, "medium") == 3)
    user.waits("and says so", lambda: state(user, "PyTorchJob", "medium") == "Running")


def test_with_fail_it_fails_as_on_any_kubernetes(user: User) -> None:
    fills_the_cluster(user, "Fail")
    submits(user, "PyTorchJob", "critical", CRITICAL)
    user.waits("the critical job runs", lambda: state(user, "PyTorchJob", "critical") == "Running")
    user.waits("the medium job fails", lambda: state(user, "PyTorchJob", "medium") == "Failed")
    assert conditions(user, "PyTorchJob", "medium")[-1]["message"] == (
        "PyTorchJob medium is failed because 1 Master replica(s) failed."
    )
    told = [message for pod in ("medium-worker-0", "medium-worker-1") for reason, message in events(user, pod)
            if reason == "Preempted"]  # fmt: skip
    assert len(told) == 1 and told[0].startswith("by default/critical-master-0 on node gpu-")


def test_with_requeue_it_comes_back_whole(user: User) -> None:
    fills_the_cluster(user, "Requeue")
    before = {name: pod["metadata"]["uid"] for name, pod in pods_of(user, "medium").items()}
    submits(user, "PyTorchJob", "critical", CRITICAL)
    user.waits("the critical job runs", lambda: state(user, "PyTorchJob", "critical") == "Running")
    user.waits("three new pods", lambda: {
        name for name, pod in pods_of(user, "medium").items() if pod["metadata"]["uid"] != before[name]
    } == set(before))  # fmt: skip
    last = conditions(user, "PyTorchJob", "medium")[-1]
    assert (last["type"], last["reason"]) == ("Restarting", "PyTorchJobPreempted")
    assert "was preempted by default/critical and is queued again as attempt 2." in last["message"]
    pods = pods_of(user, "medium")
    assert not any(pod["spec"].get("nodeName") for pod in pods.values()), "two of three would fit, and do not start"
    assert {variables(pod)["GANGWAY_ATTEMPT"] for pod in pods.values()} == {"2"}
    assert {variables(pod)["CHECKPOINT_DIR"] for pod in pods.values()} == {"/checkpoints"}

    user.does("delete", "pytorchjob", "critical")
    user.waits("the medium job runs again", lambda: running(user, "medium") == 3)
    user.waits("and says so", lambda: state(user, "PyTorchJob", "medium") == "Running")
    status = job_of(user, "PyTorchJob", "medium")["status"]
    assert status["gangway"]["attempt"] == 2 and "restarts" not in status["gangway"]


def test_a_tf_job_with_requeue_comes_back(user: User) -> None:
    submits(user, "TFJob", "medium", {"Worker": {"count": 3, "gpus": 4, "priority": "medium", "peer_loss": "fail"}},
            annotations={"on-preempt": "Requeue"})  # fmt: skip
    user.waits("it runs", lambda: running(user, "medium") == 3)
    submits(user, "TFJob", "critical", {"Worker": {"count": 1, "gpus": 4, "priority": "critical"}})
    user.waits("the critical job runs", lambda: state(user, "TFJob", "critical") == "Running")
    user.waits("it is queued", lambda: conditions(user, "TFJob", "medium")[-1]["reason"] == "TFJobPreempted")
    user.does("delete", "tfjob", "critical")
    user.waits("it runs again", lambda: state(user, "TFJob", "medium") == "Running" and running(user, "medium") == 3)


def test_requeue_goes_on_after_the_server_was_killed(user: User, cluster: GangwayCluster) -> None:
    fills_the_cluster(user, "Requeue")
    submits(user, "PyTorchJob", "critical", {"Worker": {"count": 3, "gpus": 4, "priority": "critical"}})
    user.waits("a victim", lambda: running(user, "medium") < 3)
    cluster.kill()
    cluster.start()
    user.waits("the critical job runs", lambda: running(user, "critical") == 3)
    user.waits("the next attempt waits", lambda: job_of(user, "PyTorchJob", "medium")["status"]["gangway"]["attempt"] == 2
               and len(pods_of(user, "medium")) == 3)  # fmt: skip
    assert state(user, "PyTorchJob", "medium") == "Restarting"
    user.does("delete", "pytorchjob", "critical")
    user.waits("the medium job runs again", lambda: running(user, "medium") == 3)


def test_an_elastic_job_shrinks_and_grows_back(user: User) -> None:
    submits(user, "PyTorchJob", "elastic", {"Worker": {"count": 3, "gpus": 4, "priority": "medium"}},
            annotations={"on-preempt": "Shrink"},
            elasticPolicy={"minReplicas": 1, "maxReplicas": 3, "rdzvBackend": "c10d"})  # fmt: skip
    user.waits("it runs", lambda: running(user, "elastic") == 3)
    first = pods_of(user, "elastic")["elastic-worker-0"]["metadata"]["uid"]
    assert variables(pods_of(user, "elastic")["elastic-worker-0"])["PET_NNODES"] == "1:3"

    submits(user, "PyTorchJob", "critical", {"Master": {"count": 1, "gpus": 4, "priority": "critical"},
                                             "Worker": {"count": 1, "gpus": 4, "priority": "critical"}})  # fmt: skip
    user.waits("the critical job runs", lambda: running(user, "critical") == 2)
    user.waits("one worker is left", lambda: running(user, "elastic") == 1 and len(pods_of(user, "elastic")) == 3)
    assert pods_of(user, "elastic")["elastic-worker-0"]["metadata"]["uid"] == first, "the first is never the victim"
    status = job_of(user, "PyTorchJob", "elastic")["status"]
    assert state(user, "PyTorchJob", "elastic") == "Running" and status["gangway"]["attempt"] == 1
    assert status["replicaStatuses"]["Worker"]["active"] == 1

    user.does("delete", "pytorchjob", "critical")
    user.waits("it grows back", lambda: running(user, "elastic") == 3)
    assert pods_of(user, "elastic")["elastic-worker-0"]["metadata"]["uid"] == first
