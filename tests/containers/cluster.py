"""A cluster whose nodes run real containers on this machine's own root, and what tests do in one of its namespaces."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kube.harness.gangway import binary

# Two nodes, so that "elsewhere" exists; both are this machine. GPUs are declared: there are none here.
TWO_NODES = """\
apiVersion: gangway.dev/v1alpha1
kind: Cluster
runtime: oci
imagePolicy: host
nodes:
- name: gpu-a
  capacity: {cpu: "4", memory: 8Gi, nvidia.com/gpu: "2"}
  labels: {zone: a}
- name: gpu-b
  capacity: {cpu: "4", memory: 8Gi, nvidia.com/gpu: "2"}
  labels: {zone: b}
"""
DEADLINE = 60.0


def missing_parts() -> str:
    """What containers need and this machine lacks; empty when they can run."""
    if os.geteuid() != 0:
        return "not root"
    wanted = ["conmon", "nft", "dnsmasq", "ip"]
    missing = [name for name in wanted if shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin") is None]
    if shutil.which("runc") is None and shutil.which("crun") is None:
        missing.append("runc")
    return ", ".join(missing) or why_refused()


def why_refused() -> str:
    """What Gangway itself says when it is asked for containers that this machine does not allow."""
    with tempfile.TemporaryDirectory(prefix="gangway-probe-") as folder:
        asked = [str(binary()), "up", "--runtime", "oci", "--detach", "--port", "0", "--data-dir", folder]
        done = subprocess.run(asked, capture_output=True, text=True, timeout=120)
        subprocess.run([str(binary()), "down", "--data-dir", folder], capture_output=True, timeout=120)
    return done.stderr.strip() if "not possible on this machine" in done.stderr else ""


class Failed(AssertionError):
    """A command that should have worked did not."""


class ContainerCluster:
    def __init__(self, description: str = TWO_NODES, up_options: tuple[str, ...] = ()) -> None:
        self.up_options = up_options
        self.folder = Path(tempfile.mkdtemp(prefix="gangway-containers-"))
        self.data = self.folder / "data"
        self.kubeconfig = self.folder / "kubeconfig"
        self.port = 0
        (self.folder / "cluster.yaml").write_text(description)
        self.kubectl_path = os.environ.get("KUBECTL", "kubectl")
        try:
            self.up()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> ContainerCluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def gangway(self, *arguments: object, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        command = [str(binary()), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout)

    def up(self) -> None:
        done = self.gangway(
            "up", "--cluster", self.folder / "cluster.yaml", "--data-dir", self.data, "--port", self.port,
            "--kubeconfig", self.kubeconfig, "--detach", *self.up_options,
        )  # fmt: skip
        if done.returncode != 0:
            raise Failed(f"gangway up: {done.stdout}{done.stderr}")
        server = next(line for line in self.kubeconfig.read_text().splitlines() if "server:" in line)
        self.port = int(server.rsplit(":", 1)[1].strip('"'))

    def down(self) -> None:
        done = self.gangway("down", "--data-dir", self.data)
        if done.returncode != 0:
            raise Failed(f"gangway down: {done.stdout}{done.stderr}")

    def pid(self) -> int:
        return int((self.data / "gangway.pid").read_text())

    def close(self) -> None:
        self.gangway("down", "--data-dir", self.data)
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, *arguments: str, given: str = "", timeout: float = 90) -> subprocess.CompletedProcess[str]:
        command = [self.kubectl_path, "--kubeconfig", str(self.kubeconfig), *arguments]
        return subprocess.run(command, input=given, capture_output=True, text=True, timeout=timeout)


class Namespace:
    """What a test does with kubectl in a namespace of its own, which goes with everything in it."""

    def __init__(self, cluster: ContainerCluster, name: str) -> None:
        self.cluster = cluster
        self.name = name

    def __enter__(self) -> Namespace:
        self.must("create", "namespace", self.name)
        # The service account that pods need is made a moment later.
        self.until(lambda: self.run("get", "serviceaccount", "default").returncode == 0, "the service account")
        return self

    def __exit__(self, *_: object) -> None:
        self.run("delete", "pods", "--all", "--grace-period=1", "--wait=false")
        if self.run("delete", "namespace", self.name, "--timeout=60s").returncode != 0:
            log = (self.cluster.data / "agent" / "agent.log").read_text().splitlines()[-60:]
            pods = self.run("get", "pods", "-o", "yaml").stdout
            raise Failed("\n".join(["the namespace does not end", self.story(), pods, *log]))

    def run(self, *arguments: str, given: str = "", timeout: float = 90) -> subprocess.CompletedProcess[str]:
        return self.cluster.run("-n", self.name, *arguments, given=given, timeout=timeout)

    def must(self, *arguments: str, given: str = "", timeout: float = 90) -> str:
        done = self.run(*arguments, given=given, timeout=timeout)
        if done.returncode != 0:
            raise Failed(f"kubectl {' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done.stdout

    def get(self, *what: str) -> dict[str, Any]:
        return json.loads(self.must("get", *what, "-o", "json"))

    def apply(self, *manifests: dict[str, Any]) -> None:
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(manifests)})
        self.must("apply", "-f", "-", given=text)

    def create_pod(self, name: str, script: str = "", **spec: Any) -> None:
        """A pod of one container `c` that runs `script` in a shell; `spec` and `container` are merged over that."""
        self.apply(pod(name, script, **spec))

    def until(self, check: Callable[[], Any], what: str, deadline: float = DEADLINE) -> Any:
        end = time.monotonic() + deadline
        while True:
            if found := check():
                return found
            if time.monotonic() > end:
                raise Failed(f"waited {deadline:.0f} s in vain for {what}\n{self.story()}")
            time.sleep(0.1)

    def phase(self, name: str) -> str:
        done = self.run("get", "pod", name, "-o", "jsonpath={.status.phase}")
        return done.stdout if done.returncode == 0 else ""

    def wait_phase(self, name: str, *phases: str, deadline: float = DEADLINE) -> dict[str, Any]:
        self.until(lambda: self.phase(name) in phases, f"{name} to be {' or '.join(phases)}", deadline)
        return self.get("pod", name)

    def wait_ready(self, *names: str) -> None:
        for name in names:
            self.until(lambda name=name: self.is_ready(name), f"{name} to be ready")

    def is_ready(self, name: str) -> bool:
        path = '{.status.conditions[?(@.type=="Ready")].status}'
        return self.run("get", "pod", name, "-o", f"jsonpath={path}").stdout == "True"

    def wait_gone(self, kind: str, name: str) -> None:
        self.until(lambda: "NotFound" in self.run("get", kind, name).stderr, f"{kind} {name} to be gone")

    def container(self, pod_name: str, container: str = "c", kind: str = "containerStatuses") -> dict[str, Any]:
        statuses = self.get("pod", pod_name)["status"].get(kind, [])
        return next((s for s in statuses if s["name"] == container), {})

    def wait_container(self, pod_name: str, check: Callable[[dict[str, Any]], Any], what: str, container: str = "c",
                       kind: str = "containerStatuses", deadline: float = DEADLINE) -> dict[str, Any]:  # fmt: skip
        def found() -> dict[str, Any] | None:
            status = self.container(pod_name, container, kind)
            return status if status and check(status) else None

        return self.until(found, f"{pod_name}/{container}: {what}", deadline)

    def logs(self, name: str, *options: str) -> str:
        return self.must("logs", name, *options)

    def run_to_end(self, name: str, script: str, **spec: Any) -> str:
        """The output of a pod that has to succeed."""
        self.create_pod(name, script, **{"restartPolicy": "Never", **spec})
        self.wait_phase(name, "Succeeded", "Failed")
        output = self.logs(name)
        if self.phase(name) != "Succeeded":
            raise Failed(f"{name} failed: {output}\n{self.story()}")
        return output

    def events(self, name: str) -> list[tuple[str, str]]:
        items = self.get("events", "--field-selector", f"involvedObject.name={name}")["items"]
        return [(item["reason"], item["message"]) for item in items]

    def wait_event(self, name: str, reason: str, text: str = "") -> str:
        def found() -> str:
            return next((m for r, m in self.events(name) if r == reason and text in m), "")

        return self.until(found, f"event {reason} of {name} with {text!r}")

    def story(self) -> str:
        """What a person would look at first."""
        return "\n".join([
            self.run("get", "pods", "-o", "wide").stdout,
            self.run("get", "events", "--sort-by=.metadata.creationTimestamp").stdout[-3000:],
        ])  # fmt: skip


def pod(name: str, script: str = "", container: dict[str, Any] | None = None, labels: dict[str, str] | None = None,
        annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:  # fmt: skip
    main = {"name": "c", "image": "host"}
    if script:
        main["command"] = ["sh", "-c", script]
    main.update(container or {})
    metadata = {"name": name, "labels": labels or {}, "annotations": annotations or {}}
    body = {"terminationGracePeriodSeconds": 2, "containers": [main], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body}
