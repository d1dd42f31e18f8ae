"""`arena` as users type it: submissions, what it shows, what it does to jobs. On simulated nodes."""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.arena_user import KINDS, Arena, pod_of_job, stand_ins
from e2e.gpu_cluster import CLASSES, a_group, a_pod, creates
from e2e.screen import Screen
from e2e.user import User, name
from kube.harness.gangway import GangwayCluster, binary

CLUSTER = """\
apiVersion: gangway.dev/v1alpha1
kind: Cluster
runtime: simulated
nodes:
- {name: cn-huhehaote.172.16.0.205, roles: [master], address: 172.16.0.205, capacity: {cpu: "4", memory: 8Gi}}
- {name: cn-huhehaote.172.16.0.206, roles: [master], address: 172.16.0.206, capacity: {cpu: "4", memory: 8Gi}}
- {name: cn-huhehaote.172.16.0.207, roles: [master], address: 172.16.0.207, capacity: {cpu: "4", memory: 8Gi}}
- {name: cn-huhehaote.172.16.0.208, address: 172.16.0.208, capacity: {cpu: "32", memory: 64Gi, nvidia.com/gpu: "4"}}
- {name: cn-huhehaote.172.16.0.209, address: 172.16.0.209, capacity: {cpu: "32", memory: 64Gi, nvidia.com/gpu: "4"}}
- {name: cn-huhehaote.172.16.0.210, address: 172.16.0.210, capacity: {cpu: "32", memory: 64Gi, nvidia.com/gpu: "4"}}
"""

TOP_NODE = """\
NAME                       IPADDRESS     ROLE    STATUS  GPU(Total)  GPU(Allocated)
cn-huhehaote.172.16.0.205  172.16.0.205  master  ready   0           0
cn-huhehaote.172.16.0.206  172.16.0.206  master  ready   0           0
cn-huhehaote.172.16.0.207  172.16.0.207  master  ready   0           0
cn-huhehaote.172.16.0.208  172.16.0.208  <none>  ready   4           0
cn-huhehaote.172.16.0.209  172.16.0.209  <none>  ready   4           0
cn-huhehaote.172.16.0.210  172.16.0.210  <none>  ready   4           0
-----------------------------------------------------------------------------------------
Allocated/Total GPUs In Cluster:
0/12 (0%)
"""


@pytest.fixture(scope="module")
def cluster(kubectl: Path) -> Iterator[GangwayCluster]:
    with GangwayCluster(CLUSTER) as started:
        User(kubectl, started, "default").does("create", "-f", "-", given=CLASSES)
        yield started


@pytest.fixture(scope="module")
def without_controller(cluster: GangwayCluster, kubectl: Path) -> set[str]:
    return stand_ins(User(kubectl, cluster, "default"))


@pytest.fixture
def arena(cluster: GangwayCluster, without_controller: set[str]) -> Arena:
    return Arena(cluster)


@pytest.fixture
def user(cluster: GangwayCluster, kubectl: Path, without_controller: set[str]) -> Iterator[User]:
    someone = User(kubectl, cluster, "default")
    yield someone
    kinds = ",".join(f"{plural}.{KINDS[plural][1]}" for plural in KINDS)
    someone.does("delete", kinds, "--all")
    someone.does("delete", "deployments,requeuedpods,pods,podgroups", "--all", "--force", "--grace-period=0")
    someone.does("delete", "configmaps,services", "-l", "createdBy=arena")
    someone.waits("an empty cluster", lambda: not someone.sees("pods") and not someone.sees("allotments"))


def ours(user: User) -> list[str]:
    """What submissions leave: records and jobs."""
    kinds = ",".join(["configmaps", *(f"{plural}.{KINDS[plural][1]}" for plural in KINDS)])
    return [name(thing) for thing in user.sees(kinds) if name(thing) != "kube-root-ca.crt"]


MPI = ["submit", "mpi", "--name=medium", "--priority=medium", "--gpus=1", "--workers=1", "--image=horovod:0.13"]
COMMAND = "mpirun tail -f /dev/null"


