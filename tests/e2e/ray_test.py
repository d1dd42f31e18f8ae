"""RayClusters and RayJobs (ray.io/v1) as a user of kubectl and arena sees them, on simulated nodes.

What hands the program over stands for it: the job ends when its time is over, or when a pod of its gang is lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.arena_user import Arena
from e2e.gpu_cluster import creates, gpu_cluster
from e2e.training_jobs import a_user_of, events, left_behind, variables
from e2e.user import User, name
from kube.harness.gangway import GangwayCluster

ON_PREEMPT = "gangway.dev/on-preempt"
BELONGINGS = "pods,services,jobs,serviceaccounts,roles,rolebindings,podgroups"


@pytest.fixture(scope="module")
def cluster(kubectl: Path) -> Iterator[GangwayCluster]:
    with gpu_cluster(kubectl) as started:
        yield started


@pytest.fixture
def user(cluster: GangwayCluster, kubectl: Path) -> Iterator[User]:
    yield from a_user_of(cluster, kubectl, "rayjobs,rayclusters", BELONGINGS)


def a_template(container: str, gpus: int, priority: str, simulated: dict[str, str] | None = None) -> dict[str, Any]:
    amounts = {"cpu": "1", "memory": "1Gi"} | ({"nvidia.com/gpu": str(gpus)} if gpus else {})
    notes = {f"gangway.dev/simulated-{key}": value for key, value in (simulated or {}).items()}
    spec: dict[str, Any] = {"containers": [{"name": container, "image": "i", "resources": {"limits": amounts}}]}
    if priority:
        spec["priorityClassName"] = priority
    return {"metadata": {"annotations": notes}, "spec": spec}


def a_cluster_spec(workers: int = 2, gpus: int = 1, priority: str = "", simulated: dict[str, str] | None = None,
                   **group: Any) -> dict[str, Any]:  # fmt: skip
    return {
        "rayVersion": "2.60.0",
        "headGroupSpec": {"rayStartParams": {}, "template": a_template("ray-head", 0, priority, simulated)},
        "workerGroupSpecs": [{"groupName": "gpu", "replicas": workers, "rayStartParams": {}, **group,
                              "template": a_template("ray-worker", gpus, priority)}],
    }  # fmt: skip


def an_object(kind: str, called: str, spec: dict[str, Any], annotations: dict[str, str] | None = None) -> dict[str, Any]:
    return {"apiVersion": "ray.io/v1", "kind": kind, "metadata": {"name": called, "annotations": annotations or {}},
            "spec": spec}  # fmt: skip


def a_cluster(called: str, *, annotations: dict[str, str] | None = None, **cluster: Any) -> dict[str, Any]:
    return an_object("RayCluster", called, a_cluster_spec(**cluster), annotations)


def a_job(job: str, *, annotations: dict[str, str] | None = None, cluster: dict[str, Any] | None = None,
          **spec: Any) -> dict[str, Any]:  # fmt: skip
    settings = {"entrypoint": "python train.py", "shutdownAfterJobFinishes": True, **spec,
                "rayClusterSpec": a_cluster_spec(**(cluster or {}))}  # fmt: skip
    return an_object("RayJob", job, settings, annotations)


def status(user: User, kind: str, called: str) -> dict[str, Any]:
    done = user.tries("get", kind, called, "-o", "json")
    found: dict[str, Any] = json.loads(done.stdout).get("status", {}) if done.returncode == 0 else {}
    return found


def state(user: User, job: str) -> str:
    text: str = status(user, "rayjob", job).get("jobDeploymentStatus", "")
    return text


def reaches(user: User, job: str, *states: str) -> None:
    user.waits(f"{job} is {states}", lambda: state(user, job) in states)


def runs(user: User, job: str) -> None:
    user.waits(f"{job} runs", lambda: status(user, "rayjob", job).get("jobStatus") == "RUNNING")


def pods_of(user: User, cluster: str) -> list[dict[str, Any]]:
    return user.sees("pods", "-l", f"ray.io/cluster={cluster}")


def condition(user: User, cluster: str, kind: str) -> str:
    for each in status(user, "raycluster", cluster).get("conditions", []):
        if each["type"] == kind:
            return f"{each['status']} {each['reason']}"
    return ""


def columns(text: str) -> list[str]:
    """The header of a table: names are two spaces apart."""
    return [word.strip() for word in text.splitlines()[0].split("  ") if word.strip()]


# ── clusters ──


def test_a_cluster_gets_ready_and_follows_its_spec(user: User) -> None:
    creates(user, a_cluster("sim"))
    user.waits("it is ready", lambda: status(user, "raycluster", "sim").get("state") == "ready")
    table = user.does("get", "raycluster")
    assert columns(table) == ["NAME", "DESIRED WORKERS", "AVAILABLE WORKERS", "CPUS", "MEMORY", "GPUS", "STATUS", "AGE"]
    assert table.splitlines()[1].split()[:7] == ["sim", "2", "2", "3", "3Gi", "2", "ready"]
    wide = columns(user.does("get", "raycluster", "-o", "wide"))
    assert {"TPUS", "HEAD POD IP", "HEAD SERVICE IP"} <= set(wide)

    pods = {pod["metadata"]["labels"]["ray.io/node-type"]: pod for pod in pods_of(user, "sim")}
    head, worker = pods["head"], pods["worker"]
    assert name(head).startswith("sim-head-") and name(worker).startswith("sim-gpu-worker-")
    assert "ray start --head" in head["spec"]["containers"][0]["args"][0]
    address = "sim-head-svc.default.svc.cluster.local"
    assert f"--address={address}:6379" in worker["spec"]["containers"][0]["args"][0]
    assert worker["spec"]["initContainers"][0]["name"] == "wait-gcs-ready"
    assert variables(worker)["FQ_RAY_IP"] == address and variables(head)["RAY_ADDRESS"] == "127.0.0.1:6379"
    service = json.loads(user.does("get", "service", "sim-head-svc", "-o", "json"))
    assert service["spec"]["clusterIP"] == "None" and len(service["spec"]["ports"]) == 5
    assert user.sees("podgroups")[0]["spec"]["minMember"] == 3
    assert {"CreatedHeadPod", "CreatedWorkerPod", "CreatedService"} <= {reason for reason, _ in events(user, "sim")}

    where = "/spec/workerGroupSpecs/0/replicas"
    for count in (4, 1):
        user.does("patch", "raycluster/sim", "--type=json", "-p",
                  json.dumps([{"op": "replace", "path": where, "value": count}]))  # fmt: skip
        user.waits(f"{count} workers", lambda count=count: len(pods_of(user, "sim")) == count + 1)
        user.waits("counted", lambda count=count: status(user, "raycluster", "sim")["availableWorkerReplicas"] == count)
    assert user.sees("podgroups")[0]["spec"]["minMember"] == 2


def test_a_cluster_replaces_what_it_loses(user: User) -> None:
    creates(user, a_cluster("lossy"))
    user.waits("it is ready", lambda: status(user, "raycluster", "lossy").get("state") == "ready")
    before = {pod["metadata"]["uid"] for pod in pods_of(user, "lossy")}
    user.does("delete", "pods", "-l", "ray.io/cluster=lossy")
    user.waits("all are new", lambda: status(user, "raycluster", "lossy").get("readyWorkerReplicas") == 2
               and len(pods_of(user, "lossy")) == 3
               and not before & {pod["metadata"]["uid"] for pod in pods_of(user, "lossy")})  # fmt: skip
    assert status(user, "raycluster", "lossy")["state"] == "ready"


def test_a_cluster_is_suspended_and_resumed(user: User) -> None:
    creates(user, a_cluster("pause"))
    user.waits("it is ready", lambda: status(user, "raycluster", "pause").get("state") == "ready")
    user.does("patch", "raycluster/pause", "--type=merge", "-p", '{"spec":{"suspend":true}}')
    user.waits("it is suspended", lambda: status(user, "raycluster", "pause").get("state") == "suspended")
    assert not pods_of(user, "pause") and not user.sees("podgroups")
    assert condition(user, "pause", "RayClusterSuspended") == "True RayClusterSuspended"
    user.does("patch", "raycluster/pause", "--type=merge", "-p", '{"spec":{"suspend":false}}')
    user.waits("it is ready again", lambda: status(user, "raycluster", "pause").get("state") == "ready")
    assert {variables(pod)["GANGWAY_ATTEMPT"] for pod in pods_of(user, "pause")} == {"2"}


def test_an_autoscaler_may_change_its_own_cluster_and_no_other(user: User) -> None:
    cluster = a_cluster("scaled")
    cluster["spec"]["enableInTreeAutoscaling"] = True
    creates(user, cluster)
    user.waits("it is ready", lambda: status(user, "raycluster", "scaled").get("state") == "ready")
    head = next(pod for pod in pods_of(user, "scaled") if pod["metadata"]["labels"]["ray.io/node-type"] == "head")
    assert [each["name"] for each in head["spec"]["containers"]] == ["ray-head", "autoscaler"]

    def may(*what: str) -> bool:
        account = f"system:serviceaccount:default:{head['spec']['serviceAccountName']}"
        return user.tries("auth", "can-i", *what, f"--as={account}").stdout.strip() == "yes"

    assert may("patch", "rayclusters/scaled") and may("list", "pods")
    assert not may("patch", "rayclusters/other") and not may("create", "pods")


# ── jobs ──


def test_a_job_runs_on_its_own_cluster_and_completes(user: User) -> None:
    creates(user, a_job("pi", cluster={"simulated": {"duration": "15s"}}))
    runs(user, "pi")
    table = user.does("get", "rayjob")
    assert columns(table) == ["NAME", "JOB STATUS", "DEPLOYMENT STATUS", "RAY CLUSTER NAME", "START TIME", "END TIME", "AGE"]
    seen = status(user, "rayjob", "pi")
    made = seen["rayClusterName"]
    assert table.splitlines()[1].split()[:4] == ["pi", "RUNNING", "Running", made]
    assert made.startswith("pi-") and len(made) == len("pi-") + 5
    assert seen["dashboardURL"] == f"{made}-head-svc.default.svc.cluster.local:8265"
    submitter = json.loads(user.does("get", "job", "pi", "-o", "json"))
    assert submitter["spec"]["backoffLimit"] == 2
    assert submitter["spec"]["template"]["spec"]["containers"][0]["name"] == "ray-job-submitter"
    group = user.sees("podgroups")[0]
    assert (name(group), group["spec"]["minMember"]) == ("pi", 3), "the submitter is no part of the minimum"
    assert {pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] for pod in pods_of(user, made)} == {"pi"}

    reaches(user, "pi", "Complete")
    seen = status(user, "rayjob", "pi")
    assert seen["jobStatus"] == "SUCCEEDED" and seen["succeeded"] == 1 and seen["endTime"] >= seen["startTime"]
    user.waits("the cluster goes", lambda: not user.sees("rayclusters") and not pods_of(user, made))
    user.waits("its group goes", lambda: not user.sees("podgroups"))
    assert user.sees("jobs"), "the submitter stays for its output"
    told = {reason for reason, _ in events(user, "pi")}
    assert {"CreatedRayCluster", "CreatedRayJobSubmitter", "DeletedRayCluster"} <= told


def test_a_job_fails_is_tried_again_and_fails(user: User) -> None:
    creates(user, a_job("wrong", backoffLimit=1, submitterConfig={"backoffLimit": 0},
                        cluster={"simulated": {"duration": "1s", "exit-code": "3"}}))  # fmt: skip
    user.waits("its second attempt", lambda: status(user, "rayjob", "wrong").get("gangway", {}).get("attempt") == 2)
    reaches(user, "wrong", "Failed")
    seen = status(user, "rayjob", "wrong")
    assert (seen["failed"], seen["reason"], seen["jobStatus"]) == (2, "AppFailed", "FAILED")
    user.waits("the cluster goes", lambda: not user.sees("rayclusters"))


@pytest.mark.parametrize("mode", ["HTTPMode", "SidecarMode"])
def test_without_a_submitter_of_its_own_it_runs_too(user: User, mode: str) -> None:
    creates(user, a_job("direct", submissionMode=mode, cluster={"simulated": {"duration": "2s"}}))
    reaches(user, "direct", "Complete")
    assert not user.sees("jobs")


def test_a_job_is_suspended_and_begins_anew(user: User) -> None:
    creates(user, a_job("pause", suspend=True))
    reaches(user, "pause", "Suspended")
    assert user.does("get", "rayjob", "pause", "--no-headers").split()[1] == "Suspended", "JOB STATUS is empty"
    assert not user.sees("rayclusters")
    clusters = set()
    for attempt in (2, 3):
        user.does("patch", "rayjob/pause", "--type=merge", "-p", '{"spec":{"suspend":false}}')
        runs(user, "pause")
        clusters.add(status(user, "rayjob", "pause")["rayClusterName"])
        assert status(user, "rayjob", "pause")["gangway"]["attempt"] == attempt
        user.does("patch", "rayjob/pause", "--type=merge", "-p", '{"spec":{"suspend":true}}')
        reaches(user, "pause", "Suspended")
        assert not user.sees("pods") and not user.sees("rayclusters") and not user.sees("jobs")
    assert len(clusters) == 2


def test_what_is_wrong_is_said_with_its_place(user: User) -> None:
    wrong = a_job("wrong", suspend=True, shutdownAfterJobFinishes=False,
                  cluster={"minReplicas": 3, "maxReplicas": 2})  # fmt: skip
    refused = user.tries("create", "-f", "-", given=json.dumps(wrong))
    assert refused.returncode == 1
    for complaint in (
        "spec.suspend: Invalid value: true: only a job with spec.shutdownAfterJobFinishes: true can be suspended",
        "spec.rayClusterSpec.workerGroupSpecs[0].minReplicas: Invalid value: 3: must not be more than maxReplicas (2)",
    ):
        assert complaint in refused.stderr, refused.stderr


def test_a_job_that_does_not_fit_waits_whole(user: User) -> None:
    creates(user, a_job("large", cluster={"workers": 4, "gpus": 4}))
    user.waits("its pods are there", lambda: len(user.sees("pods")) == 5)
    user.waits("it is told why", lambda: any("PodScheduled" in json.dumps(pod["status"]) for pod in user.sees("pods")))
    assert not any(pod["spec"].get("nodeName") for pod in user.sees("pods")), "three of four would fit"
    assert state(user, "large") == "Initializing"


def test_with_requeue_a_preempted_job_comes_back_whole(user: User, cluster: GangwayCluster) -> None:
    creates(user, a_job("medium", annotations={ON_PREEMPT: "Requeue"},
                        cluster={"workers": 3, "gpus": 4, "priority": "medium"}))  # fmt: skip
    runs(user, "medium")
    first = status(user, "rayjob", "medium")["rayClusterName"]
    creates(user, a_job("critical", cluster={"workers": 1, "gpus": 4, "priority": "critical"}))
    runs(user, "critical")
    user.waits("a new cluster waits", lambda: status(user, "rayjob", "medium").get("rayClusterName", first) != first
               and len(pods_of(user, status(user, "rayjob", "medium")["rayClusterName"])) == 4)  # fmt: skip
    seen = status(user, "rayjob", "medium")
    assert (seen["jobDeploymentStatus"], seen["reason"]) == ("Initializing", "Preempted")
    assert "was preempted by default/critical and is queued again as attempt 2." in seen["message"]
    assert seen.get("failed", 0) == 0
    assert not any(pod["spec"].get("nodeName") for pod in pods_of(user, seen["rayClusterName"])), "two of three would fit"
    shown = Arena(cluster).does("get", "medium")
    assert "STATUS: QUEUING" in shown and "was preempted by default/critical" in shown, shown
    user.does("delete", "rayjob", "critical")
    runs(user, "medium")
    assert {variables(pod)["GANGWAY_ATTEMPT"] for pod in pods_of(user, seen["rayClusterName"])} == {"2"}


def test_with_fail_a_preempted_worker_is_made_again_and_waits(user: User) -> None:
    creates(user, a_job("medium", submitterConfig={"backoffLimit": 0},
                        cluster={"workers": 3, "gpus": 4, "priority": "medium",
                                 "simulated": {"peer-loss": "fail"}}))  # fmt: skip
    runs(user, "medium")
    creates(user, a_job("critical", cluster={"workers": 1, "gpus": 4, "priority": "critical"}))
    runs(user, "critical")
    reaches(user, "medium", "Failed")
    assert status(user, "rayjob", "medium")["jobStatus"] == "FAILED"


def test_a_deleted_job_leaves_nothing_behind(user: User) -> None:
    creates(user, a_job("gone"))
    runs(user, "gone")
    user.does("delete", "rayjob", "gone", "--wait=true")
    user.waits("nothing is left", lambda: not left_behind(user, f"rayjobs,rayclusters,{BELONGINGS}"))


def test_arena_submits_and_shows_ray_jobs(user: User, cluster: GangwayCluster) -> None:
    arena = Arena(cluster)
    arena.does("submit", "rj", "--name=train", "--image=i", "--gpus=1", "--worker-replicas=2", "--head-cpu=1",
               "--priority=medium", "python train.py")  # fmt: skip
    runs(user, "train")
    user.waits("arena says so", lambda: "RUNNING" in arena.does("list"))
    shown = arena.does("get", "train")
    assert "STATUS: RUNNING" in shown and "RAYJOB" in shown
    made = status(user, "rayjob", "train")["rayClusterName"]
    assert shown.count(f"{made}-") >= 3, shown
    arena.does("suspend", "train")
    reaches(user, "train", "Suspended")
    assert "SUSPENDED" in arena.does("list")
    arena.does("resume", "train")
    runs(user, "train")
    arena.does("delete", "train")
    user.waits("it is gone", lambda: not user.sees("rayjobs"))
