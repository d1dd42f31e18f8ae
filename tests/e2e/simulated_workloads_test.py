"""Workloads whose pods run, on simulated nodes: Jobs to their ends, rollouts, drains and deletions as users know them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.user import User, name
from kube.harness.gangway import GangwayCluster

NODES = """\
apiVersion: gangway.dev/v1alpha1
kind: Cluster
runtime: simulated
nodes:
- {name: node, count: 3, capacity: {cpu: "64", memory: 64Gi}}
"""
CONTAINERS = [{"name": "main", "image": "example.com/app:1"}]


@pytest.fixture(scope="module")
def cluster() -> Iterator[GangwayCluster]:
    with GangwayCluster(NODES) as running:
        yield running


@pytest.fixture
def user(cluster: GangwayCluster, kubectl: Path, request: pytest.FixtureRequest) -> Iterator[User]:
    """In a namespace of the test's own."""
    namespace = request.node.name.removeprefix("test_").replace("_", "-")[:50].strip("-")
    somebody = User(kubectl, cluster, namespace)
    somebody.does("create", "namespace", namespace)
    somebody.waits("the service account", lambda: somebody.tries("get", "sa", "default").returncode == 0)
    yield somebody
    somebody.does("delete", "namespace", namespace, "--wait=false")


def runs_for(seconds: str = "", code: int = 0) -> dict[str, str]:
    notes = {"gangway.dev/simulated-duration": seconds} if seconds else {}
    return notes | ({"gangway.dev/simulated-exit-code": str(code)} if code else {})


def make_job(user: User, title: str, notes: dict[str, str], **spec: Any) -> None:
    template = {"metadata": {"annotations": notes}, "spec": {"restartPolicy": "Never", "containers": CONTAINERS}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": title}, "spec": {"template": template} | spec}
    user.does("create", "-f", "-", given=json.dumps(job))


def make_deployment(user: User, title: str, replicas: int) -> None:
    template = {"metadata": {"labels": {"app": title}}, "spec": {"containers": CONTAINERS}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": title}}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": title}, "spec": spec}
    user.does("create", "-f", "-", given=json.dumps(deployment))
    user.does("rollout", "status", f"deployment/{title}", "--timeout=60s")