def plays(user: User, absent: set[str], kind: str, job: str, *roles: tuple[str, int, int], **more: Any) -> None:
    """Makes the pods of a job whose kind is a stand-in; with a controller they come by themselves."""
    if f"{kind.lower()}s" in absent:
        creates(user, *(pod_of_job(kind, job, role, index, gpus, **more) for role, index, gpus in roles))


def test_an_empty_cluster(arena: Arena, user: User) -> None:
    assert arena.does("top", "node") == TOP_NODE
    assert arena.does("list") == "NAME  STATUS  TRAINER  DURATION  GPU(Requested)  GPU(Allocated)  NODE\n"
    assert arena.does("list", "-o", "json") == "[]"
    assert json.loads(arena.does("whoami"))["IsAdminUser"] is True
    assert arena.does("data", "list") == "NAME  ACCESSMODE  DESCRIPTION  OWNER  AGE\n"


def test_a_submission_says_what_it_made_and_everything_is_the_jobs(arena: Arena, user: User) -> None:
    done = arena.tries(*MPI, "--tensorboard", COMMAND)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "configmap/medium-mpijob created\n"
        "configmap/medium-mpijob labeled\n"
        "service/medium-tensorboard created\n"
        "deployment.apps/medium-tensorboard created\n"
        "mpijob.kubeflow.org/medium created\n"
    )
    assert done.stderr == (
        "INFO[0000] The Job medium has been submitted successfully\n"
        "INFO[0000] You can run `arena get medium --type mpijob` to check the job status\n"
    )
    job = user.sees("mpijobs.v1alpha1.kubeflow.org")[0]
    assert job["spec"]["template"]["spec"]["priorityClassName"] == "medium"
    for kind, made in (("configmap", "medium-mpijob"), ("service", "medium-tensorboard"),
                       ("deployment", "medium-tensorboard")):  # fmt: skip
        thing = json.loads(user.does("get", kind, made, "-o", "json"))
        assert [owner["uid"] for owner in thing["metadata"]["ownerReferences"]] == [job["metadata"]["uid"]], kind
    user.waits("TensorBoard serves", lambda: "readyReplicas" in user.sees("deployments")[0]["status"])
    assert "Your tensorboard will be available on:\nhttp://172.16.0.2" in arena.does("get", "medium")
    again = arena.tries(*MPI, COMMAND)
    assert again.returncode == 1 and "the job medium exists already in namespace default" in again.stderr
    arena.does("delete", "medium")
    user.waits("nothing is left", lambda: not ours(user) and not user.sees("deployments"))


def test_a_job_made_with_kubectl_is_shown_and_managed_like_any_other(
    arena: Arena, user: User, without_controller: set[str]
) -> None:
    container = {"name": "pytorch", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "4"}}}
    template = {"spec": {"priorityClassName": "medium", "containers": [container]}}
    job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "plain"},
           "spec": {"pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": template},
                                            "Worker": {"replicas": 2, "template": template}}}}  # fmt: skip
    creates(user, job)
    plays(user, without_controller, "PyTorchJob", "plain", ("master", 0, 4), ("worker", 0, 4), ("worker", 1, 4))
    user.waits("it runs", lambda: arena.status("plain") == "RUNNING")
    lines = arena.does("get", "plain").splitlines()
    assert [lines[0], *lines[1:3]] == ["STATUS: RUNNING", "NAMESPACE: default", "PRIORITY: medium"]
    assert lines[5].split() == ["NAME", "STATUS", "TRAINER", "AGE", "INSTANCE", "NODE"]
    rows = [line.split() for line in lines[6:]]
    assert [row[4] for row in rows] == ["plain-master-0", "plain-worker-0", "plain-worker-1"]
    assert {row[5] for row in rows} == {"172.16.0.208", "172.16.0.209", "172.16.0.210"}
    assert arena.does("top", "node").endswith("12/12 (100%)\n")
    assert "default    plain-master-0  4             4" in arena.does("top", "node", "-d")
    listed = arena.does("list").splitlines()[1].split()
    assert listed[:3] == ["plain", "RUNNING", "PYTORCHJOB"] and listed[4:6] == ["12", "12"]
    assert "Total Allocated/Requested GPUs of Training Jobs: 12/12" in arena.does("top", "job")
    arena.does("delete", "plain")
    assert "does not exist in namespace default" in arena.tries("get", "plain").stderr


