"""MPIJobs (kubeflow.org/v1alpha1) as a user of kubectl sees them, on simulated nodes.

The launcher stands for mpirun: it ends when its time is over, or when a worker is lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.gpu_cluster import creates, gpu_cluster
from e2e.training_jobs import a_user_of, conditions, events, job_of, state, variables
from e2e.user import User, name
from kube.harness.gangway import GangwayCluster

MPI = "MPIJob"
BELONGINGS = "pods,statefulsets,jobs,configmaps,serviceaccounts,roles,rolebindings,podgroups"


@pytest.fixture(scope="module")
def cluster(kubectl: Path) -> Iterator[GangwayCluster]:
    with gpu_cluster(kubectl) as started:
        yield started


@pytest.fixture
def user(cluster: GangwayCluster, kubectl: Path) -> Iterator[User]:
    yield from a_user_of(cluster, kubectl, "mpijobs", BELONGINGS)


def a_job(job: str, *, gpus: int = 1, priority: str = "", annotations: dict[str, str] | None = None, replicas: int = 1,
          simulated: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:  # fmt: skip
    amounts = {"nvidia.com/gpu": str(gpus), "cpu": "1"}
    notes = {f"gangway.dev/simulated-{key}": value for key, value in {"peer-loss": "fail", **(simulated or {})}.items()}
    pod: dict[str, Any] = {"containers": [{"name": "mpi", "image": "i", "command": ["mpirun", "train"],
                                           "resources": {"limits": amounts, "requests": amounts}}]}  # fmt: skip
    if priority:
        pod["priorityClassName"] = priority
    wishes = {f"gangway.dev/{key}": value for key, value in (annotations or {}).items()}
    return {"apiVersion": "kubeflow.org/v1alpha1", "kind": MPI, "metadata": {"name": job, "annotations": wishes},
            "spec": {"replicas": replicas, "template": {"metadata": {"annotations": notes}, "spec": pod},
                     **spec}}  # fmt: skip


def pods_of(user: User, job: str) -> dict[str, dict[str, Any]]:
    return {name(pod): pod for pod in user.sees("pods", "-l", f"mpi_job_name={job}")}


def launcher_of(user: User, job: str) -> str:
    pods = user.sees("pods", "-l", f"mpi_job_name={job},mpi_role_type=launcher")
    return name(pods[0]) if pods else ""


def status_of(user: User, job: str) -> dict[str, Any]:
    found: dict[str, Any] = job_of(user, MPI, job).get("status", {})
    return found


def runs(user: User, job: str) -> None:
    user.waits(f"{job} runs", lambda: state(user, MPI, job) == "Running")


def test_an_mpi_job_runs(user: User) -> None:
    creates(user, a_job("pi", replicas=2))
    runs(user, "pi")
    head, row = (line.split() for line in user.does("get", "mpijobs").splitlines())
    assert head == ["NAME", "AGE", "STATE"] and (row[0], row[2]) == ("pi", "Running")
    pods = pods_of(user, "pi")
    launcher = launcher_of(user, "pi")
    assert launcher.startswith("pi-launcher-") and sorted(set(pods) - {launcher}) == ["pi-worker-0", "pi-worker-1"]
    assert variables(pods[launcher])["OMPI_MCA_plm_rsh_agent"] == "/etc/mpi/kubexec.sh"
    assert "nvidia.com/gpu" not in pods[launcher]["spec"]["containers"][0].get("resources", {}).get("limits", {})
    files = json.loads(user.does("get", "configmap", "pi-config", "-o", "json"))["data"]
    assert files["hostfile"] == "pi-worker-0 slots=1\npi-worker-1 slots=1\n"
    user.waits("both are listed", lambda: user.does("get", "configmap", "pi-config", "-o", "json")
               .count("echo pi-worker-") == 2)  # fmt: skip
    assert user.sees("podgroups")[0]["spec"]["minMember"] == 2
    assert status_of(user, "pi")["launcherStatus"] == "Active" and status_of(user, "pi")["workerReplicas"] == 2


def test_an_mpi_job_succeeds_and_its_launcher_stays(user: User) -> None:
    creates(user, a_job("pi", replicas=2, simulated={"duration": "1s"}))
    user.waits("it succeeds", lambda: state(user, MPI, "pi") == "Succeeded")
    status = status_of(user, "pi")
    assert status["launcherStatus"] == "Succeeded" and status["completionTime"] >= status["startTime"]
    user.waits("only the launcher is left", lambda: list(pods_of(user, "pi")) == [launcher_of(user, "pi")])


def test_its_launcher_may_reach_its_workers_and_nobody_else(user: User) -> None:
    creates(user, a_job("own"))
    runs(user, "own")

    def may(*what: str) -> bool:
        account = "system:serviceaccount:default:own-launcher"
        return user.tries("auth", "can-i", *what, f"--as={account}").stdout.strip() == "yes"

    assert may("create", "pods/own-worker-0", "--subresource=exec") and may("get", "pods")
    assert not may("create", "pods/other", "--subresource=exec") and not may("create", "pods")
    assert not may("get", "secrets")


def test_what_is_wrong_is_said_with_its_place(user: User) -> None:
    wrong = a_job("wrong", gpus=1, annotations={"on-preempt": "Shrink"})
    wrong["spec"]["gpus"] = 3
    wrong["spec"]["gpusPerNode"] = 2
    refused = user.tries("create", "-f", "-", given=json.dumps(wrong))
    assert refused.returncode == 1
    for complaint in (
        "spec.gpus: Forbidden: spec.replicas says it already",
        "spec.gpus: Invalid value: 3: must be a multiple of spec.gpusPerNode (2)",
        "metadata.annotations[gangway.dev/on-preempt]: Invalid value",
    ):
        assert complaint in refused.stderr, refused.stderr


def test_preempted_it_fails_with_its_launcher(user: User) -> None:
    """A node's GPU goes to a job of higher priority, as on any Kubernetes."""
    creates(user, a_job("medium", gpus=4, replicas=3, priority="medium", backoffLimit=0))
    runs(user, "medium")
    launcher = launcher_of(user, "medium")
    creates(user, a_job("critical", gpus=4, priority="critical", backoffLimit=0))
    runs(user, "critical")
    user.waits("the medium job fails", lambda: status_of(user, "medium").get("launcherStatus") == "Failed")
    assert state(user, MPI, "medium") == "Failed" and status_of(user, "medium")["completionTime"]
    user.waits("only its launcher is left", lambda: list(pods_of(user, "medium")) == [launcher])
    told = [(worker, events(user, worker)) for worker in (f"medium-worker-{index}" for index in range(3))]
    lost = [(worker, all_of) for worker, all_of in told if "Preempted" in dict(all_of)]
    assert len(lost) == 1
    worker, all_of = lost[0]
    assert dict(all_of)["Preempted"].startswith("by default/critical-worker-0 on node gpu-")
    assert dict(all_of)["Scheduled"].startswith(f"Successfully assigned default/{worker} to gpu-")


