"""A user of `arena`, and job kinds for clusters that do not serve them.

A stand-in is a CustomResourceDefinition that takes any object: nobody makes pods of its jobs, so the test does. Where
the server has the kind itself, the test leaves both alone.
"""

from __future__ import annotations

import json
import re
import subprocess
from typing import Any

from containers.cluster import ContainerCluster
from e2e.gpu_cluster import a_pod
from e2e.user import User
from kube.harness.gangway import GangwayCluster, binary

KINDS = {
    "mpijobs": ("MPIJob", "kubeflow.org", ["v1alpha1", "v1", "v2beta1"]),
    "pytorchjobs": ("PyTorchJob", "kubeflow.org", ["v1"]),
    "tfjobs": ("TFJob", "kubeflow.org", ["v1"]),
    "rayjobs": ("RayJob", "ray.io", ["v1"]),
}


def at_once(done: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    """As if it had taken no time: arena's lines on stderr say after how many seconds they were written."""
    done.stderr = re.sub(r"^([A-Z]{4})\[\d{4}\]", r"\1[0000]", done.stderr, flags=re.MULTILINE)
    return done


class Arena:
    """`arena` in one namespace of one cluster."""

    def __init__(self, cluster: GangwayCluster | ContainerCluster, namespace: str = "default") -> None:
        self._where = ["--config", str(cluster.kubeconfig), "-n", namespace]

    def tries(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return at_once(subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=90))

    def starts(self, *arguments: str) -> subprocess.Popen[str]:
        command = self.command(*arguments)
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def command(self, *arguments: str) -> list[str]:
        return [str(binary().parent / "arena"), *self._where, *arguments]

    def does(self, *arguments: str) -> str:
        done = self.tries(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def sees(self, job: str) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.does("get", job, "-o", "json"))
        return document

    def status(self, job: str) -> str:
        text: str = self.sees(job)["status"]
        return text


def _serves(user: User, plural: str) -> bool:
    group = KINDS[plural][1]
    return user.tries("get", f"{plural}.{group}").returncode == 0


def stand_ins(user: User) -> set[str]:
    """Makes a stand-in for every kind that is not served, and says which those are."""
    missing = {plural for plural in KINDS if not _serves(user, plural)}
    for plural in missing:
        kind, group, versions = KINDS[plural]
        schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        served = [{"name": version, "served": True, "storage": i == 0, "schema": schema}
                  for i, version in enumerate(versions)]  # fmt: skip
        names = {"plural": plural, "kind": kind, "singular": kind.lower(), "listKind": kind + "List"}
        definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                      "metadata": {"name": f"{plural}.{group}"},
                      "spec": {"group": group, "names": names, "scope": "Namespaced", "versions": served}}  # fmt: skip
        user.does("create", "-f", "-", given=json.dumps(definition))
    for plural in missing:
        user.waits(f"the stand-in {plural}", lambda plural=plural: _serves(user, plural))
    return missing


def pod_of_job(kind: str, job: str, role: str, index: int, gpus: int, **more: str) -> dict[str, Any]:
    """A pod as the kind's controller would make it, as far as `arena` looks."""
    if kind == "MPIJob":
        labels = {"mpi_job_name": job, "mpi_role_type": role}
    else:
        labels = {"training.kubeflow.org/operator-name": f"{kind.lower()}-controller",
                  "training.kubeflow.org/job-name": job, "training.kubeflow.org/replica-type": role}  # fmt: skip
    return a_pod(f"{job}-{role}-{index}", gpus, labels=labels, **more)