def test_what_waits_says_why(arena: Arena, user: User, without_controller: set[str]) -> None:
    arena.does("submit", "pytorch", "--name=big", "--gpus=8", "--image=i", "python train.py")
    plays(user, without_controller, "PyTorchJob", "big", ("master", 0, 8))
    user.waits("its reason", lambda: arena.sees("big")["reason"] == "Unschedulable")
    assert arena.status("big") == "PENDING"
    assert "REASON: big-master-0: 0/6 nodes are available" in arena.does("get", "big")
    row = arena.does("list", "-o", "wide").splitlines()[1].split()
    assert row[-2:] == ["N/A", "Unschedulable"]
    assert "FailedScheduling" in arena.does("events", "big")
    assert "Insufficient nvidia.com/gpu" in arena.does("describe", "big")
    logs = arena.tries("logs", "big")
    assert logs.returncode == 1 and "instance big-master-0 is not running (Pending)" in logs.stderr


def test_a_preempted_gang_comes_back_and_says_who_took_its_place(
    arena: Arena, user: User, without_controller: set[str]
) -> None:
    arena.does("submit", "mpi", "--name=medium", "--priority=medium", "--gpus=4", "--workers=3", "--image=i",
               "--on-preempt=requeue", COMMAND)  # fmt: skip
    if "mpijobs" in without_controller:
        creates(user, a_group("medium", 4, on_preempt="Requeue"))
    roles = [("launcher", 0, 0), ("worker", 0, 4), ("worker", 1, 4), ("worker", 2, 4)]
    plays(user, without_controller, "MPIJob", "medium", *roles, group="medium", priority="medium")
    user.waits("it runs", lambda: arena.status("medium") == "RUNNING")
    creates(user, a_pod("critical", 1, priority="critical"))
    user.waits("it waits", lambda: arena.status("medium") == "QUEUING")
    user.waits("it says for whom", lambda: "preempted by default/critical" in arena.sees("medium")["message"])
    assert "STATUS: QUEUING" in arena.does("get", "medium")
    assert any(line.split()[:2] == ["medium", "QUEUING"] for line in arena.does("list").splitlines())
    assert "[Preempted] by default/critical on node" in arena.does("events", "medium")
    user.does("delete", "pod", "critical", "--force", "--grace-period=0")
    user.waits("it runs again", lambda: arena.status("medium") == "RUNNING")
    assert arena.sees("medium")["attempt"] == 2


TORCH = ["--loglevel", "info", "submit", "pytorch", "--name=medium", "--gpus=4", "--workers=3", "--image=i",
         "--priority=medium"]  # fmt: skip
URGENT = ["submit", "pytorch", "--name=critical", "--gpus=1", "--image=i", "--priority=critical", "python train.py"]


@pytest.fixture
def runs_pytorch(without_controller: set[str]) -> None:
    assert "pytorchjobs" not in without_controller, "PyTorchJobs have a controller"


