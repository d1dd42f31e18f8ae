"""The controllers that make pods, with pods that run."""

from __future__ import annotations

from containers.cluster import Namespace, pod
from containers.network_test import SERVE, service


def template(script: str, labels: dict[str, str], container: dict | None = None, **spec: object) -> dict:
    made = pod("x", script, container=container, **spec)
    return {"metadata": {"labels": labels}, "spec": made["spec"]}


def test_a_deployment_rolls_out_and_back(space: Namespace) -> None:
    body = {"replicas": 3, "selector": {"matchLabels": {"app": "web"}},
            "template": template("sleep 600", {"app": "web"})}  # fmt: skip
    space.apply({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": body})
    space.must("rollout", "status", "deployment/web", "--timeout=60s")
    space.must("set", "env", "deployment/web", "STAGE=two")
    assert "successfully rolled out" in space.must("rollout", "status", "deployment/web", "--timeout=90s")
    space.must("rollout", "undo", "deployment/web")
    space.must("rollout", "status", "deployment/web", "--timeout=90s")
    space.must("scale", "deployment/web", "--replicas=1")
    space.until(lambda: len(space.get("pods")["items"]) == 1, "one pod")
    container = space.get("pods")["items"][0]["spec"]["containers"][0]
    assert "env" not in container


def test_a_stateful_set_keeps_names_and_order(space: Namespace) -> None:
    body = {"replicas": 2, "serviceName": "ranks", "selector": {"matchLabels": {"app": "r"}},
            "template": template(SERVE.format(text="$(hostname)", port=8080), {"app": "r"},
                                 {"readinessProbe": {"tcpSocket": {"port": 8080}, "periodSeconds": 1}})}  # fmt: skip
    space.apply(service("ranks", {"app": "r"}, clusterIP="None"),
                {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "rank"}, "spec": body})  # fmt: skip
    space.wait_ready("rank-0", "rank-1")
    started = [space.get("pod", name)["metadata"]["creationTimestamp"] for name in ("rank-0", "rank-1")]
    assert started == sorted(started)
    space.until(lambda: space.run("exec", "rank-0", "--", "getent", "hosts", "rank-1.ranks").returncode == 0, "its name")
    before = space.get("pod", "rank-1")["metadata"]["uid"]
    space.must("delete", "pod", "rank-1")
    space.wait_ready("rank-1")
    assert space.get("pod", "rank-1")["metadata"]["uid"] != before


def test_an_indexed_job_runs_every_index_once(space: Namespace) -> None:
    body = {"completions": 3, "parallelism": 2, "completionMode": "Indexed",
            "template": template("echo index $JOB_COMPLETION_INDEX", {}, restartPolicy="Never")}  # fmt: skip
    space.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sweep"}, "spec": body})
    space.must("wait", "--for=condition=Complete", "job/sweep", "--timeout=60s")
    status = space.get("job", "sweep")["status"]
    assert (status["succeeded"], status["completedIndexes"]) == (3, "0-2")
    output = space.must("logs", "-l", "job-name=sweep", "--tail=-1")
    assert sorted(output.splitlines()) == ["index 0", "index 1", "index 2"]


def test_a_job_gives_up_after_its_retries(space: Namespace) -> None:
    body = {"backoffLimit": 1, "template": template("exit 1", {}, restartPolicy="Never")}
    space.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "doomed"}, "spec": body})
    space.must("wait", "--for=condition=Failed", "job/doomed", "--timeout=80s")
    conditions = space.get("job", "doomed")["status"]["conditions"]
    assert any(c["type"] == "Failed" and c["reason"] == "BackoffLimitExceeded" for c in conditions)


def test_a_suspended_job_holds_nothing_and_goes_on(space: Namespace) -> None:
    body = {"suspend": True, "template": template("echo ran", {}, restartPolicy="Never")}
    space.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "later"}, "spec": body})
    space.must("wait", "--for=condition=Suspended", "job/later", "--timeout=20s")
    assert not space.get("pods")["items"]
    space.must("patch", "job", "later", "--type=merge", "-p", '{"spec": {"suspend": false}}')
    space.must("wait", "--for=condition=Complete", "job/later", "--timeout=60s")


def test_drain_moves_pods_away(space: Namespace) -> None:
    body = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}},
            "template": template("sleep 600", {"app": "web"})}  # fmt: skip
    space.apply({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": body})
    space.must("rollout", "status", "deployment/web", "--timeout=60s")
    try:
        space.must("drain", "gpu-a", "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=60s")
        space.must("rollout", "status", "deployment/web", "--timeout=60s")
        assert {item["spec"]["nodeName"] for item in space.get("pods")["items"]} == {"gpu-b"}
    finally:
        space.must("uncordon", "gpu-a")


def test_a_no_execute_taint_evicts(space: Namespace) -> None:
    space.create_pod("mover", "sleep 600", nodeSelector={"zone": "b"})
    space.create_pod("stayer", "sleep 600", nodeSelector={"zone": "b"}, tolerations=[{"key": "maintenance", "operator": "Exists"}])
    space.wait_ready("mover", "stayer")
    try:
        space.must("taint", "node", "gpu-b", "maintenance=now:NoExecute")
        space.wait_gone("pod", "mover")
        assert space.phase("stayer") == "Running"
    finally:
        space.must("taint", "node", "gpu-b", "maintenance-")


def test_a_deleted_namespace_ends_its_pods(space: Namespace) -> None:
    from containers.cluster import Namespace as Other

    with Other(space.cluster, f"{space.name}-gone"[-60:].strip("-")) as other:
        other.create_pod("inside", "sleep 600")
        other.wait_phase("inside", "Running")
    assert "NotFound" in space.run("get", "namespace", other.name).stderr
