"""PodGroups, Allotments and Configurations, as a user of kubectl sees them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kube.harness.gangway import GangwayCluster

Kubectl = Callable[..., subprocess.CompletedProcess[str]]

NAMESPACE = "gangs"
GROUP = """
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata:
  name: train
  annotations: {gangway.dev/max-members: "8", gangway.dev/on-preempt: Shrink, gangway.dev/min-runtime: 5m}
spec: {minMember: 4, minResources: {nvidia.com/gpu: 32}}
"""
ALLOTMENT = """
apiVersion: gangway.dev/v1alpha1
kind: Allotment
metadata: {name: train}
spec:
  gang: {kind: PodGroup, name: train}
  places: [{pod: train-0, node: n0}, {pod: train-1, node: n0}]
  victims: [{namespace: other, pod: small, how: Requeue}]
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: alone, annotations: {gangway.dev/on-preempt: Shrink}}
spec: {containers: [{name: c, image: i}]}
"""
# What the installer of the coscheduling plugin brings along.
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: podgroups.scheduling.x-k8s.io
  annotations: {api-approved.kubernetes.io: "https://github.com/kubernetes-sigs/scheduler-plugins/pull/50"}
spec:
  group: scheduling.x-k8s.io
  scope: Namespaced
  names: {kind: PodGroup, listKind: PodGroupList, plural: podgroups, singular: podgroup, shortNames: [pg, pgs]}
  versions:
  - {name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
"""


@pytest.fixture
def run(gangway: GangwayCluster, kubectl: Path) -> Kubectl:
    def call(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        command = [str(kubectl), "--kubeconfig", str(gangway.kubeconfig), "-n", NAMESPACE, *arguments]
        return subprocess.run(command, input=given, capture_output=True, text=True, timeout=60)

    call("create", "namespace", NAMESPACE)
    return call


def cells(done: subprocess.CompletedProcess[str]) -> list[list[str]]:
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines()]


def test_tables_and_explanations(run: Kubectl) -> None:
    assert run("apply", "-f", "-", given=GROUP).returncode == 0
    status = '{"status":{"phase":"Running","running":4,"succeeded":0,"failed":0}}'
    assert run("patch", "pg", "train", "--subresource=status", "--type=merge", "-p", status).returncode == 0
    head, row = cells(run("get", "pgs"))
    assert head == ["NAME", "PHASE", "MINMEMBER", "RUNNING", "SUCCEEDED", "FAILED", "AGE"]
    assert row[:-1] == ["train", "Running", "4", "4", "0", "0"]

    assert run("apply", "-f", "-", given=ALLOTMENT).returncode == 0
    head, row = cells(run("get", "al"))
    assert head == ["NAME", "GANG", "PHASE", "PLACES", "VICTIMS", "LOST", "AGE"]
    # Its gang has no pods: the scheduler takes it back as soon as it has seen it.
    assert [cell for cell in row[:-1] if cell != "Withdrawn"] == ["train", "train", "2", "1"]

    assert {row[0] for row in cells(run("get", "gangway", "-o", "name"))} >= {
        "podgroup.scheduling.x-k8s.io/train", "allotment.gangway.dev/train",
    }  # fmt: skip
    for field in ("pg", "podgroup.spec", "allotment.spec", "allotment.status.verdict", "configuration.spec.scheduling"):
        explained = run("explain", field, "--recursive=false")
        assert explained.returncode == 0, explained.stderr
        assert "<no description>" not in explained.stdout, explained.stdout


@pytest.mark.parametrize(
    ("annotation", "complaint"),
    [
        ("on-preempt=shrink", 'Unsupported value: "shrink": supported values: "Fail", "Requeue", "Shrink"'),
        ("min-runtime=10", 'Invalid value: "10": must be a duration such as 90s, 10m or 1h30m'),
        ("max-preemptions=-1", 'Invalid value: "-1": must be a whole number, at least 0'),
        ("last-checkpoint=today", 'Invalid value: "today": must be a time as RFC 3339 writes it'),
        ("expected-duration=0s", 'Invalid value: "0s": must be more than 0'),
        ("max-members=3", 'Invalid value: "3": must be at least spec.minMember (4)'),
    ],
)
def test_annotations_say_what_is_wrong(run: Kubectl, annotation: str, complaint: str) -> None:
    assert run("apply", "-f", "-", given=GROUP).returncode == 0
    refused = run("annotate", "--overwrite", "podgroup/train", f"gangway.dev/{annotation}")
    assert refused.returncode == 1
    key = annotation.partition("=")[0]
    assert f"metadata.annotations[gangway.dev/{key}]: {complaint}" in refused.stderr


def test_only_elastic_groups_shrink(run: Kubectl) -> None:
    alone = run("apply", "-f", "-", given=POD)
    assert alone.returncode == 1
    assert "metadata.annotations[gangway.dev/on-preempt]" in alone.stderr
    assert "Shrink needs an elastic group" in alone.stderr
    rigid = run("apply", "-f", "-", given=GROUP.replace('"8"', '"4"'))
    assert rigid.returncode == 1
    assert "Shrink needs an elastic group" in rigid.stderr


def test_a_configuration_has_defaults_and_warns(run: Kubectl) -> None:
    idle = "{apiVersion: gangway.dev/v1alpha1, kind: Configuration, metadata: {name: idle}}"
    made = run("create", "-f", "-", given=idle)
    assert made.returncode == 0, made.stderr
    assert 'only the Configuration named "default" counts' in made.stderr
    head, row = cells(run("get", "configuration", "idle"))
    assert head == ["NAME", "MINRUNTIME", "MAXPREEMPTIONS", "AGE"]
    assert row[:-1] == ["idle", "10m", "5"]
    limit = '{"spec":{"scheduling":{"minRuntimeLimit":"ten"}}}'
    refused = run("patch", "configuration", "idle", "--type=merge", "-p", limit)
    assert 'spec.scheduling.minRuntimeLimit: Invalid value: "ten": must be a duration' in refused.stderr
    assert run("delete", "configuration", "idle").returncode == 0


def test_a_definition_of_a_built_in_kind_changes_nothing(run: Kubectl) -> None:
    assert run("apply", "-f", "-", given=GROUP).returncode == 0
    defined = run("apply", "-f", "-", given=DEFINITION)
    assert defined.returncode == 0, defined.stderr
    assert "built into this server" in defined.stderr
    assert run("delete", "crd", "podgroups.scheduling.x-k8s.io", "--timeout=20s").returncode == 0
    assert run("get", "podgroup", "train").returncode == 0


def test_grants_are_the_schedulers(run: Kubectl) -> None:
    def may(user: str, *what: str) -> bool:
        return run("auth", "can-i", *what, f"--as={user}").stdout.strip() == "yes"

    for role, user in (("edit", "gangs-ed"), ("view", "gangs-vic")):
        assert run("create", "rolebinding", user, f"--clusterrole={role}", f"--user={user}").returncode == 0
    assert may("gangs-ed", "create", "podgroups")
    assert not may("gangs-ed", "update", "podgroups", "--subresource=status")
    assert not may("gangs-ed", "create", "allotments")
    assert may("gangs-vic", "list", "allotments")
    assert not may("gangs-vic", "create", "podgroups")
    for what in ("create allotments", "update allotments --subresource=status", "update podgroups --subresource=status",
                 "create pods --subresource=binding", "delete pods", "get configurations", "list priorityclasses",
                 "list storageclasses", "watch poddisruptionbudgets"):  # fmt: skip
        assert may("system:kube-scheduler", *what.split()), what