@pytest.mark.usefixtures("runs_pytorch")
def test_a_pytorch_job_that_loses_a_worker_fails_and_says_to_whom(arena: Arena, user: User) -> None:
    arena.does(*TORCH, "--annotation", "gangway.dev/simulated-peer-loss=fail", "python train.py")
    user.waits("it runs", lambda: arena.status("medium") == "RUNNING")
    assert arena.does("top", "node").endswith("12/12 (100%)\n")
    arena.does(*URGENT)
    user.waits("the urgent one runs", lambda: arena.status("critical") == "RUNNING")
    user.waits("the other has failed", lambda: arena.status("medium") == "FAILED")

    def rows() -> list[list[str]]:
        return [line.split() for line in arena.does("get", "medium").splitlines() if line.startswith("medium ")]

    user.waits("the lost worker is gone", lambda: len(rows()) == 2)
    user.waits("the others have failed", lambda: {row[1] for row in rows()} == {"FAILED"})
    took = "was preempted by default/critical-master-0 on node"
    user.waits("it says to whom", lambda: took in arena.does("get", "medium").splitlines()[-1])
    row = next(line.split() for line in arena.does("list").splitlines() if line.startswith("medium "))
    assert row[1] == "FAILED" and row[4:6] == ["12", "N/A"]


@pytest.mark.usefixtures("runs_pytorch")
def test_a_requeued_pytorch_job_comes_back(arena: Arena, user: User) -> None:
    arena.does(*TORCH, "--on-preempt=requeue", "python train.py")
    user.waits("it runs", lambda: arena.status("medium") == "RUNNING")
    arena.does(*URGENT)
    user.waits("it waits", lambda: arena.status("medium") == "QUEUING")
    assert "REASON: PyTorchJob medium was preempted by default/critical" in arena.does("get", "medium")
    row = next(line.split() for line in arena.does("list", "-o", "wide").splitlines() if line.startswith("medium "))
    assert row[-2:] == ["medium", "Preempted"]
    arena.does("delete", "critical")
    user.waits("it runs again", lambda: arena.status("medium") == "RUNNING")
    assert arena.sees("medium")["attempt"] == 2


@pytest.mark.usefixtures("runs_pytorch")
def test_an_elastic_pytorch_job_shrinks_and_runs_on(arena: Arena, user: User) -> None:
    arena.does(*TORCH, "--min-workers=2", "--on-preempt=shrink", "torchrun train.py")
    user.waits("it runs", lambda: arena.status("medium") == "RUNNING")
    arena.does(*URGENT)
    user.waits("it shrinks", lambda: "INSTANCES: 2/3" in arena.does("get", "medium"))
    assert arena.status("medium") == "RUNNING"
    arena.does("delete", "critical")
    user.waits("it grows back", lambda: arena.sees("medium")["runningInstances"] == 3)


@pytest.mark.usefixtures("runs_pytorch")
def test_a_job_that_ended_is_pruned(arena: Arena, user: User) -> None:
    arena.does("submit", "pytorch", "--name=short", "--image=i", "-a", "gangway.dev/simulated-duration=1s", "true")
    user.waits("its end", lambda: arena.status("short") == "SUCCEEDED")
    assert arena.does("prune", "--since", "0s").startswith("Delete pytorchjob short with Age ")
    user.waits("nothing is left", lambda: not ours(user))


def test_delete_does_all_names_and_tells_of_those_that_are_missing(arena: Arena, user: User) -> None:
    for job in ("one", "two"):
        arena.does("submit", "tf", f"--name={job}", "--image=i", "python train.py")
    done = arena.tries("delete", "one", "missing", "two")
    assert done.returncode == 1
    assert "INFO[0000] The training job one has been deleted successfully" in done.stderr
    assert "ERRO[0000] the training job missing does not exist in namespace default" in done.stderr
    assert "INFO[0000] The training job two has been deleted successfully" in done.stderr
    user.waits("nothing is left", lambda: not ours(user))


def test_suspend_resume_and_restart(arena: Arena, user: User) -> None:
    arena.does("submit", "pytorch", "--name=train", "--image=i", "python train.py")
    arena.does("suspend", "train")
    user.waits("it is suspended", lambda: arena.status("train") == "SUSPENDED")
    arena.does("resume", "train")
    user.waits("it is not", lambda: arena.status("train") != "SUSPENDED")
    before = arena.sees("train")["uuid"]
    arena.does("restart", "train")
    assert arena.sees("train")["uuid"] != before
    assert name(user.sees("configmaps", "-l", "createdBy=arena")[0]) == "train-pytorchjob"


