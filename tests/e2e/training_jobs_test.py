"""PyTorchJobs and TFJobs from their creation to their end, as a user of kubectl sees them, on simulated nodes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.gpu_cluster import creates, gpu_cluster
from e2e.training_jobs import a_job, a_user_of_jobs, conditions, events, job_of, pods_of, state, submits, variables
from e2e.user import User, name
from kube.harness.gangway import GangwayCluster

ONE_GPU = {"count": 1, "gpus": 1}


@pytest.fixture(scope="module")
def cluster(kubectl: Path) -> Iterator[GangwayCluster]:
    with gpu_cluster(kubectl) as started:
        yield started


@pytest.fixture
def user(cluster: GangwayCluster, kubectl: Path) -> Iterator[User]:
    yield from a_user_of_jobs(cluster, kubectl)


def test_a_pytorch_job_runs_and_succeeds(user: User) -> None:
    # Long enough for everything that is read while it runs, also where many things run.
    submits(user, "PyTorchJob", "train", {
        "Master": {**ONE_GPU, "duration": "8s"}, "Worker": {"count": 2, "gpus": 1, "duration": "8s"},
    })  # fmt: skip
    user.waits("it runs", lambda: state(user, "PyTorchJob", "train") == "Running")
    head, row = (line.split() for line in user.does("get", "pytorchjobs").splitlines())
    assert head == ["NAME", "STATE", "AGE"] and row[:2] == ["train", "Running"]
    pods = pods_of(user, "train")
    assert sorted(pods) == ["train-master-0", "train-worker-0", "train-worker-1"]
    assert variables(pods["train-worker-1"])["MASTER_ADDR"] == "train-master-0"
    assert variables(pods["train-worker-1"])["RANK"] == "2"
    assert {name(each) for each in user.sees("services")} >= set(pods)
    group = user.sees("podgroups")[0]
    assert group["spec"]["minMember"] == 3 and group["metadata"]["ownerReferences"][0]["kind"] == "PyTorchJob"

    user.waits("it succeeds", lambda: state(user, "PyTorchJob", "train") == "Succeeded")
    assert [each["type"] for each in conditions(user, "PyTorchJob", "train")] == ["Created", "Running", "Succeeded"]
    user.waits("the group goes", lambda: not user.sees("podgroups"))
    assert len(pods_of(user, "train")) == 3
    told = {reason for reason, _ in events(user, "train")}
    assert told >= {"SuccessfulCreatePod", "SuccessfulCreateService", "PyTorchJobSucceeded", "JobTerminated"}

    user.does("delete", "pytorchjob", "train")
    user.waits("its pods go with it", lambda: not pods_of(user, "train"))


def test_what_is_wrong_is_said_with_its_place(user: User) -> None:
    wrong = a_job("PyTorchJob", "wrong", {"Master": {"count": 2, "gpus": 1}}, nprocPerNode="many",
                  elasticPolicy={"minReplicas": 3, "maxReplicas": 2, "nProcPerNode": 2},
                  annotations={"on-preempt": "Shrink", "gang": "yes"})  # fmt: skip
    wrong["spec"]["pytorchReplicaSpecs"]["Chief"] = wrong["spec"]["pytorchReplicaSpecs"]["Master"]
    wrong["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"][0]["name"] = "main"
    refused = user.tries("create", "-f", "-", given=json.dumps(wrong))
    assert refused.returncode == 1
    for complaint in (
        'spec.pytorchReplicaSpecs[Chief]: Unsupported value: "Chief": supported values: "Master", "Worker"',
        "spec.pytorchReplicaSpecs.Master.template.spec.containers: Invalid value: there is no container called pytorch",
        "spec.pytorchReplicaSpecs.Master.replicas: Invalid value: 2: there is one Master at most: must be 1",
        "spec.pytorchReplicaSpecs.Worker: Required value: only Workers come and go",
        "spec.elasticPolicy.minReplicas: Invalid value: 3: must not be more than spec.elasticPolicy.maxReplicas (2)",
        "spec.elasticPolicy.nProcPerNode: Forbidden: spec.nprocPerNode says it already",
        'spec.nprocPerNode: Invalid value: "many": must be auto, cpu, gpu or a number above 0',
        'metadata.annotations[gangway.dev/gang]: Unsupported value: "yes"',
        "metadata.annotations[gangway.dev/on-preempt]: Invalid value",
    ):
        assert complaint in refused.stderr, refused.stderr
    assert 'Invalid value: "9j"' in user.tries(
        "create", "-f", "-", given=json.dumps(a_job("TFJob", "9j", {"Worker": ONE_GPU}))
    ).stderr  # fmt: skip


def test_older_manifests_are_understood(user: User) -> None:
    """Types in any case, and policies directly below spec, as older tools write them."""
    job = a_job("PyTorchJob", "old", {"master": {**ONE_GPU, "duration": "1s"}}, cleanPodPolicy="All", backoffLimit=3)
    made = user.tries("create", "-f", "-", given=json.dumps(job))
    assert made.returncode == 0, made.stderr
    assert "spec.cleanPodPolicy: deprecated, use spec.runPolicy.cleanPodPolicy" in made.stderr
    assert list(job_of(user, "PyTorchJob", "old")["spec"]["pytorchReplicaSpecs"]) == ["Master"]
    user.waits("it succeeds", lambda: state(user, "PyTorchJob", "old") == "Succeeded")
    user.waits("cleanPodPolicy All", lambda: not pods_of(user, "old"))


def test_a_template_is_stored_as_it_was_written(user: User) -> None:
    job = a_job("PyTorchJob", "plain", {"Worker": ONE_GPU}, runPolicy={"suspend": True})
    job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["metadata"]["creationTimestamp"] = None
    job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["resources"]["limits"] = {
        "nvidia.com/gpu": 1, "cpu": 1,
    }  # fmt: skip
    creates(user, job)
    stored = job_of(user, "PyTorchJob", "plain")["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]
    assert "restartPolicy" not in stored["spec"] and "creationTimestamp" not in stored["metadata"]
    assert user.tries("get", "pods", "-o", "name").stdout == ""


def test_a_failed_master_fails_the_job(user: User) -> None:
    submits(user, "PyTorchJob", "bad", {
        "Master": {**ONE_GPU, "restart": "Never", "duration": "1s", "exit_code": "3"}, "Worker": ONE_GPU,
    })  # fmt: skip
    user.waits("it fails", lambda: state(user, "PyTorchJob", "bad") == "Failed")
    last = conditions(user, "PyTorchJob", "bad")[-1]
    assert last["reason"] == "PyTorchJobFailed"
    assert last["message"] == "PyTorchJob bad is failed because 1 Master replica(s) failed."
    assert ("ExitedWithCode", "Pod: default.bad-master-0 exited with code 3") in events(user, "bad")


def test_workers_are_scaled_with_kubectl(user: User) -> None:
    submits(user, "PyTorchJob", "wide", {"Worker": {"count": 1, "gpus": 1}})
    user.waits("it runs", lambda: state(user, "PyTorchJob", "wide") == "Running")
    user.does("scale", "pytorchjob/wide", "--replicas=3")
    user.waits("three workers", lambda: job_of(user, "PyTorchJob", "wide")["status"]["replicaStatuses"]["Worker"]
               .get("active") == 3)  # fmt: skip
    user.does("scale", "pytorchjob/wide", "--replicas=2")
    user.waits("two workers", lambda: sorted(pods_of(user, "wide")) == ["wide-worker-0", "wide-worker-1"])
    assert user.sees("podgroups")[0]["spec"]["minMember"] == 2
    assert state(user, "PyTorchJob", "wide") == "Running"


@pytest.mark.parametrize("kind", ["PyTorchJob", "TFJob"])
def test_jobs_are_suspended_and_resumed(user: User, kind: str) -> None:
    submits(user, kind, "pause", {"Worker": {"count": 2, "gpus": 1}})
    user.waits("it runs", lambda: state(user, kind, "pause") == "Running")
    path = [f"{kind.lower()}/pause", "--type=merge", "-p"]
    user.does("patch", *path, '{"spec":{"runPolicy":{"suspend":true}}}')
    user.waits("no pods", lambda: state(user, kind, "pause") == "Suspended" and not pods_of(user, "pause"))
    user.waits("no group", lambda: not user.sees("podgroups"))
    user.does("patch", *path, '{"spec":{"runPolicy":{"suspend":false}}}')
    user.waits("it runs again", lambda: state(user, kind, "pause") == "Running")
    assert all(variables(pod)["GANGWAY_ATTEMPT"] == "2" for pod in pods_of(user, "pause").values())
    assert {f"{kind}Suspended", f"{kind}Resumed"} <= {reason for reason, _ in events(user, "pause")}


def test_a_finished_job_goes_after_its_time(user: User) -> None:
    submits(user, "PyTorchJob", "brief", {"Master": {**ONE_GPU, "duration": "1s"}},
            runPolicy={"ttlSecondsAfterFinished": 1})  # fmt: skip
    user.waits("it is gone", lambda: not job_of(user, "PyTorchJob", "brief"))
    user.waits("its pods too", lambda: not pods_of(user, "brief"))


def test_a_deadline_ends_a_job(user: User) -> None:
    submits(user, "TFJob", "late", {"Worker": ONE_GPU}, runPolicy={"activeDeadlineSeconds": 2})
    user.waits("it fails", lambda: state(user, "TFJob", "late") == "Failed")
    assert conditions(user, "TFJob", "late")[-1]["message"] == (
        "Job late has failed because it was active longer than specified deadline"
    )
    user.waits("no pods", lambda: not pods_of(user, "late"))


def test_a_backoff_limit_ends_a_job(user: User) -> None:
    submits(user, "PyTorchJob", "again", {"Worker": {**ONE_GPU, "restart": "ExitCode", "duration": "1s",
                                                      "exit_code": "137"}}, runPolicy={"backoffLimit": 2})  # fmt: skip
    user.waits("it fails", lambda: state(user, "PyTorchJob", "again") == "Failed")
    job = job_of(user, "PyTorchJob", "again")
    assert job["status"]["gangway"]["restarts"] == 2
    assert conditions(user, "PyTorchJob", "again")[-1]["message"].endswith("has reached the specified backoff limit")


def test_only_what_runs_is_cleaned_up(user: User) -> None:
    submits(user, "PyTorchJob", "tidy", {"Master": {**ONE_GPU, "duration": "1s"}, "Worker": ONE_GPU},
            runPolicy={"cleanPodPolicy": "Running"})  # fmt: skip
    user.waits("it succeeds", lambda: state(user, "PyTorchJob", "tidy") == "Succeeded")
    user.waits("the worker goes", lambda: sorted(pods_of(user, "tidy")) == ["tidy-master-0"])


def test_a_tf_job_knows_its_cluster_and_succeeds(user: User) -> None:
    submits(user, "TFJob", "tf", {"PS": ONE_GPU, "Worker": {"count": 2, "gpus": 1, "duration": "2s"}})
    user.waits("it runs", lambda: state(user, "TFJob", "tf") == "Running")
    config = json.loads(variables(pods_of(user, "tf")["tf-worker-1"])["TF_CONFIG"])
    assert config["cluster"]["worker"] == ["tf-worker-0.default.svc:2222", "tf-worker-1.default.svc:2222"]
    assert config["task"] == {"type": "worker", "index": 1}
    user.waits("it succeeds", lambda: state(user, "TFJob", "tf") == "Succeeded")
    head, row = (line.split() for line in user.does("get", "tfjobs").splitlines())
    assert head == ["NAME", "STATE", "AGE"] and row[:2] == ["tf", "Succeeded"]


def test_a_tf_job_fails_with_a_worker(user: User) -> None:
    submits(user, "TFJob", "tf-bad", {"Worker": {"count": 2, "gpus": 1, "duration": "1s", "exit_code": "1"}})
    user.waits("it fails", lambda: state(user, "TFJob", "tf-bad") == "Failed")


def test_an_indexed_job_is_a_gang(user: User) -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    creates(user, {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "indexed"},
                   "spec": {"completionMode": "Indexed", "completions": 3, "parallelism": 3,
                            "template": template}})  # fmt: skip
    user.waits("three pods", lambda: len([pod for pod in user.sees("pods") if pod["spec"].get("nodeName")]) == 3)
    group = user.sees("podgroups")[0]
    assert name(group) == "indexed" and group["spec"]["minMember"] == 3
    assert all(pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] == "indexed" for pod in user.sees("pods"))


def test_editors_may_use_the_kinds(user: User) -> None:
    user.tries("create", "rolebinding", "job-ed", "--clusterrole=edit", "--user=job-ed")
    user.tries("create", "rolebinding", "job-vic", "--clusterrole=view", "--user=job-vic")

    def may(who: str, *what: str) -> bool:
        return user.tries("auth", "can-i", *what, f"--as={who}").stdout.strip() == "yes"

    for kind in ("pytorchjobs.kubeflow.org", "tfjobs.kubeflow.org"):
        user.waits("the roles are aggregated", lambda kind=kind: may("job-ed", "create", kind))
        assert may("job-vic", "list", kind) and not may("job-vic", "create", kind)
    assert may("job-ed", "update", "pytorchjobs.kubeflow.org", "--subresource=scale")