def get(user: User, *what: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(user.does("get", *what, "-o", "json"))
    return found


def pods_of(user: User, job: str) -> list[dict[str, Any]]:
    return user.sees("pods", "-l", f"batch.kubernetes.io/job-name={job}")


def condition(job: dict[str, Any], kind: str) -> dict[str, Any]:
    return next((each for each in job["status"].get("conditions", []) if each["type"] == kind), {})


def ends(user: User, job: str, how: str) -> dict[str, Any]:
    user.does("wait", f"--for=condition={how}", f"job/{job}", "--timeout=60s")
    return get(user, "job", job)


def test_a_job_runs_as_many_at_once_as_it_may(user: User) -> None:
    make_job(user, "work", runs_for("1s"), completions=5, parallelism=2)
    most = 0

    def is_complete() -> bool:
        nonlocal most
        most = max(most, sum(pod["status"]["phase"] in ("Pending", "Running") for pod in pods_of(user, "work")))
        return bool(condition(get(user, "job", "work"), "Complete"))

    user.waits("the job is complete", is_complete)
    assert most == 2
    assert get(user, "job", "work")["status"]["succeeded"] == 5
    assert len(pods_of(user, "work")) == 5
    assert user.does("get", "job", "work", "--no-headers").split()[1:3] == ["Complete", "5/5"]


def test_an_indexed_job_gives_each_index_a_pod(user: User) -> None:
    make_job(user, "parts", runs_for("1s"), completions=4, parallelism=4, completionMode="Indexed")
    job = ends(user, "parts", "Complete")
    assert job["status"]["completedIndexes"] == "0-3"
    indexes = [pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"] for pod in pods_of(user, "parts")]
    assert sorted(indexes) == ["0", "1", "2", "3"]
    assert {pod["spec"]["hostname"] for pod in pods_of(user, "parts")} == {f"parts-{index}" for index in range(4)}


def test_a_job_gives_up_after_its_last_attempt(user: User) -> None:
    make_job(user, "hopeless", runs_for("1s", code=1), backoffLimit=1)
    job = ends(user, "hopeless", "Failed")
    assert condition(job, "Failed")["reason"] == "BackoffLimitExceeded"
    assert (job["status"]["failed"], job["status"].get("succeeded", 0)) == (2, 0)
    first, second = sorted(pod["metadata"]["creationTimestamp"] for pod in pods_of(user, "hopeless"))
    assert first < second
    assert not any(pod["metadata"].get("finalizers") for pod in pods_of(user, "hopeless"))


def test_an_exit_code_may_end_a_job_at_once(user: User) -> None:
    rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
    make_job(user, "strict", runs_for("1s", code=42), backoffLimit=6, podFailurePolicy={"rules": [rule]})
    job = ends(user, "strict", "Failed")
    assert condition(job, "Failed")["reason"] == "PodFailurePolicy"
    assert job["status"]["failed"] == 1


def test_an_exit_code_may_count_for_nothing(user: User) -> None:
    rule = {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [7]}}
    make_job(user, "patient", runs_for("1s", code=7), backoffLimit=0, podFailurePolicy={"rules": [rule]})
    user.waits("a second attempt", lambda: len(pods_of(user, "patient")) >= 2)
    assert not condition(get(user, "job", "patient"), "Failed")


def test_a_job_is_stopped_at_its_deadline(user: User) -> None:
    make_job(user, "late", runs_for(), activeDeadlineSeconds=2)
    user.waits("its pod runs", lambda: [pod["status"]["phase"] for pod in pods_of(user, "late")] == ["Running"])
    job = ends(user, "late", "Failed")
    assert condition(job, "Failed")["reason"] == "DeadlineExceeded"
    user.waits("its pod is gone", lambda: not pods_of(user, "late"))


def test_a_suspended_job_has_no_pods_and_goes_on_later(user: User) -> None:
    make_job(user, "paused", runs_for(), parallelism=2, completions=2)
    user.waits("two pods", lambda: get(user, "job", "paused")["status"].get("ready") == 2)
    user.does("patch", "job", "paused", "--type=merge", "-p", '{"spec":{"suspend":true}}')
    user.waits("no pods", lambda: not pods_of(user, "paused"))
    suspended = condition(get(user, "job", "paused"), "Suspended")
    assert suspended["status"] == "True"
    user.does("patch", "job", "paused", "--type=merge", "-p", '{"spec":{"suspend":false}}')
    user.waits("two pods again", lambda: get(user, "job", "paused")["status"].get("ready") == 2)
    status = get(user, "job", "paused")["status"]
    assert status.get("failed", 0) == 0
    assert status["startTime"] >= suspended["lastTransitionTime"]


def test_a_finished_job_goes_when_its_time_is_over(user: User) -> None:
    make_job(user, "brief", runs_for("1s"), ttlSecondsAfterFinished=2)
    make_job(user, "kept", runs_for("1s"))
    user.does("wait", "--for=delete", "job/brief", "--timeout=60s")
    user.waits("its pods are gone", lambda: not pods_of(user, "brief"))
    ends(user, "kept", "Complete")
    assert len(pods_of(user, "kept")) == 1


def test_deleting_a_job_deletes_its_pods_or_leaves_them(user: User) -> None:
    for title in ("with", "without"):
        make_job(user, title, runs_for())
        user.waits("its pod runs", lambda title=title: [p["status"]["phase"] for p in pods_of(user, title)] == ["Running"])
    user.does("delete", "job", "with", "--cascade=foreground")
    assert not pods_of(user, "with")
    user.does("delete", "job", "without", "--cascade=orphan")
    (left,) = pods_of(user, "without")
    assert left["status"]["phase"] == "Running"
    assert "ownerReferences" not in left["metadata"]
    user.waits("nobody holds it", lambda: not pods_of(user, "without")[0]["metadata"].get("finalizers"))


def images(user: User, app: str) -> set[str]:
    return {pod["spec"]["containers"][0]["image"] for pod in user.pods(app)}


def test_a_rollout_is_followed_undone_restarted_and_scaled(user: User) -> None:
    make_deployment(user, "web", 6)
    user.does("set", "image", "deployment/web", "main=example.com/app:2")
    said = user.does("rollout", "status", "deployment/web", "--timeout=60s")
    assert said.endswith('deployment "web" successfully rolled out\n')
    user.waits("the old pods are gone", lambda: images(user, "web") == {"example.com/app:2"})
    history = user.does("rollout", "history", "deployment/web").splitlines()
    assert [line.split()[0] for line in history if line[:1].isdigit()] == ["1", "2"]
    assert "example.com/app:1" in user.does("rollout", "history", "deployment/web", "--revision=1")

    user.does("rollout", "undo", "deployment/web", "--to-revision=1")
    user.does("rollout", "status", "deployment/web", "--timeout=60s")
    user.waits("the first image again", lambda: images(user, "web") == {"example.com/app:1"})
    before = {name(pod) for pod in user.pods("web")}
    user.does("rollout", "restart", "deployment/web")
    user.does("rollout", "status", "deployment/web", "--timeout=60s")
    user.waits("all pods are new", lambda: not before & {name(pod) for pod in user.pods("web")})

    user.does("scale", "deployment", "web", "--replicas=9")
    user.does("rollout", "status", "deployment/web", "--timeout=60s")
    assert user.does("get", "deployment", "web", "--no-headers").split()[1] == "9/9"
    user.does("scale", "deployment", "web", "--replicas=0")
    user.waits("no pods", lambda: not user.pods("web"))


def test_a_service_follows_the_pods_of_a_rollout(user: User) -> None:
    make_deployment(user, "site", 3)
    user.does("expose", "deployment", "site", "--port=80")

    def addresses(kind: str) -> set[str]:
        return {each["status"]["podIP"] for each in user.pods("site")} if kind == "pods" else {
            address
            for found in user.sees("endpointslices", "-l", "kubernetes.io/service-name=site")
            for endpoint in found["endpoints"] or []
            if endpoint["conditions"]["ready"]
            for address in endpoint["addresses"]
        }  # fmt: skip

    user.waits("the addresses of its pods", lambda: len(addresses("slices")) == 3 and addresses("slices") == addresses("pods"))
    before = addresses("slices")
    user.does("rollout", "restart", "deployment/site")
    user.does("rollout", "status", "deployment/site", "--timeout=60s")
    user.waits("new addresses", lambda: len(addresses("slices")) == 3 and addresses("slices") == addresses("pods"))
    assert not before & addresses("slices")


def test_a_drain_waits_for_what_a_budget_allows(user: User) -> None:
    """One pod may be away at a time, and a new one is away for a second before it counts."""
    make_deployment(user, "guarded", 4)
    user.does("patch", "deployment", "guarded", "--type=merge", "-p", '{"spec":{"minReadySeconds":1}}')
    user.does("create", "pdb", "guard", "--selector=app=guarded", "--min-available=3")
    user.waits("a budget", lambda: get(user, "pdb", "guard")["status"].get("disruptionsAllowed") == 1)
    node = user.pods("guarded")[0]["spec"]["nodeName"]
    there = [name(pod) for pod in user.pods("guarded") if pod["spec"]["nodeName"] == node]
    try:
        said = user.does("drain", node, "--ignore-daemonsets", "--force", "--timeout=80s")
        assert f"node/{node} drained" in said
        assert all(f"pod/{each} evicted" in said for each in there)
        user.does("rollout", "status", "deployment/guarded", "--timeout=60s")
        assert node not in {pod["spec"]["nodeName"] for pod in user.pods("guarded")}
        assert get(user, "node", node)["spec"]["unschedulable"] is True
    finally:
        user.does("uncordon", node)


def test_a_drain_is_refused_what_a_budget_forbids(user: User) -> None:
    make_deployment(user, "rigid", 3)
    user.does("create", "pdb", "rigid", "--selector=app=rigid", "--max-unavailable=0")
    user.waits("the budget is known", lambda: get(user, "pdb", "rigid")["status"].get("expectedPods") == 3)
    before = {name(pod) for pod in user.pods("rigid")}
    node = user.pods("rigid")[0]["spec"]["nodeName"]
    try:
        done = user.tries("drain", node, "--ignore-daemonsets", "--force", "--timeout=3s")
        assert done.returncode != 0
        assert "Cannot evict pod as it would violate the pod's disruption budget." in done.stderr
        assert {name(pod) for pod in user.pods("rigid")} == before
    finally:
        user.does("uncordon", node)


def test_a_stateful_set_with_claims_runs_where_its_volumes_are(user: User) -> None:
    template = {
        "metadata": {"labels": {"app": "db"}},
        "spec": {"containers": [CONTAINERS[0] | {"volumeMounts": [{"name": "data", "mountPath": "/data"}]}]},
    }
    asks = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    spec = {
        "serviceName": "db", "replicas": 3, "selector": {"matchLabels": {"app": "db"}}, "template": template,
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": asks}],
    }  # fmt: skip
    stateful = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}, "spec": spec}
    user.does("create", "-f", "-", given=json.dumps(stateful))
    user.does("rollout", "status", "statefulset/db", "--timeout=60s")
    user.waits("claims are bound", lambda: {c["status"]["phase"] for c in user.sees("pvc")} == {"Bound"})
    assert [name(claim) for claim in user.sees("pvc")] == ["data-db-0", "data-db-1", "data-db-2"]
    before = {name(pod): pod["spec"]["nodeName"] for pod in user.pods("db")}
    user.does("rollout", "restart", "statefulset/db")
    user.does("rollout", "status", "statefulset/db", "--timeout=60s")
    assert {name(pod): pod["spec"]["nodeName"] for pod in user.pods("db")} == before


def test_nothing_was_refused_to_the_controllers(cluster: GangwayCluster, kubectl: Path) -> None:
    """A right that a role lacks shows as the last error of its controller."""
    report = json.loads(User(kubectl, cluster, "default").does("get", "--raw", "/gangway/status"))
    assert len(report["parts"]) > 15
    assert not [part for part in report["parts"] if "is forbidden: User" in str(part.get("detail"))]