def serves_elastic_mpi_jobs(user: User) -> bool:
    return user.tries("get", "mpijobs.v2beta1.kubeflow.org").returncode == 0


def test_what_the_cluster_does_not_serve_is_named_and_nothing_is_left(arena: Arena, user: User) -> None:
    if serves_elastic_mpi_jobs(user):
        pytest.skip("everything is served")
    refused = arena.tries("submit", "et", "--name=elastic", "--image=i", "horovodrun x")
    assert refused.returncode == 1 and "does not serve mpijobs of kubeflow.org/v2beta1" in refused.stderr
    assert "elastic-etjob" not in {name(found) for found in user.sees("configmaps")}


def test_an_elastic_job_is_scaled_within_its_limits(arena: Arena, user: User, without_controller: set[str]) -> None:
    if not serves_elastic_mpi_jobs(user):
        pytest.skip("MPIJobs of v2beta1 are not served")
    arena.does("submit", "et", "--name=elastic", "--gpus=1", "--workers=2", "--max-workers=3", "--image=i", "horovodrun x")
    if "mpijobs" in without_controller:
        early = arena.tries("scaleout", "et", "--name=elastic")
        assert early.returncode == 1 and "is PENDING; try again when it is RUNNING" in early.stderr
    plays(user, without_controller, "MPIJob", "elastic", ("launcher", 0, 0), ("worker", 0, 1), ("worker", 1, 1))
    user.waits("it runs", lambda: arena.status("elastic") == "RUNNING")
    arena.does("scaleout", "etjob", "--name=elastic", "--count=1")
    if "mpijobs" in without_controller:
        shown = arena.does("get", "elastic")
        assert "STATUS: RUNNING" in shown and "INSTANCES: 3/4" in shown
    for verb, count, words in (("scaleout", 1, "would exceed the maximum of 3"), ("scalein", 3, "below the minimum of 1")):
        refused = arena.tries(verb, "etjob", "--name=elastic", f"--count={count}")
        assert refused.returncode == 1 and words in refused.stderr
    arena.does("scalein", "etjob", "--name=elastic", "--count=2")
    assert user.sees("mpijobs.v2beta1.kubeflow.org")[0]["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] == 1


def test_dry_runs_create_nothing(arena: Arena, user: User) -> None:
    torch = ["submit", "pytorch", "--name=train", "--gpus=4", "--workers=3", "--image=i", "--priority=medium"]
    printed = arena.does(*torch, "--dry-run", "python train.py")
    assert user.does("create", "--dry-run=server", "-f", "-", given=printed).splitlines() == [
        "configmap/train-pytorchjob created (server dry run)",
        "pytorchjob.kubeflow.org/train created (server dry run)",
    ]
    assert arena.does(*torch, "--dry-run=server", "python train.py").splitlines() == [
        "configmap/train-pytorchjob created (server dry run)",
        "pytorchjob.kubeflow.org/train created (server dry run)",
    ]
    plan = arena.does(*torch, "--dry-run=plan", "python train.py")
    assert "PodGroup default/train would go to:" in plan and "train-worker-1" in plan
    for kind in ("mpi", "pytorch", "tf", "horovod", *(["et"] if serves_elastic_mpi_jobs(user) else [])):
        arena.does("submit", kind, "--name=x", "--image=i", "--dry-run=server", "true")
    arena.does("submit", "ray", "--name=x", "--image=i", "--worker-replicas=2", "--dry-run=server", "true")
    assert not ours(user)


def test_prune_removes_what_ended_long_ago(arena: Arena, user: User) -> None:
    arena.does("submit", "tf", "--name=waits", "--image=i", "python train.py")
    assert arena.does("prune", "--since", "0s") == "No job need to be deleted\n"
    assert "--since" in arena.tries("prune").stderr


def test_gangway_has_the_same_commands(cluster: GangwayCluster, arena: Arena, user: User) -> None:
    command = [str(binary()), "submit", "tf", "--name=same", "--image=i", "--config", str(cluster.kubeconfig), "x"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "tfjob.kubeflow.org/same created" in done.stdout
    assert arena.sees("same")["trainer"] == "tfjob"


def test_wait_returns_when_it_runs(arena: Arena, user: User, without_controller: set[str]) -> None:
    waiting = arena.starts("submit", "tf", "--name=soon", "--gpus=1", "--image=i", "--wait", "python train.py")
    user.waits("the job", lambda: "soon-tfjob" in ours(user) and bool(user.sees("tfjobs.kubeflow.org")))
    plays(user, without_controller, "TFJob", "soon", ("chief", 0, 1))
    _, said = waiting.communicate(timeout=60)
    assert waiting.returncode == 0, said
    assert "The Job soon is RUNNING" in said


def test_a_watched_list_goes_on_with_what_changes(arena: Arena, user: User, without_controller: set[str]) -> None:
    with arena.starts("list", "--watch") as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline().split()[-1] == "PROGRESS"
        arena.does("submit", "tf", "--name=watched", "--gpus=1", "--image=i", "python train.py")
        plays(user, without_controller, "TFJob", "watched", ("chief", 0, 1))
        seen: list[str] = []
        for status in ("RUNNING", "DELETED"):
            while not seen or seen[-1] != status:
                line = watching.stdout.readline()
                assert line, f"it ended after {seen}"
                assert line.startswith("watched ")
                seen.append(line.split()[1])
            if status == "RUNNING":
                arena.does("delete", "watched")
        watching.kill()
    assert all(now != before for before, now in itertools.pairwise(seen)), "time that passes is no change"


def test_a_watched_list_is_one_document_a_change(arena: Arena, user: User, without_controller: set[str]) -> None:
    with arena.starts("list", "--watch", "-o", "yaml") as watching:
        assert watching.stdout is not None
        arena.does("submit", "tf", "--name=written", "--gpus=1", "--image=i", "python train.py")
        assert watching.stdout.readline() == "---\n"
        assert "name: written\n" in [watching.stdout.readline() for _ in range(3)]
        watching.kill()


def test_a_watched_list_is_drawn_in_place_on_a_terminal(
    arena: Arena, user: User, without_controller: set[str]
) -> None:
    screen = Screen(rows=4, columns=40)
    with subprocess.Popen(arena.command("list", "--watch"), stdout=screen.follower) as watching:
        screen.shows(lambda lines: lines[0].startswith("NAME  STATUS  TRAINER"))
        arena.does("submit", "tf", "--name=drawn", "--gpus=1", "--image=i", "python train.py")
        plays(user, without_controller, "TFJob", "drawn", ("chief", 0, 1))
        screen.shows(lambda lines: len(lines) == 2 and lines[1].startswith("drawn  RUNNING"))
        for number in range(3):
            arena.does("submit", "tf", f"--name=more-{number}", "--image=i", "python train.py")
        screen.shows(lambda lines: len(lines) == 3 and lines[2] == "... and 3 more")
        watching.kill()
    screen.close()


def test_attach_runs_kubectl_in_the_chief(
    arena: Arena, user: User, without_controller: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arena.does("submit", "tf", "--name=shell", "--gpus=1", "--image=i", "python train.py")
    plays(user, without_controller, "TFJob", "shell", ("chief", 0, 1))
    user.waits("it runs", lambda: arena.status("shell") == "RUNNING")
    kubectl = tmp_path / "kubectl"
    kubectl.write_text('#!/bin/sh\necho "$@"\n')
    kubectl.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    said = arena.does("attach", "shell", "--", "nvidia-smi", "-L")
    assert said.startswith("exec -i --kubeconfig=") and said.endswith("-n default shell-chief-0 -- nvidia-smi -L\n")
    kubectl.unlink()
    missing = arena.tries("attach", "shell")
    assert missing.returncode == 1 and "attach needs kubectl in PATH" in missing.stderr
