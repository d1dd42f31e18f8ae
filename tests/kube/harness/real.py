"""The real control plane on loopback: etcd, kube-apiserver and, when asked for, kube-controller-manager and kube-scheduler.

docs/kube-comparison.md says why each option that differs from a default differs.
"""

from __future__ import annotations

import atexit
import http.client
import os
import shutil
import ssl
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import yaml

from .certs import Authority
from .endpoint import Endpoint, from_kubeconfig, write_kubeconfig
from .http import Client
from .processes import Child, free_ports, wait_for

REPOSITORY = Path(__file__).resolve().parents[3]
SETUP = REPOSITORY / "tools" / "setup" / "kube.sh"

WORKLOAD_CONTROLLERS = (
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "job-controller",
    "ttl-after-finished-controller",
    "endpoints-controller",
    "endpointslice-controller",
    "pod-garbage-collector-controller",
    "persistentvolume-binder-controller",
)
NODE_CONTROLLERS = ("node-lifecycle-controller", "taint-eviction-controller")
# Controllers that write to the objects that requests are about. What a single request does is compared without them:
# with them, every answer would depend on how far they have got.
ACTING_CONTROLLERS = (*WORKLOAD_CONTROLLERS, *NODE_CONTROLLERS)
# The controllers that Gangway's control plane has too; anything else would act on one side only.
SHARED_CONTROLLERS = (
    "garbage-collector-controller",
    "namespace-controller",
    "serviceaccount-controller",
    "root-ca-certificate-publisher-controller",
    "clusterrole-aggregation-controller",
    "disruption-controller",
    *ACTING_CONTROLLERS,
)


LOCAL_CLASS = yaml.safe_load((REPOSITORY / "kinds" / "bootstrap" / "storage-classes.yaml").read_text().split("---\n")[1])


# Pods that could not be placed are tried again as soon as something changes: waiting longer compares nothing.
SCHEDULER_CONFIGURATION = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "leaderElection": {"leaderElect": False},
    "podInitialBackoffSeconds": 1,
    "podMaxBackoffSeconds": 1,
}


def _answers(port: int, path: str) -> bool:
    """Whether what listens there says 200; it made its certificate itself."""
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=5, context=ssl._create_unverified_context())
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def ensure_built(*components: str) -> Path:
    """Builds the named components unless they are cached, and says which folder they are in."""
    subprocess.run([SETUP, *components], check=True)
    return Path(subprocess.run([SETUP, "--bin-dir"], check=True, capture_output=True, text=True).stdout.strip())


