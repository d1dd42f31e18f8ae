"""What Gangway adds to Kubernetes, and what it leaves out, as a user of kubectl sees it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kube.harness.gangway import GangwayCluster

Kubectl = Callable[..., subprocess.CompletedProcess[str]]

CRITICAL = """
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: own-critical, annotations: {gangway.dev/restricted: "true"}}
value: 1000
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: urgent, namespace: own-rules}
spec:
  priorityClassName: own-critical
  containers: [{name: c, image: i}]
"""
# kubectl create clusterrole knows no such verb.
MAY_USE = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: own-urgent}
rules:
- {apiGroups: [scheduling.k8s.io], resources: [priorityclasses], resourceNames: [own-critical], verbs: [use]}
"""
RULED = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: trials.own.example.com}
spec:
  group: own.example.com
  scope: Namespaced
  names: {plural: trials, singular: trial, kind: Trial}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {steps: {type: integer}}
            x-kubernetes-validations: [{rule: self.steps > 0, message: too few}]
"""


@pytest.fixture
def run(gangway: GangwayCluster, kubectl: Path) -> Kubectl:
    def call(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        command = [str(kubectl), "--kubeconfig", str(gangway.kubeconfig), *arguments]
        return subprocess.run(command, input=given, capture_output=True, text=True, timeout=60)

    return call


def test_a_restricted_class_needs_the_right_to_use_it(run: Kubectl) -> None:
    for command in (
        ["create", "namespace", "own-rules"],
        ["create", "rolebinding", "ann", "--clusterrole=edit", "--user=ann", "-n", "own-rules"],
    ):
        done = run(*command)
        assert done.returncode == 0, done.stderr
    assert run("apply", "-f", "-", given=CRITICAL).returncode == 0

    refused = run("apply", "--as=ann", "-f", "-", given=POD)
    assert refused.returncode == 1
    assert 'PriorityClass own-critical is restricted: user "ann" needs the verb "use"' in refused.stderr

    assert run("apply", "-f", "-", given=MAY_USE).returncode == 0
    assert run("create", "clusterrolebinding", "own-urgent", "--clusterrole=own-urgent", "--user=ann").returncode == 0
    allowed = run("apply", "--as=ann", "-f", "-", given=POD)
    assert allowed.returncode == 0, allowed.stderr
    priority = run("get", "pod", "urgent", "-n", "own-rules", "-o", "jsonpath={.spec.priority}")
    assert priority.stdout == "1000"


def test_rules_in_cel_are_kept_and_warned_about(run: Kubectl) -> None:
    done = run("apply", "-f", "-", given=RULED)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("Warning:") == 1
    assert "does not evaluate them" in done.stderr
    rule = "{.spec.versions[0].schema.openAPIV3Schema.properties.spec.x-kubernetes-validations[0].rule}"
    kept = run("get", "crd", "trials.own.example.com", "-o", f"jsonpath={rule}")
    assert kept.stdout == "self.steps > 0"
    assert run("wait", "--for=condition=Established", "crd/trials.own.example.com", "--timeout=10s").returncode == 0
    trial = "{apiVersion: own.example.com/v1, kind: Trial, metadata: {name: t}, spec: {steps: 0}}"
    assert run("create", "-f", "-", given=trial).returncode == 0


def test_what_nobody_owns_is_collected(run: Kubectl) -> None:
    orphan = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: orphan
  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: never, uid: 6f9d1c7a-41f5-4f5c-9f0a-000000000001}]
"""
    assert run("create", "-f", "-", given=orphan).returncode == 0
    assert run("wait", "--for=delete", "configmap/orphan", "--timeout=30s").returncode == 0
