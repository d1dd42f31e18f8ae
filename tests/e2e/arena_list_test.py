"""`arena list` of many jobs, against a server that only lists and counts how often it is asked."""

from __future__ import annotations

import json
import resource
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from kube.harness.gangway import binary

JOBS = 1000
CONTAINER = {"name": "pytorch", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
TEMPLATE = {"spec": {"priorityClassName": "medium", "containers": [CONTAINER]}}


def a_job(number: int) -> dict[str, Any]:
    specs = {"Master": {"replicas": 1, "template": TEMPLATE}, "Worker": {"replicas": 2, "template": TEMPLATE}}
    return {"metadata": {"name": f"job-{number}", "namespace": "default", "uid": f"u{number}",
                         "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"pytorchReplicaSpecs": specs}}  # fmt: skip


def a_pod(number: int, role: str, index: int) -> dict[str, Any]:
    labels = {"training.kubeflow.org/operator-name": "pytorchjob-controller",
              "training.kubeflow.org/job-name": f"job-{number}", "training.kubeflow.org/replica-type": role}  # fmt: skip
    return {"metadata": {"name": f"job-{number}-{role}-{index}", "namespace": "default", "labels": labels,
                         "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"nodeName": "n", "containers": [CONTAINER]},
            "status": {"phase": "Running", "hostIP": "10.0.0.8"}}  # fmt: skip


def a_list(kind: str, items: list[dict[str, Any]]) -> bytes:
    return json.dumps({"kind": kind, "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items}).encode()


PODS = [a_pod(i, role, index) for i in range(JOBS) for role, index in (("master", 0), ("worker", 0), ("worker", 1))]
LISTS = {
    "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs": a_list("PyTorchJobList", [a_job(i) for i in range(JOBS)]),
    "/api/v1/namespaces/default/pods": a_list("PodList", PODS),
}


class Counting(ThreadingHTTPServer):
    """Serves LISTS, and watches on which one job ends once `ends` is set; everything else is not there."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.watched: Counter[str] = Counter()
        self.ends = threading.Event()
        self.closes = threading.Event()
        super().__init__(("127.0.0.1", 0), Handler)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Counting

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        if "watch=" in query and path in LISTS:
            self.serve_watch(path)
            return
        self.server.asked[path] += 1
        missing = json.dumps({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404}).encode()
        body = LISTS.get(path, missing)
        self.send_response(200 if path in LISTS else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def serve_watch(self, path: str) -> None:
        self.server.watched[path] += 1
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Connection", "close")
        self.end_headers()
        if path.endswith("pytorchjobs"):
            self.server.ends.wait()
            job = a_job(7)
            job |= {"kind": "PyTorchJob", "apiVersion": "kubeflow.org/v1"}
            job["metadata"]["resourceVersion"] = "2"
            job["status"] = {"conditions": [{"type": "Succeeded", "status": "True"}]}
            self.wfile.write(json.dumps({"type": "MODIFIED", "object": job}).encode() + b"\n")
            self.wfile.flush()
        self.server.closes.wait()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Counting]:
    with Counting() as started:
        thread = threading.Thread(target=started.serve_forever, daemon=True)
        thread.start()
        yield started
        started.ends.set()
        started.closes.set()
        started.shutdown()
        thread.join()


@pytest.fixture
def command(server: Counting, tmp_path: Path) -> list[str]:
    cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_address[1]}"}}
    config = {"apiVersion": "v1", "kind": "Config", "clusters": [cluster], "users": [{"name": "u", "user": {}}],
              "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}], "current-context": "x"}  # fmt: skip
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(json.dumps(config))
    return [str(binary().parent / "arena"), "--config", str(kubeconfig), "list"]


def cpu_seconds_of(command: list[str]) -> float:
    """What a command that is run again needs of a processor: unlike its time, hardly a matter of who else is busy."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True, timeout=60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_a_thousand_jobs_are_one_read_of_each_kind(server: Counting, command: list[str]) -> None:
    done = subprocess.run([*command, "-o", "wide"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == JOBS + 1
    row = next(line.split() for line in lines if line.startswith("job-7 "))
    assert row == ["job-7", "RUNNING", "PYTORCHJOB", "0s", "3", "3", "10.0.0.8", "medium", "N/A"]
    for path in LISTS:
        assert server.asked[path] == 1, server.asked
    assert max(server.asked.values()) == 1, server.asked
    assert cpu_seconds_of(command) < 1.0


def test_a_watched_list_is_told_what_changes(server: Counting, command: list[str]) -> None:
    with subprocess.Popen([*command, "--watch"], stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        lines = [watching.stdout.readline() for _ in range(JOBS + 1)]
        assert lines[0].split()[-1] == "PROGRESS" and lines[-1].split()[1] == "RUNNING"
        asked = server.asked.copy()
        server.ends.set()
        assert watching.stdout.readline().split()[:2] == ["job-7", "SUCCEEDED"]
        assert all(server.watched[path] == 1 for path in LISTS), server.watched
        assert all(server.asked[path] == asked[path] for path in LISTS), "nothing is read again"
        watching.kill()
