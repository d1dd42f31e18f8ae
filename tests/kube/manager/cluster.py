"""A real cluster with GPU nodes, and managers that schedule for it as the account and with the rights of deploy/rbac.yaml."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import yaml

from ..harness.gangway import binary
from ..harness.http import Client
from ..harness.kubelets import Kubelets
from ..harness.processes import Child, free_ports, wait_for
from ..harness.real import REPOSITORY, RealCluster

T = TypeVar("T")

DEPLOY = REPOSITORY / "deploy"
ACCOUNT = "/api/v1/namespaces/kube-system/serviceaccounts/gangway-manager"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/gangway-scheduler"
PODS = "/api/v1/namespaces/default/pods"
ALLOTMENTS = "/apis/gangway.dev/v1alpha1/namespaces/default/allotments"
MERGE = "application/merge-patch+json"
PLURALS = {
    "ServiceAccount": "api/v1/namespaces/{ns}/serviceaccounts",
    "ClusterRole": "apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": "apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles",
    "RoleBinding": "apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings",
    "Deployment": "apis/apps/v1/namespaces/{ns}/deployments",
    "CustomResourceDefinition": "apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "PodGroup": "apis/scheduling.x-k8s.io/v1alpha1/namespaces/{ns}/podgroups",
    "Pod": "api/v1/namespaces/{ns}/pods",
    "PersistentVolumeClaim": "api/v1/namespaces/{ns}/persistentvolumeclaims",
    "StorageClass": "apis/storage.k8s.io/v1/storageclasses",
    "PriorityClass": "apis/scheduling.k8s.io/v1/priorityclasses",
}
PATIENCE = 60.0


class Manager:
    """One `gangway manager` as a child of ours."""

    def __init__(self, name: str, kubeconfig: Path, folder: Path) -> None:
        self.name = name
        (self.port,) = free_ports(1)
        self.child = Child(name, [
            binary(), "manager", "--kubeconfig", kubeconfig, f"--listen=127.0.0.1:{self.port}",
            "--lease-duration=6s", "--flight-dir", folder / f"{name}-flight",
        ], folder / f"{name}.log")  # fmt: skip

    def asks(self, path: str) -> tuple[int, str]:
        """Status and text of one of its own endpoints; 0 while it does not listen."""
        try:
            with urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as refusal:
            return refusal.code, refusal.read().decode()
        except (URLError, OSError):
            return 0, ""

    def says(self, state: str) -> bool:
        self.child.check_alive()
        status, text = self.asks("/readyz")
        return status == 200 and state in text

    def log(self) -> str:
        return self.child.log.read_text(errors="replace")

    def terminate(self) -> int:
        """SIGTERM, and the exit code."""
        self.child.process.send_signal(signal.SIGTERM)
        return self.child.process.wait(timeout=PATIENCE)

    def kill(self) -> None:
        self.child.stop()


class ManagedCluster:
    """Running when constructed, with nodes and without kinds, rights and managers; `stop` ends everything it started."""

    def __init__(self) -> None:
        self.managers: list[Manager] = []
        self.real = RealCluster(controllers=())
        self.client = Client(self.real.endpoint)
        self._kubelets = Kubelets(self.real.endpoint)

    def __enter__(self) -> ManagedCluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        for manager in self.managers:
            manager.kill()
        self._kubelets.stop()
        self.real.stop()

    def loses_api(self) -> None:
        self._kubelets.stop()
        self.client.close()
        self.real.kill_apiserver()

    def regains_api(self) -> None:
        self.real.start_apiserver()
        self._kubelets = Kubelets(self.real.endpoint)

    def prepare(self) -> None:
        """What controllers would have made, two nodes of four GPUs, and two priority classes."""
        self.creates({"kind": "ServiceAccount", "metadata": {"name": "default"}})
        for name in ("n0", "n1"):
            amounts = {"cpu": "16", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "4"}
            status = {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
            self.client.must("POST", "/api/v1/nodes", {"metadata": {"name": name}, "status": status})
            # Admission has tainted it as not ready, which the controllers of nodes would take back.
            self.client.must("PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": []}}, MERGE)
        for name, value in (("medium", 1000), ("high", 2000)):
            self.creates({"kind": "PriorityClass", "metadata": {"name": name}, "value": value})

    def creates(self, *things: dict[str, Any]) -> None:
        for thing in things:
            ns = thing["metadata"].get("namespace", "default")
            path = "/" + PLURALS[thing["kind"]].format(ns=ns)
            # Admission may not have heard yet of a class that was just made.
            wait_for(f"leave to create {thing['metadata']['name']}", lambda: self._is_made(path, thing), PATIENCE)

    def _is_made(self, path: str, thing: dict[str, Any]) -> bool:
        answer = self.client.call("POST", path, thing)
        if answer.status not in (201, 403):
            raise RuntimeError(f"POST {path}: {answer.status} {answer.content[:500]!r}")
        return answer.status == 201

    def applies(self, manifest: str) -> None:
        self.creates(*(document for document in yaml.safe_load_all(manifest) if document))

    def installs_kinds(self) -> None:
        printed = subprocess.run([binary(), "crds"], check=True, capture_output=True, text=True).stdout
        self.applies(printed)

    def account_kubeconfig(self) -> Path:
        """A kubeconfig with a token of the manager's account, and nothing else."""
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
        token = self.client.must("POST", f"{ACCOUNT}/token", request)["status"]["token"]
        config = yaml.safe_load(self.real.kubeconfig.read_text())
        config["users"] = [{"name": "admin", "user": {"token": token}}]
        path = self.real.folder / "manager.kubeconfig"
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(config))
        return path

    def starts(self, name: str) -> Manager:
        manager = Manager(name, self.account_kubeconfig(), self.real.folder)
        self.managers.append(manager)
        return manager

    def waits(self, what: str, probe: Callable[[], T | None]) -> T:
        try:
            return wait_for(what, probe, PATIENCE)
        except Exception as error:
            logs = "\n".join(f"--- {manager.name}\n{manager.child.log_tail()}" for manager in self.managers)
            raise AssertionError(f"{error}\n{self._summary()}\n{logs}") from error
        finally:
            self._kubelets.check()

    def _summary(self) -> str:
        try:
            return self._pods_in_lines()
        except OSError as error:
            return f"the API does not answer: {error}"

    def _pods_in_lines(self) -> str:
        lines = [
            f"{pod['metadata']['name']}: node {pod['spec'].get('nodeName', '-')}, {pod['status'].get('phase')}, "
            f"{[(c['type'], c['status'], c.get('reason'), c.get('message')) for c in pod['status'].get('conditions', [])]}"
            for pod in self.pods()
        ]
        return "\n".join(lines)

    def pods(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.client.must("GET", PODS)["items"]
        return found

    def pod(self, name: str) -> dict[str, Any]:
        answer = self.client.call("GET", f"{PODS}/{name}")
        return answer.json() if answer.status == 200 else {}

    def running(self) -> set[str]:
        return {pod["metadata"]["name"] for pod in self.pods()
                if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]}  # fmt: skip

    def condition(self, pod: str, kind: str) -> dict[str, Any]:
        conditions = self.pod(pod).get("status", {}).get("conditions") or []
        return next((condition for condition in conditions if condition["type"] == kind), {})

    def allotment_of(self, gang: str) -> dict[str, Any]:
        found = self.client.must("GET", ALLOTMENTS)["items"]
        return next((each for each in found if each["spec"]["gang"]["name"] == gang), {})

    def events(self, pod: str, reason: str) -> list[dict[str, Any]]:
        selector = f"involvedObject.name={pod},reason={reason}"
        found: list[dict[str, Any]] = self.client.must(
            "GET", f"/api/v1/namespaces/default/events?fieldSelector={selector}")["items"]  # fmt: skip
        return found

    def lease(self) -> dict[str, Any]:
        spec: dict[str, Any] = self.client.must("GET", LEASE)["spec"]
        return spec

    def deletes(self, *pods: str) -> None:
        for pod in pods:
            self.client.call("DELETE", f"{PODS}/{pod}", {"gracePeriodSeconds": 0})

    def clears(self) -> None:
        """Nothing is left of what a check has made."""
        for path in (PODS, "/apis/gangway.dev/v1alpha1/namespaces/default/requeuedpods",
                     "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups"):  # fmt: skip
            self.client.must("DELETE", path, {"gracePeriodSeconds": 0})
        self.waits("an empty cluster", lambda: not self.pods())

    def gangway(self, *arguments: str) -> str:
        """What a command of gangway prints, asked with the administrator's kubeconfig."""
        command = [str(binary()), *arguments, "--kubeconfig", str(self.real.kubeconfig)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def gangway_json(self, *arguments: str) -> Any:
        return json.loads(self.gangway(*arguments, "-o", "json"))


def a_pod(name: str, gpus: int, *, scheduler: str = "gangway", group: str = "", priority: str = "", node: str = "",
          **annotations: str) -> dict[str, Any]:  # fmt: skip
    amounts = {"nvidia.com/gpu": str(gpus), "cpu": "1"}
    notes = {"gangway.dev/" + key.replace("_", "-"): value for key, value in annotations.items()}
    spec: dict[str, Any] = {
        "schedulerName": scheduler,
        "containers": [{"name": "c", "image": "i", "resources": {"limits": amounts, "requests": amounts}}],
    }
    if priority:
        spec["priorityClassName"] = priority
    if node:
        spec["nodeName"] = node
    labels = {"scheduling.x-k8s.io/pod-group": group} if group else {}
    return {"kind": "Pod", "metadata": {"name": name, "labels": labels, "annotations": notes}, "spec": spec}


def a_gang(name: str, pods: int, gpus: int, *, priority: str = "", **annotations: str) -> list[dict[str, Any]]:
    notes = {"gangway.dev/" + key.replace("_", "-"): value for key, value in annotations.items()}
    group = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup",
             "metadata": {"name": name, "annotations": notes}, "spec": {"minMember": pods}}  # fmt: skip
    return [group, *(a_pod(f"{name}-{i}", gpus, group=name, priority=priority) for i in range(pods))]