class RealCluster:
    """Running when constructed; `stop` (or leaving the `with` block) ends it and removes its folder."""

    def __init__(
        self,
        controllers: Sequence[str] = SHARED_CONTROLLERS,
        scheduler: bool = False,
        without_admission: Sequence[str] = (),
    ) -> None:
        self._without_admission = ("StorageObjectInUseProtection", *without_admission)
        self._bin = ensure_built(
            "kube-apiserver",
            *(["kube-controller-manager"] if controllers else []),
            *(["kube-scheduler"] if scheduler else []),
        )
        self.folder = Path(tempfile.mkdtemp(prefix="gangway-kube-"))
        self._children: dict[str, Child] = {}
        self._etcd_port, peer_port, self._port = free_ports(3)
        atexit.register(self.stop)
        try:
            self._make_credentials()
            self._start_etcd(peer_port)
            self.start_apiserver()
            if controllers:
                self._start_controllers(controllers)
            if scheduler:
                self._start_scheduler()
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> RealCluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def name(self) -> str:
        return "real"

    @property
    def client_ca(self) -> Path:
        """Who issued the certificate that the server shows to kubelets."""
        return self._authority.ca

    @property
    def agent_pki(self) -> Path:
        """Where an agent finds or makes what it serves with; kubelets' certificates are not verified here."""
        folder = self.folder / "agent-pki"
        folder.mkdir(exist_ok=True)
        return folder

    def _make_credentials(self) -> None:
        self._authority = Authority(self.folder)
        self._serving = self._authority.issue(
            "serving", "/CN=kube-apiserver", "IP:127.0.0.1,DNS:localhost,DNS:kubernetes.default.svc"
        )
        admin = self._authority.issue("admin", "/O=system:masters/CN=kubernetes-admin")
        self._kubelet_client = self._authority.issue("kubelet-client", "/O=system:masters/CN=kube-apiserver-kubelet-client")
        # The role of that name leaves writes to each controller's own account; one identity for all is quicker to start.
        manager = self._authority.issue("controllers", "/O=system:masters/CN=system:kube-controller-manager")
        scheduler = self._authority.issue("scheduler", "/CN=system:kube-scheduler")
        self._token_key = self._authority.new_key("service-account")
        url = f"https://127.0.0.1:{self._port}"
        self.kubeconfig = self.folder / "admin.kubeconfig"
        self._manager_kubeconfig = self.folder / "controllers.kubeconfig"
        write_kubeconfig(self.kubeconfig, url, self._authority.ca, *admin)
        self._scheduler_kubeconfig = self.folder / "scheduler.kubeconfig"
        write_kubeconfig(self._manager_kubeconfig, url, self._authority.ca, *manager)
        write_kubeconfig(self._scheduler_kubeconfig, url, self._authority.ca, *scheduler)
        self.endpoint: Endpoint = from_kubeconfig(self.kubeconfig)

    def _start(self, name: str, command: list[str | Path]) -> Child:
        child = Child(name, command, self.folder / f"{name}.log", dict(os.environ))
        self._children[name] = child
        return child

    def _start_etcd(self, peer_port: int) -> None:
        client, peer = f"http://127.0.0.1:{self._etcd_port}", f"http://127.0.0.1:{peer_port}"
        self._start("etcd", [
            shutil.which("etcd") or "/usr/bin/etcd",
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--log-level=error", "--logger=zap",
        ])  # fmt: skip

    def start_apiserver(self) -> None:
        certificate, key = self._serving
        kubelet_certificate, kubelet_key = self._kubelet_client
        child = self._start("kube-apiserver", [
            self._bin / "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
            "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", f"--secure-port={self._port}",
            f"--tls-cert-file={certificate}", f"--tls-private-key-file={key}",
            f"--client-ca-file={self._authority.ca}",
            f"--kubelet-client-certificate={kubelet_certificate}", f"--kubelet-client-key={kubelet_key}",
            "--kubelet-preferred-address-types=InternalIP",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            f"--service-account-key-file={self._token_key}",
            f"--service-account-signing-key-file={self._token_key}",
            "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--endpoint-reconciler-type=none",
            f"--disable-admission-plugins={','.join(self._without_admission)}",
            "--feature-gates=APIServerIdentity=false,WatchList=true",
            "--profiling=false",
        ])  # fmt: skip
        client = Client(self.endpoint)

        def ready() -> bool:
            child.check_alive()
            try:
                return client.request("GET", "/readyz").status == 200
            except OSError:
                return False

        wait_for("kube-apiserver ready", ready, seconds=90)
        # Bootstrap hooks create these after readiness is first reported; tests rely on both.
        wait_for("the default namespace",
                 lambda: client.call("GET", "/api/v1/namespaces/default").status == 200, seconds=30)  # fmt: skip
        wait_for("the system priority classes", lambda: client.call(
            "GET", "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical").status == 200)  # fmt: skip
        # What Gangway starts with beside the same roles and classes; after a restart it is there already.
        client.call("POST", "/apis/storage.k8s.io/v1/storageclasses", LOCAL_CLASS)
        client.close()

    def kill_apiserver(self) -> None:
        """SIGKILL to the API server alone: etcd keeps what it acknowledged."""
        self._children.pop("kube-apiserver").stop()

    def _start_controllers(self, controllers: Sequence[str]) -> None:
        child = self._start("kube-controller-manager", [
            self._bin / "kube-controller-manager",
            f"--kubeconfig={self._manager_kubeconfig}",
            f"--controllers={','.join(controllers)}",
            f"--root-ca-file={self._authority.ca}",
            "--leader-elect=false", "--secure-port=0", "--use-service-account-credentials=false",
            "--controller-start-interval=0s", "--kube-api-qps=1000", "--kube-api-burst=2000",
        ])  # fmt: skip
        client = Client(self.endpoint)

        def default_account_exists() -> bool:
            child.check_alive()
            return client.call("GET", "/api/v1/namespaces/default/serviceaccounts/default").status == 200

        wait_for("the controllers at work", default_account_exists, seconds=60)
        client.close()

    def _start_scheduler(self) -> None:
        config = self.folder / "scheduler.yaml"
        config.write_text(yaml.safe_dump(SCHEDULER_CONFIGURATION | {
            "clientConnection": {"kubeconfig": str(self._scheduler_kubeconfig), "qps": 5000, "burst": 5000},
        }))  # fmt: skip
        (port,) = free_ports(1)
        child = self._start("kube-scheduler", [
            self._bin / "kube-scheduler", f"--config={config}",
            "--bind-address=127.0.0.1", f"--secure-port={port}", f"--cert-dir={self.folder / 'scheduler-pki'}",
            "--authentication-skip-lookup=true",
        ])  # fmt: skip

        def at_work() -> bool:
            child.check_alive()
            return _answers(port, "/readyz")

        wait_for("kube-scheduler at work", at_work, seconds=90, pause=0.1)

    def stop(self) -> None:
        atexit.unregister(self.stop)
        for name in ("kube-scheduler", "kube-controller-manager", "kube-apiserver", "etcd"):
            if child := self._children.pop(name, None):
                child.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
