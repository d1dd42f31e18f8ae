"""Gangway in the place of the real control plane: same interface as RealCluster.

It runs in the foreground as our child, so that it dies with the tests and can be killed and waited for by pid.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .endpoint import Endpoint, from_kubeconfig
from .http import Client
from .processes import Child, wait_for
from .real import REPOSITORY

ONE_NODE = """\
apiVersion: gangway.dev/v1alpha1
kind: Cluster
runtime: simulated
nodes:
- name: node-0
  capacity: {cpu: "8", memory: 32Gi, nvidia.com/gpu: "4"}
"""


def binary() -> Path:
    """GANGWAY_BIN, or the release build of this clone."""
    path = Path(os.environ.get("GANGWAY_BIN", REPOSITORY / "build" / "bin" / "gangway")).resolve()
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist: run `make build`, or set GANGWAY_BIN")
    return path


class GangwayCluster:
    """Running when constructed; `stop` (or leaving the `with` block) ends it and removes its folder."""

    def __init__(self, cluster_file: str = ONE_NODE, without: Sequence[str] = ()) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="gangway-test-"))
        self.kubeconfig = self.folder / "kubeconfig"
        self.log = self.folder / "gangway.log"
        self._without = without
        self._cluster = self.folder / "cluster.yaml"
        self._cluster.write_text(cluster_file)
        self._port = 0
        self._child: Child | None = None
        atexit.register(self.stop)
        try:
            self.start()
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> GangwayCluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def name(self) -> str:
        return "gangway"

    @property
    def client_ca(self) -> Path:
        return self.agent_pki / "ca.crt"

    @property
    def agent_pki(self) -> Path:
        """The server's own: what it issues for an agent it accepts."""
        return self.folder / "data" / "pki"

    @property
    def pid(self) -> int:
        assert self._child is not None
        return self._child.process.pid

    def start(self) -> None:
        """Starts it on the same data directory, and after the first time on the same port."""
        self.kubeconfig.unlink(missing_ok=True)
        child = Child("gangway", [
            binary(), "up", "--cluster", self._cluster, "--data-dir", self.folder / "data",
            "--port", str(self._port), "--kubeconfig", self.kubeconfig,
            *(["--without-controllers", ",".join(self._without)] if self._without else []),
        ], self.log)  # fmt: skip
        self._child = child

        def written() -> bool:
            child.check_alive()
            return self.kubeconfig.exists() and self.kubeconfig.stat().st_size > 0

        wait_for("gangway's kubeconfig", written)
        self.endpoint: Endpoint = from_kubeconfig(self.kubeconfig)
        self._port = self.endpoint.port
        client = Client(self.endpoint)

        def ready() -> bool:
            child.check_alive()
            try:
                return client.request("GET", "/readyz").status == 200
            except OSError:
                return False

        wait_for("gangway ready", ready)
        wait_for("every node Ready", lambda: _all_nodes_ready(client))
        client.close()

    def kill(self) -> None:
        """SIGKILL, as a crash would be; the data directory stays."""
        assert self._child is not None
        self._child.stop()

    def log_tail(self) -> str:
        return self._child.log_tail() if self._child else ""

    def stop(self) -> None:
        atexit.unregister(self.stop)
        if self._child is not None:
            self._child.stop(grace=5)
            self._child = None
        shutil.rmtree(self.folder, ignore_errors=True)


def _all_nodes_ready(client: Client) -> bool:
    nodes = client.must("GET", "/api/v1/nodes")["items"]
    ready = [c["status"] for n in nodes for c in n.get("status", {}).get("conditions", []) if c["type"] == "Ready"]
    return len(ready) == len(nodes) and all(status == "True" for status in ready)
