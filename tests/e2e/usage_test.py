"""What jobs have had of the GPUs: `gangway usage`, UsageRecords and Allotments, on simulated nodes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.gpu_cluster import a_pod, bound, creates, gang, gpu_cluster
from e2e.user import User
from kube.harness.gangway import GangwayCluster, binary


@pytest.fixture(scope="module")
def cluster(kubectl: Path) -> Iterator[GangwayCluster]:
    with gpu_cluster(kubectl) as started:
        yield started


class Accounts:
    """`gangway usage` of one cluster."""

    def __init__(self, cluster: GangwayCluster) -> None:
        self._cluster = cluster

    def runs(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(binary()), "usage", "--kubeconfig", str(self._cluster.kubeconfig), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    def of(self, by: str, who: str, *arguments: str) -> dict[str, Any]:
        done = self.runs("--by", by, "-o", "json", *arguments)
        assert done.returncode == 0, done.stderr
        items: list[dict[str, Any]] = json.loads(done.stdout)["items"]
        nothing = {"usedGpuSeconds": 0, "waitedGpuSeconds": 0, "lostGpuSeconds": 0, "preemptions": 0}
        return next((item for item in items if item["who"] == who), nothing)


@pytest.fixture
def accounts(cluster: GangwayCluster) -> Accounts:
    return Accounts(cluster)


@pytest.fixture
def user(cluster: GangwayCluster, kubectl: Path) -> Iterator[User]:
    someone = User(kubectl, cluster, "default")
    yield someone
    someone.does("delete", "jobs,requeuedpods,pods,podgroups", "--all", "--force", "--grace-period=0")
    someone.waits("an empty cluster", lambda: not someone.sees("pods") and not someone.sees("allotments"))


def test_a_running_pod_is_counted_without_a_write_and_a_deleted_one_is_remembered(user: User, accounts: Accounts) -> None:
    user.does("--as", "alice", "--as-group", "system:masters", "create", "-f", "-", given=json.dumps(a_pod("solo", 2)))
    user.waits("the pod", lambda: bound(user) == {"solo"})
    user.waits("two seconds of use", lambda: accounts.of("user", "alice")["usedGpuSeconds"] >= 4)
    assert not user.sees("usagerecords"), "nothing is written while it runs"
    user.does("delete", "pod", "solo", "--force", "--grace-period=0")
    user.waits("the record", lambda: len(user.sees("usagerecords")) == 1)
    record = user.sees("usagerecords")[0]
    assert record["spec"] == {"job": {"kind": "Pod", "name": "solo"}, "user": "alice"}
    used = record["account"]["usedGpuSeconds"]
    assert used >= 4
    for by, who in {"user": "alice", "namespace": "default", "priority": "none", "job": "default/Pod/solo"}.items():
        assert accounts.of(by, who)["usedGpuSeconds"] == used, by
    assert accounts.of("user", "alice", "-n", "kube-system")["usedGpuSeconds"] == 0


def test_a_preempted_gang_says_what_it_lost_and_to_whom(user: User, accounts: Accounts) -> None:
    creates(user, *gang("low", 3, 4, priority="medium", on_preempt="Requeue"))
    user.waits("the gang", lambda: len(bound(user)) == 3)
    job = "default/PodGroup/low"
    user.waits("some work", lambda: accounts.of("job", job)["usedGpuSeconds"] >= 24)
    creates(user, a_pod("critical", 1, priority="critical"))
    user.waits("the critical pod", lambda: "critical" in bound(user))

    def status() -> dict[str, Any]:
        found: list[dict[str, Any]] = [each for each in user.sees("allotments") if each["spec"]["gang"]["name"] == "low"]
        state: dict[str, Any] = found[0].get("status", {}) if found else {}
        return state

    user.waits("the loss in its Allotment", lambda: status().get("lostGpuSeconds", 0) >= 24)
    user.waits("its use", lambda: status().get("usedGpuSeconds", 0) >= 24)
    shown = status()
    assert shown["attempts"] == 2
    assert shown["lostTo"] == [{"namespace": "default", "name": "critical", "gpuSeconds": shown["lostGpuSeconds"]}]
    line = accounts.of("job", job)
    assert (line["lostGpuSeconds"], line["preemptions"]) == (shown["lostGpuSeconds"], 1)
    user.waits("waiting counts", lambda: accounts.of("job", job)["waitedGpuSeconds"] > line["waitedGpuSeconds"])
    user.does("delete", "pods,podgroups", "--all", "--force", "--grace-period=0")
    user.waits("no Allotments", lambda: not user.sees("allotments"))
    assert accounts.of("job", job)["lostGpuSeconds"] == shown["lostGpuSeconds"], "the record outlives the job"
    assert accounts.of("priority", "medium")["preemptions"] == 1


def test_pods_of_a_job_are_their_users(user: User, accounts: Accounts) -> None:
    spec = {**a_pod("x", 1)["spec"], "restartPolicy": "Never"}
    notes = {"gangway.dev/created-by": "mallory"}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train"},
           "spec": {"completions": 2, "parallelism": 2,
                    "template": {"metadata": {"annotations": notes}, "spec": spec}}}  # fmt: skip
    user.does("--as", "bob", "--as-group", "system:masters", "create", "-f", "-", given=json.dumps(job))
    user.waits("both pods", lambda: len(bound(user)) == 2)
    user.waits("some use", lambda: accounts.of("user", "bob")["usedGpuSeconds"] >= 2)
    assert accounts.of("user", "mallory")["usedGpuSeconds"] == 0
    user.does("delete", "job", "train", "--cascade=foreground")
    user.waits("the records", lambda: any(each["spec"].get("user") == "bob" for each in user.sees("usagerecords")))
    assert accounts.of("job", "default/Job/train")["usedGpuSeconds"] >= 2


def test_records_survive_a_crash_and_nothing_is_counted_twice(
    user: User, accounts: Accounts, cluster: GangwayCluster
) -> None:
    creates(user, a_pod("before", 1))
    user.waits("the pod", lambda: bound(user) == {"before"})
    user.does("delete", "pod", "before", "--force", "--grace-period=0")
    user.waits("its record", lambda: any(each["spec"]["job"]["name"] == "before" for each in user.sees("usagerecords")))
    job = "default/Pod/before"
    counted = accounts.of("job", job)
    cluster.kill()
    cluster.start()
    assert accounts.of("job", job) == counted
    creates(user, a_pod("after", 1))
    user.waits("the pod", lambda: bound(user) == {"after"})
    assert accounts.of("job", job) == counted


def test_old_records_go(user: User, accounts: Accounts) -> None:
    creates(user, a_pod("short", 1))
    user.waits("the pod", lambda: bound(user) == {"short"})
    user.does("delete", "pod", "short", "--force", "--grace-period=0")
    user.waits("its record", lambda: any(each["spec"]["job"]["name"] == "short" for each in user.sees("usagerecords")))
    configuration = {"apiVersion": "gangway.dev/v1alpha1", "kind": "Configuration", "metadata": {"name": "default"},
                     "spec": {"usage": {"retention": "1s"}}}  # fmt: skip
    wrong = {**configuration, "spec": {"usage": {"retention": "soon"}}}
    refused = user.tries("create", "-f", "-", given=json.dumps(wrong))
    assert refused.returncode != 0 and "spec.usage.retention" in refused.stderr
    creates(user, configuration)
    user.waits("no records", lambda: not user.sees("usagerecords"))
    user.does("delete", "configuration", "default")


def test_the_table_and_wrong_arguments(user: User, accounts: Accounts) -> None:
    creates(user, a_pod("shown", 4))
    user.waits("the pod", lambda: bound(user) == {"shown"})
    user.waits("some use", lambda: accounts.of("job", "default/Pod/shown")["usedGpuSeconds"] > 0)
    lines = accounts.runs("--by", "job").stdout.splitlines()
    assert lines[0].split() == ["JOB", "USED", "GPU-H", "WAITED", "LOST", "PREEMPTIONS"]
    assert any(line.startswith("default/Pod/shown ") for line in lines)
    wrong = accounts.runs("--since", "yesterday")
    assert wrong.returncode != 0 and "--since: must be a duration such as 90m or 24h (got yesterday)" in wrong.stderr
    assert accounts.runs("--by", "colour").returncode != 0
