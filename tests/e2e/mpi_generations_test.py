"""MPIJobs of v1 and v2beta1 beside those of v1alpha1, as a user of kubectl sees them, on simulated nodes.

The launcher stands for mpirun: it ends when its time is over, or when a worker is lost.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.gpu_cluster import creates, gpu_cluster
from e2e.training_jobs import a_job, conditions, job_of, pods_of, state, variables
from e2e.user import User, name
from kube.harness.gangway import GangwayCluster

MPI = "MPIJob"
LATER = ("v1", "v2beta1")


@pytest.fixture(scope="module")
def cluster(kubectl: Path) -> Iterator[GangwayCluster]:
    with gpu_cluster(kubectl) as started:
        yield started


def left_behind(user: User) -> list[str]:
    """Names of what belongs to any MPIJob."""
    kinds = "pods,statefulsets,jobs,configmaps,secrets,services,serviceaccounts,roles,rolebindings,podgroups"
    ours = {"kube-root-ca.crt", "default", "kubernetes"}
    return [name(each) for each in user.sees(kinds) if name(each) not in ours]


@pytest.fixture
def user(cluster: GangwayCluster, kubectl: Path) -> Iterator[User]:
    someone = User(kubectl, cluster, "default")
    yield someone
    someone.does("delete", "mpijobs", "--all", "--wait=true")
    someone.waits("nothing is left behind", lambda: not left_behind(someone) and not someone.sees("allotments"))


def submits(user: User, version: str, job: str, workers: int = 2, gpus: int = 1, priority: str = "",
            simulated: dict[str, str] | None = None, annotations: dict[str, str] | None = None,
            **spec: Any) -> None:  # fmt: skip
    launcher = {"count": 1, "gpus": 0, "priority": priority, "restart": "Never", **(simulated or {})}
    roles = {"Launcher": launcher, "Worker": {"count": workers, "gpus": gpus, "priority": priority}}
    creates(user, a_job(MPI, job, roles, version=version, annotations=annotations, **spec))


def runs(user: User, job: str) -> None:
    user.waits(f"{job} runs", lambda: state(user, MPI, job) == "Running")


def files_of(user: User, job: str) -> dict[str, str]:
    found: dict[str, str] = json.loads(user.does("get", "configmap", f"{job}-config", "-o", "json"))["data"]
    return found


def workers_of(user: User, job: str) -> list[str]:
    return sorted(pod for pod in pods_of(user, job) if "-worker-" in pod)


def launcher_of(user: User, job: str) -> str:
    return next((pod for pod in pods_of(user, job) if "-launcher" in pod), "")


def ends(user: User, version: str, told: list[tuple[str, str, str]]) -> None:
    """Another one, whose launcher does not take long."""
    submits(user, version, "short", simulated={"duration": "2s"}, runPolicy={"cleanPodPolicy": "Running"})
    user.waits("it succeeds", lambda: state(user, MPI, "short") == "Succeeded")
    assert [(each["type"], each["status"], each["message"]) for each in conditions(user, MPI, "short")] == told
    user.waits("only the launcher is left", lambda: list(pods_of(user, "short")) == [launcher_of(user, "short")])


def test_a_job_of_v1_runs_and_succeeds(user: User) -> None:
    submits(user, "v1", "pi", slotsPerWorker=2)
    runs(user, "pi")
    head, row = (line.split() for line in user.does("get", "mpijobs").splitlines())
    assert head == ["NAME", "AGE", "STATE"] and (row[0], row[2]) == ("pi", "Running")
    pods = pods_of(user, "pi")
    assert sorted(pods) == ["pi-launcher", "pi-worker-0", "pi-worker-1"]
    assert variables(pods["pi-launcher"])["OMPI_MCA_plm_rsh_agent"] == "/etc/mpi/kubexec.sh"
    assert pods["pi-worker-0"]["spec"]["containers"][0]["command"] == ["sleep"]
    assert files_of(user, "pi")["hostfile"] == "pi-worker-0 slots=2\npi-worker-1 slots=2\n"
    user.waits("both are listed", lambda: files_of(user, "pi")["discover_hosts.sh"]
               == "#!/bin/sh\necho pi-worker-0:2\necho pi-worker-1:2\n")  # fmt: skip
    assert user.sees("podgroups")[0]["spec"]["minMember"] == 3
    assert not [service for service in user.sees("services") if name(service) != "kubernetes"]
    account = "--as=system:serviceaccount:default:pi-launcher"
    assert user.tries("auth", "can-i", "create", "pods/pi-worker-1", "--subresource=exec", account).stdout.strip() == "yes"
    assert user.tries("auth", "can-i", "create", "pods/other", "--subresource=exec", account).stdout.strip() == "no"

    ends(user, "v1", [
        ("Created", "True", "MPIJob short is created."),
        ("Running", "False", "MPIJob short is running."),
        ("Succeeded", "True", "MPIJob short is successfully completed."),
    ])  # fmt: skip


def test_a_job_of_v2beta1_runs_and_succeeds(user: User) -> None:
    submits(user, "v2beta1", "pi")
    runs(user, "pi")
    pods = pods_of(user, "pi")
    launcher = launcher_of(user, "pi")
    assert launcher.startswith("pi-launcher-") and workers_of(user, "pi") == ["pi-worker-0", "pi-worker-1"]
    assert variables(pods[launcher])["OMPI_MCA_orte_default_hostfile"] == "/etc/mpi/hostfile"
    assert pods["pi-worker-0"]["spec"]["containers"][0]["command"] == ["/usr/sbin/sshd", "-De"]
    hosts = [f"pi-worker-{index}.pi.default.svc" for index in range(2)]
    assert files_of(user, "pi")["hostfile"] == "".join(f"{host} slots=1\n" for host in hosts)
    user.waits("both are listed", lambda: files_of(user, "pi")["discover_hosts.sh"].splitlines()[1:]
               == [f"echo {host}" for host in hosts])  # fmt: skip
    secret = json.loads(user.does("get", "secret", "pi-ssh", "-o", "json"))
    assert secret["type"] == "kubernetes.io/ssh-auth"
    assert base64.b64decode(secret["data"]["ssh-privatekey"]).startswith(b"-----BEGIN EC PRIVATE KEY-----\n")
    assert base64.b64decode(secret["data"]["ssh-publickey"]).startswith(b"ecdsa-sha2-nistp521 AAAA")
    service = json.loads(user.does("get", "service", "pi", "-o", "json"))
    assert service["spec"]["clusterIP"] == "None"
    assert user.sees("podgroups")[0]["spec"]["minMember"] == 3

    ends(user, "v2beta1", [
        ("Created", "True", "MPIJob default/short is created."),
        ("Running", "False", "MPIJob default/short is running."),
        ("Succeeded", "True", "MPIJob default/short successfully completed."),
    ])  # fmt: skip


def test_all_are_one_resource_in_every_version(user: User) -> None:
    for version in LATER:
        submits(user, version, f"of-{version}", workers=1)
    old = {"containers": [{"name": "mpi", "image": "i", "command": ["mpirun"]}]}
    creates(user, {"apiVersion": "kubeflow.org/v1alpha1", "kind": MPI, "metadata": {"name": "of-v1alpha1"},
                   "spec": {"replicas": 1, "template": {"spec": old}}})  # fmt: skip
    jobs = ["of-v1", "of-v1alpha1", "of-v2beta1"]
    for version in ("v1alpha1", *LATER):
        shown = user.sees(f"mpijobs.{version}.kubeflow.org")
        assert sorted(name(job) for job in shown) == jobs
        assert {job["apiVersion"] for job in shown} == {f"kubeflow.org/{version}"}
    assert {job["apiVersion"] for job in user.sees("mpijobs")} == {"kubeflow.org/v1"}, "what kubectl asks for by itself"
    before = {name(job): job["spec"] for job in user.sees("mpijobs")}
    user.does("label", "mpijobs", "--all", "mine=yes")
    assert {name(job): job["spec"] for job in user.sees("mpijobs", "-l", "mine=yes")} == before
    for job in jobs:
        runs(user, job)


@pytest.mark.parametrize("version", LATER)
def test_its_workers_follow_its_spec(user: User, version: str) -> None:
    submits(user, version, "wide", workers=1)
    runs(user, "wide")
    for count in (3, 2):
        patch = {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": count}}}}
        user.does("patch", "mpijob/wide", "--type=merge", "-p", json.dumps(patch))
        user.waits(f"{count} workers", lambda count=count: len(workers_of(user, "wide")) == count)
        user.waits("their list", lambda count=count: files_of(user, "wide")["discover_hosts.sh"].count("echo ") == count)
    assert state(user, MPI, "wide") == "Running"


@pytest.mark.parametrize("version", LATER)
def test_with_requeue_it_comes_back_whole(user: User, version: str) -> None:
    submits(user, version, "medium", workers=3, gpus=4, priority="medium", annotations={"on-preempt": "Requeue"})
    runs(user, "medium")
    before = {pod["metadata"]["uid"] for pod in pods_of(user, "medium").values()}
    submits(user, version, "critical", workers=1, gpus=4, priority="critical")
    runs(user, "critical")
    user.waits("it is queued again", lambda: workers_of(user, "medium") == [
        f"medium-worker-{index}" for index in range(3)
    ] and launcher_of(user, "medium") != ""
      and not before & {pod["metadata"]["uid"] for pod in pods_of(user, "medium").values()})  # fmt: skip
    last = conditions(user, MPI, "medium")[-1]
    assert (last["type"], last["reason"]) == ("Restarting", "MPIJobPreempted")
    assert "was preempted by default/critical and is queued again as attempt 2." in last["message"]
    assert not any(pod["spec"].get("nodeName") for pod in pods_of(user, "medium").values()), "all of it or nothing"
    user.does("delete", "mpijob", "critical")
    runs(user, "medium")
    assert {variables(pod)["GANGWAY_ATTEMPT"] for pod in pods_of(user, "medium").values()} == {"2"}


@pytest.mark.parametrize("version", LATER)
def test_preempted_it_fails_with_its_launcher(user: User, version: str) -> None:
    submits(user, version, "medium", workers=3, gpus=4, priority="medium", runPolicy={"backoffLimit": 0},
            simulated={"peer_loss": "fail"})  # fmt: skip
    runs(user, "medium")
    submits(user, version, "critical", workers=1, gpus=4, priority="critical")
    runs(user, "critical")
    user.waits("the medium job fails", lambda: state(user, MPI, "medium") == "Failed")
    assert job_of(user, MPI, "medium")["status"]["completionTime"]


@pytest.mark.parametrize("version", LATER)
def test_an_elastic_one_shrinks(user: User, version: str) -> None:
    wishes = {"on-preempt": "Shrink", "min-workers": "1", "max-workers": "3"}
    submits(user, version, "medium", workers=3, gpus=4, priority="medium", annotations=wishes)
    runs(user, "medium")
    submits(user, version, "critical", workers=1, gpus=4, priority="critical")
    runs(user, "critical")

    def placed() -> int:
        return sum(1 for worker in workers_of(user, "medium") if pods_of(user, "medium")[worker]["spec"].get("nodeName"))

    user.waits("two workers are left", lambda: placed() == 2)
    user.waits("so says their list", lambda: files_of(user, "medium")["discover_hosts.sh"].count("echo ") == 2)
    user.does("delete", "mpijob", "critical")
    user.waits("it has three again", lambda: placed() == 3)


@pytest.mark.parametrize("version", LATER)
def test_it_is_suspended_and_resumed(user: User, version: str) -> None:
    submits(user, version, "pause", workers=1)
    runs(user, "pause")
    user.does("patch", "mpijob/pause", "--type=merge", "-p", '{"spec":{"runPolicy":{"suspend":true}}}')
    user.waits("no pods", lambda: state(user, MPI, "pause") == "Suspended" and not pods_of(user, "pause"))
    user.does("patch", "mpijob/pause", "--type=merge", "-p", '{"spec":{"runPolicy":{"suspend":false}}}')
    runs(user, "pause")


def test_a_launcher_may_wait_for_its_workers(user: User) -> None:
    submits(user, "v2beta1", "late", launcherCreationPolicy="WaitForWorkersReady")
    runs(user, "late")
    made = {pod: found["metadata"]["creationTimestamp"] for pod, found in pods_of(user, "late").items()}
    assert made[launcher_of(user, "late")] >= max(made[worker] for worker in workers_of(user, "late"))
    assert user.sees("podgroups")[0]["spec"]["minMember"] == 2


def test_what_is_wrong_is_said_with_its_place(user: User) -> None:
    wrong = a_job(MPI, "wrong", {"Worker": {"count": 0, "gpus": 0, "restart": "ExitCode"}}, version="v2beta1", replicas=2)
    refused = user.tries("create", "-f", "-", given=json.dumps(wrong))
    assert refused.returncode == 1
    for complaint in (
        "spec.replicas: Forbidden: this is an MPIJob of kubeflow.org/v2beta1, which does not have it",
        "spec.mpiReplicaSpecs.Launcher: Required value: it runs mpirun",
        "spec.mpiReplicaSpecs.Worker.replicas: Invalid value: 0: must be at least 1 (got 0)",
        'spec.mpiReplicaSpecs.Worker.restartPolicy: Unsupported value: "ExitCode"',
    ):
        assert complaint in refused.stderr, refused.stderr