def test_with_requeue_it_comes_back_whole(user: User) -> None:
    creates(user, a_job("medium", gpus=4, replicas=3, priority="medium", backoffLimit=0,
                        annotations={"on-preempt": "Requeue", "checkpoint-dir": "/checkpoints"}))  # fmt: skip
    runs(user, "medium")
    before = {pod["metadata"]["uid"] for pod in pods_of(user, "medium").values()}
    creates(user, a_job("critical", gpus=4, priority="critical"))
    runs(user, "critical")
    user.waits("three new workers, no launcher", lambda: sorted(pods_of(user, "medium")) == [
        f"medium-worker-{index}" for index in range(3)
    ] and not before & {pod["metadata"]["uid"] for pod in pods_of(user, "medium").values()})  # fmt: skip
    last = conditions(user, MPI, "medium")[-1]
    assert (last["type"], last["reason"]) == ("Restarting", "MPIJobPreempted")
    assert "was preempted by default/critical and is queued again as attempt 2." in last["message"]
    pods = pods_of(user, "medium").values()
    assert not any(pod["spec"].get("nodeName") for pod in pods), "two of three would fit, and do not start"

    user.does("delete", "mpijob", "critical")
    runs(user, "medium")
    assert status_of(user, "medium")["gangway"]["attempt"] == 2
    assert {variables(pod)["GANGWAY_ATTEMPT"] for pod in pods_of(user, "medium").values()} == {"2"}


def test_its_workers_follow_its_spec(user: User) -> None:
    creates(user, a_job("wide"))
    runs(user, "wide")
    user.does("patch", "mpijob/wide", "--type=merge", "-p", '{"spec":{"replicas":3}}')
    user.waits("three workers", lambda: status_of(user, "wide").get("workerReplicas") == 3)
    assert user.sees("podgroups")[0]["spec"]["minMember"] == 3
    user.does("patch", "mpijob/wide", "--type=merge", "-p", '{"spec":{"replicas":2}}')
    user.waits("two workers", lambda: status_of(user, "wide").get("workerReplicas") == 2)


def test_it_is_suspended_and_resumed(user: User) -> None:
    creates(user, a_job("pause"))
    runs(user, "pause")
    user.does("patch", "mpijob/pause", "--type=merge", "-p", '{"spec":{"runPolicy":{"suspend":true}}}')
    user.waits("no pods", lambda: state(user, MPI, "pause") == "Suspended" and not pods_of(user, "pause"))
    user.does("patch", "mpijob/pause", "--type=merge", "-p", '{"spec":{"runPolicy":{"suspend":false}}}')
    runs(user, "pause")
