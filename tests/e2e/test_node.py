"""A node whose containers are processes of this machine (tests/e2e/node), registered with a cluster, and its pod."""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from kube.harness.gangway import GangwayCluster
from kube.harness.http import Client
from kube.harness.processes import Child, wait_for
from kube.harness.real import REPOSITORY, RealCluster

NODE = "test-node"
# kubectl's library logs that it drops what comes before it has made its streams; whether anything does is chance.
LIBRARY_LOG = re.compile(rb"^E\d{4} [^\n]* websocket\.go:[^\n]*\n", re.MULTILINE)
POD = "box"

# What each container runs, one run after the other.
CONTAINERS: dict[str, dict[str, Any]] = {
    "main": {"runs": [["sh", "-c", "echo started; echo broken >&2; exec sleep 1000"]]},
    "restarted": {"runs": [["sh", "-c", "echo first run"], ["sh", "-c", "echo second run; exec sleep 1000"]]},
    "ticker": {"runs": [["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do echo tick $i; sleep 0.2; done"]]},
    "echo": {"runs": [["sh", "-c", "while read line; do echo \"you said $line\"; done"]], "stdin": True},
    "late": {"waiting": "ContainerCreating"},
    "busy": {"runs": [["sh", "-c", "while :; do :; done"]]},
}


def binary() -> Path:
    """GANGWAY_TEST_NODE, or the one beside the gangway under test."""
    beside = Path(os.environ.get("GANGWAY_BIN", REPOSITORY / "build" / "bin" / "gangway"))
    path = Path(os.environ.get("GANGWAY_TEST_NODE", beside.with_name("gangway-test-node"))).resolve()
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist: build the target gangway-test-node, or set GANGWAY_TEST_NODE")
    return path


class TestNode:
    """Serving when constructed; `stop` ends it."""

    __test__ = False

    def __init__(self, cluster: GangwayCluster | RealCluster, containers: tuple[str, ...]) -> None:
        self.cluster = cluster
        self.folder = Path(tempfile.mkdtemp(prefix="gangway-node-"))
        self._client = Client(cluster.endpoint)
        pod = self._make_pod(containers)
        spec = self.folder / "spec.json"
        described = [{"name": name} | CONTAINERS[name] for name in containers]
        spec.write_text(json.dumps({"node": NODE, "pods": [
            {"uid": pod["metadata"]["uid"], "namespace": "default", "name": POD, "containers": described}]}))  # fmt: skip
        self._log = self.folder / "node.log"
        self._child = Child("gangway-test-node", [
            binary(), "--pki", cluster.agent_pki, "--client-ca", cluster.client_ca, "--kubeconfig", cluster.kubeconfig,
            "--spec", spec, "--folder", self.folder,
        ], self._log)  # fmt: skip

        def port() -> int | None:
            self._child.check_alive()
            first = self._log.read_text().split("\n")[0]
            return int(first) if first.isdigit() else None

        self.port = wait_for("the node's port", port)
        self._register(containers)

    def _make_pod(self, containers: tuple[str, ...]) -> dict[str, Any]:
        for path in (f"/api/v1/namespaces/default/pods/{POD}?gracePeriodSeconds=0", f"/api/v1/nodes/{NODE}"):
            self._client.call("DELETE", path)
        self._client.must("POST", "/api/v1/nodes", {"metadata": {"name": NODE}})
        wait_for("the default account", lambda: self._client.call(
            "GET", "/api/v1/namespaces/default/serviceaccounts/default").status == 200)  # fmt: skip
        pod: dict[str, Any] = self._client.must("POST", "/api/v1/namespaces/default/pods", {
            "metadata": {"name": POD, "labels": {"app": "box"}},
            "spec": {
                "nodeName": NODE,
                "tolerations": [{"operator": "Exists"}],
                "containers": [
                    {"name": name, "image": "none", "stdin": CONTAINERS[name].get("stdin", False)} for name in containers
                ],
            },
        })  # fmt: skip
        return pod

    def _register(self, containers: tuple[str, ...]) -> None:
        merge = "application/merge-patch+json"
        self._client.must("PATCH", f"/api/v1/nodes/{NODE}/status", {"status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "capacity": {"cpu": "2", "memory": "4Gi", "pods": "110"},
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self.port}},
        }}, merge)  # fmt: skip
        running = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
        self._client.must("PATCH", f"/api/v1/namespaces/default/pods/{POD}/status", {"status": {
            "phase": "Running",
            "containerStatuses": [
                {"name": name, "image": "none", "imageID": "", "ready": True, "restartCount": 0, "state": running}
                for name in containers
            ],
        }}, merge)  # fmt: skip

    def stop(self) -> None:
        self._child.stop()
        self._client.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Kubectl:
    """kubectl against one cluster, with a choice of how it streams."""

    def __init__(self, program: Path, kubeconfig: Path, websockets: bool = True) -> None:
        self.program = program
        self.environment = os.environ | {
            "KUBECONFIG": str(kubeconfig),
            "KUBECTL_REMOTE_COMMAND_WEBSOCKETS": str(websockets).lower(),
            "KUBECTL_PORT_FORWARD_WEBSOCKETS": str(websockets).lower(),
        }

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        return subprocess.Popen([str(self.program), *arguments], env=self.environment, **options)

    def run(self, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        done = subprocess.run(
            [str(self.program), *arguments], env=self.environment, input=stdin, capture_output=True, timeout=60
        )
        done.stderr = LIBRARY_LOG.sub(b"", done.stderr)
        return done

    def out(self, *arguments: str, stdin: bytes = b"") -> str:
        """What a command that has to succeed printed."""
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout.decode()

    def error(self, *arguments: str) -> str:
        """What a command that has to fail complained of."""
        done = self.run(*arguments)
        assert done.returncode != 0, (arguments, done.stdout)
        return done.stderr.decode()


def read_until(stream: Any, text: bytes, seconds: float = 20.0) -> bytes:
    """Everything up to and including `text`."""
    deadline = time.monotonic() + seconds
    descriptor = stream if isinstance(stream, int) else stream.fileno()
    seen = b""
    while text not in seen:
        readable, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
        piece = os.read(descriptor, 65536) if readable else b""
        assert piece, seen
        seen += piece
    return seen
