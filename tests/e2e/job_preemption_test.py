"""What becomes of PyTorchJobs and TFJobs that are preempted: Fail, Requeue and Shrink, on simulated nodes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.arena_user import Arena
from e2e.gpu_cluster import creates, gpu_cluster
from e2e.training_jobs import (
    a_job, a_user_of_jobs, conditions, events, job_of, pods_of, running, state, submits, variables,
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


def an_elastic_job(user: User) -> str:
    """Three workers that fill the cluster, of which one is enough; the uid of the first."""
    submits(user, "PyTorchJob", "elastic", {"Worker": {"count": 3, "gpus": 4, "priority": "medium"}},
            annotations={"on-preempt": "Shrink"},
            elasticPolicy={"minReplicas": 1, "maxReplicas": 3, "rdzvBackend": "c10d"})  # fmt: skip
    user.waits("it runs", lambda: running(user, "elastic") == 3)
    return uid_of_the_first(user)


def uid_of_the_first(user: User) -> str:
    uid: str = pods_of(user, "elastic")["elastic-worker-0"]["metadata"]["uid"]
    return uid


def critical_workers(count: int) -> dict[str, dict[str, object]]:
    return {"Worker": {"count": count, "gpus": 4, "priority": "critical"}}


def active_workers(user: User) -> int:
    counted: int = job_of(user, "PyTorchJob", "elastic")["status"]["replicaStatuses"]["Worker"].get("active", 0)
    return counted


def test_an_elastic_job_shrinks_and_grows_back(user: User, cluster: GangwayCluster) -> None:
    arena = Arena(cluster)
    first = an_elastic_job(user)
    assert variables(pods_of(user, "elastic")["elastic-worker-0"])["PET_NNODES"] == "1:3"

    submits(user, "PyTorchJob", "critical", critical_workers(2))
    user.waits("the critical job runs", lambda: running(user, "critical") == 2)
    user.waits("one worker is left", lambda: running(user, "elastic") == 1 and len(pods_of(user, "elastic")) == 3)
    assert uid_of_the_first(user) == first, "the first is never the victim"
    user.waits("it is counted", lambda: active_workers(user) == 1)
    status = job_of(user, "PyTorchJob", "elastic")["status"]
    assert state(user, "PyTorchJob", "elastic") == "Running" and status["gangway"]["attempt"] == 1
    shown = arena.does("get", "elastic")
    assert "STATUS: RUNNING" in shown and "INSTANCES: 1/3" in shown and "preempted by default/critical" in shown
    listed = {row[0]: row for row in map(str.split, arena.does("list").splitlines())}
    assert listed["elastic"][1] == "RUNNING" and listed["elastic"][4:6] == ["12", "4"], "GPUs that it asks for and has"

    user.does("delete", "pytorchjob", "critical")
    user.waits("it grows back", lambda: running(user, "elastic") == 3)
    assert uid_of_the_first(user) == first
    user.waits("it is counted again", lambda: active_workers(user) == 3)
    shown = arena.does("get", "elastic")
    assert "STATUS: RUNNING" in shown and "INSTANCES" not in shown and "REASON" not in shown
    assert "PyTorchJobRestarting" not in [reason for reason, _ in events(user, "elastic")], "it was never interrupted"


def test_an_elastic_job_is_scaled_while_it_has_shrunk(user: User) -> None:
    first = an_elastic_job(user)
    submits(user, "PyTorchJob", "critical", critical_workers(1))
    user.waits("two are left", lambda: running(user, "elastic") == 2 and running(user, "critical") == 1)
    refused = user.tries("scale", "pytorchjob/elastic", "--replicas=4")
    assert refused.returncode == 1
    assert "must not be more than spec.elasticPolicy.maxReplicas (3)" in refused.stderr
    # One that waits, or one that runs: whichever has the highest number.
    user.does("scale", "pytorchjob/elastic", "--replicas=2")
    user.waits("two are wanted", lambda: sorted(pods_of(user, "elastic")) == ["elastic-worker-0", "elastic-worker-1"])
    user.does("delete", "pytorchjob", "critical")
    user.waits("two run", lambda: running(user, "elastic") == 2)
    user.does("scale", "pytorchjob/elastic", "--replicas=3")
    user.waits("three run", lambda: running(user, "elastic") == 3 and active_workers(user) == 3)
    assert uid_of_the_first(user) == first
    assert job_of(user, "PyTorchJob", "elastic")["status"]["gangway"]["attempt"] == 1


def test_an_elastic_job_that_cannot_shrink_comes_back_whole(user: User) -> None:
    first = an_elastic_job(user)
    submits(user, "PyTorchJob", "critical", critical_workers(3))
    user.waits("the critical job runs", lambda: running(user, "critical") == 3)
    user.waits("the next attempt waits", lambda: job_of(user, "PyTorchJob", "elastic")["status"]["gangway"]["attempt"] == 2
               and len(pods_of(user, "elastic")) == 3)  # fmt: skip
    last = conditions(user, "PyTorchJob", "elastic")[-1]
    assert (last["type"], last["reason"]) == ("Restarting", "PyTorchJobPreempted")
    assert "was preempted by default/critical and is queued again as attempt 2." in last["message"]
    user.does("delete", "pytorchjob", "critical")
    user.waits("it runs again", lambda: running(user, "elastic") == 3)
    assert uid_of_the_first(user) != first
    assert variables(pods_of(user, "elastic")["elastic-worker-0"])["GANGWAY_ATTEMPT"] == "2"


def test_an_elastic_job_whose_first_worker_has_to_go_comes_back_with_the_others(user: User) -> None:
    first = an_elastic_job(user)
    critical = a_job("PyTorchJob", "critical", critical_workers(1))
    where = pods_of(user, "elastic")["elastic-worker-0"]["spec"]["nodeName"]
    template = critical["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]
    template["spec"]["nodeSelector"] = {"kubernetes.io/hostname": where}
    creates(user, critical)
    user.waits("the critical job runs", lambda: running(user, "critical") == 1)
    user.waits("all of the next attempt are there", lambda: [variables(pod)["GANGWAY_ATTEMPT"]
               for pod in pods_of(user, "elastic").values()] == ["2", "2", "2"])  # fmt: skip
    user.waits("two have room", lambda: running(user, "elastic") == 2)
    assert uid_of_the_first(user) != first
    assert pods_of(user, "elastic")["elastic-worker-0"]["status"]["phase"] == "Running"
    user.waits("and it says so", lambda: state(user, "PyTorchJob", "elastic") == "Running")


def test_an_elastic_job_goes_on_while_a_node_is_drained(user: User) -> None:
    first = an_elastic_job(user)
    lost = pods_of(user, "elastic")["elastic-worker-2"]
    node = lost["spec"]["nodeName"]
    try:
        user.does("drain", node, "--delete-emptydir-data", "--ignore-daemonsets", "--force")
        user.waits("two are left", lambda: running(user, "elastic") == 2 and len(pods_of(user, "elastic")) == 3)
        assert state(user, "PyTorchJob", "elastic") == "Running" and uid_of_the_first(user) == first
    finally:
        user.does("uncordon", node)
    user.waits("it grows back", lambda: running(user, "elastic") == 3)
    assert pods_of(user, "elastic")["elastic-worker-2"]["metadata"]["uid"] != lost["metadata"]["uid"]
    assert "restarts" not in job_of(user, "PyTorchJob", "elastic")["status"]["gangway"]
    assert "PyTorchJobRestarting" not in [reason for reason, _ in events(user, "elastic")]


def test_an_elastic_job_begins_with_the_worker_that_the_others_meet_at(user: User) -> None:
    submits(user, "PyTorchJob", "critical", critical_workers(2))
    user.waits("the critical job runs", lambda: running(user, "critical") == 2)
    submits(user, "PyTorchJob", "elastic", {"Worker": {"count": 3, "gpus": 4, "priority": "medium"}},
            annotations={"on-preempt": "Shrink"}, elasticPolicy={"minReplicas": 1, "maxReplicas": 3})  # fmt: skip
    user.waits("it runs with one", lambda: running(user, "elastic") == 1)
    assert pods_of(user, "elastic")["elastic-worker-0"]["status"]["phase"] == "Running"
    user.waits("it says so", lambda: state(user, "PyTorchJob", "elastic") == "Running")
    user.does("delete", "pytorchjob", "critical")
    user.waits("it grows", lambda: running(user, "elastic") == 3)
