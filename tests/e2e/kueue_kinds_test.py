"""The kinds of Kueue as a user of kubectl sees them: manifests in both versions, columns, explanations, refusals.

The manifests are in kueue/VERSION; each is written in one version and read in the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.kueue_refusals import CHANGES, MANIFESTS
from e2e.user import User
from kube.harness.gangway import GangwayCluster

GROUP = "kueue.x-k8s.io"
VERSIONS = ("v1beta1", "v1beta2")
NAMESPACE = "kueue-kinds"
KINDS = ["workloads", "localqueues", "clusterqueues", "cohorts", "resourceflavors", "workloadpriorityclasses",
         "admissionchecks", "topologies"]  # fmt: skip
FOLDER = Path(__file__).parent / "kueue"
FILES = sorted(FOLDER.glob("v1beta*/*.yaml"))
# What the other version makes of a manifest, where that is not the same: fields that it has, and those that it has not.
CHECKS = {"admissionChecks": [{"name": "capacity"}, {"name": "budget"}]}
CONVERTED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "v1beta1/cluster-queue-cohort": ({"cohortName": "research"}, ["cohort"]),
    "v1beta1/cluster-queue-fungible": (
        {"cohortName": "research",
         "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "MayStopSearch"}},
        ["cohort"],
    ),
    "v1beta1/cluster-queue-checks": ({"admissionChecksStrategy": CHECKS}, ["admissionChecks"]),
    "v1beta1/cluster-queue-preemption": ({"cohortName": "research"}, ["cohort"]),
    "v1beta1/workload-class": (
        {"priorityClassRef": {"group": GROUP, "kind": "WorkloadPriorityClass", "name": "a-dev"}},
        ["priorityClassName", "priorityClassSource"],
    ),
    "v1beta1/workload-pod-class": (
        {"priorityClassRef": {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "pods"}},
        ["priorityClassName", "priorityClassSource"],
    ),
    "v1beta2/cluster-queue-member": ({"cohort": "research"}, ["cohortName"]),
    "v1beta2/cluster-queue-preference": ({"cohort": "research"}, ["cohortName"]),
    "v1beta2/workload-slices": (
        {"priorityClassName": "b-prod", "priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass",
         "podSets": [{"topologyRequest": {"required": "cloud.provider.com/topology-block",
                                          "podSetGroupName": "together"}}]},
        ["priorityClassRef"],
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def user(gangway: GangwayCluster, kubectl: Path) -> Iterator[User]:
    someone = User(kubectl, gangway, NAMESPACE)
    someone.does("create", "namespace", NAMESPACE)
    yield someone
    for workload in someone.sees(f"workloads.{GROUP}"):
        someone.does("patch", "workload", workload["metadata"]["name"], "--type=merge", "-p",
                     '{"metadata":{"finalizers":null}}')  # fmt: skip
    for kind in KINDS:
        someone.does("delete", f"{kind}.{GROUP}", "--all", "--wait=true")
    someone.does("delete", "namespace", NAMESPACE)


def stem(file: Path) -> str:
    return f"{file.parent.name}/{file.stem}"


def other_version(version: str) -> str:
    return VERSIONS[1 - VERSIONS.index(version)]


def reads(user: User, manifest: dict[str, Any], version: str) -> dict[str, Any]:
    kind, name = manifest["kind"].lower(), manifest["metadata"]["name"]
    read: dict[str, Any] = json.loads(user.does("get", f"{kind}.{version}.{GROUP}", name, "-o", "json"))
    assert read["apiVersion"] == f"{GROUP}/{version}"
    return read


def address(thing: dict[str, Any]) -> str:
    plural = {"Topology": "topologies", "WorkloadPriorityClass": "workloadpriorityclasses"}
    place = f"namespaces/{NAMESPACE}/" if "namespace" in thing["metadata"] else ""
    kind = plural.get(thing["kind"], thing["kind"].lower() + "s")
    return f"/apis/{thing['apiVersion']}/{place}{kind}/{thing['metadata']['name']}"


def content(thing: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in thing.items() if key not in ("apiVersion", "metadata", "status")}


def missing(want: Any, found: Any, path: str = "") -> list[str]:
    """Where `found` does not have what `want` has; what it has beside that does not matter."""
    if isinstance(want, dict) and isinstance(found, dict):
        return [gap for key, value in want.items() for gap in missing(value, found.get(key), f"{path}.{key}")]
    if isinstance(want, list) and isinstance(found, list) and len(want) == len(found):
        return [gap for i, value in enumerate(want) for gap in missing(value, found[i], f"{path}[{i}]")]
    return [] if want == found else [f"{path}: {want} is {found}"]


def test_there_are_enough_different_manifests() -> None:
    texts = {file.read_text() for file in FILES}
    assert len(texts) == len(FILES) >= 25
    manifests = [yaml.safe_load(text) for text in texts]
    for version in VERSIONS:
        written = {each["kind"] for each in manifests if each["apiVersion"] == f"{GROUP}/{version}"}
        assert len(written) == len(KINDS), version


@pytest.mark.parametrize("file", FILES, ids=stem)
def test_a_manifest_is_read_in_both_versions(user: User, file: Path) -> None:
    manifest = yaml.safe_load(file.read_text())
    version = file.parent.name
    kind, name = manifest["kind"].lower(), manifest["metadata"]["name"]
    assert user.does("apply", "-f", str(file)) == f"{kind}.{GROUP}/{name} created\n"
    own = reads(user, manifest, version)
    assert missing(content(manifest), content(own)) == []

    there = reads(user, manifest, other_version(version))
    has, has_not = CONVERTED.get(stem(file), ({}, []))
    assert missing(has, there.get("spec", {})) == []
    assert [field for field in has_not if field in there["spec"]] == []
    if not has:
        assert content(there) == content(own)

    # Nothing is lost when it is written back as it was read there, or applied again.
    user.does("replace", "--raw", address(there), "-f", "-", given=json.dumps(there))
    assert content(reads(user, manifest, version)) == content(own)
    user.does("apply", "-f", str(file))
    assert content(reads(user, manifest, version)) == content(own)


def test_what_is_not_given_is_filled_in(user: User) -> None:
    for version in VERSIONS:
        user.does("apply", "-f", "-", given=f"apiVersion: {GROUP}/{version}\nkind: ClusterQueue\n"
                                            f"metadata: {{name: bare-{version}}}\nspec: {{}}\n")  # fmt: skip
        for read_in in VERSIONS:
            manifest = {"kind": "ClusterQueue", "metadata": {"name": f"bare-{version}"}}
            assert reads(user, manifest, read_in)["spec"] == {
                "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
                "preemption": {"borrowWithinCohort": {"policy": "Never"}, "reclaimWithinCohort": "Never",
                               "withinClusterQueue": "Never"},
                "queueingStrategy": "BestEffortFIFO",
                "stopPolicy": "None",
            }  # fmt: skip


def test_one_manager_applies_in_both_versions(user: User) -> None:
    def applies(version: str, field: str, strategy: str, *more: str) -> Any:
        manifest = f"""
apiVersion: {GROUP}/{version}
kind: ClusterQueue
metadata: {{name: applied}}
spec: {{{field}queueingStrategy: {strategy}}}
"""
        return user.tries("apply", "--server-side", *more, "-f", "-", given=manifest)

    assert applies("v1beta1", "cohort: one, ", "StrictFIFO").returncode == 0
    refused = applies("v1beta2", "cohortName: two, ", "StrictFIFO", "--field-manager=somebody")
    assert 'Apply failed with 1 conflict: conflict with "kubectl": .spec.cohort\n' in refused.stderr
    assert applies("v1beta2", "", "StrictFIFO").returncode == 0
    spec = reads(user, {"kind": "ClusterQueue", "metadata": {"name": "applied"}}, "v1beta1")["spec"]
    assert "cohort" not in spec and spec["queueingStrategy"] == "StrictFIFO"


# ── columns, names, explanations ──


def header(user: User, *arguments: str) -> list[str]:
    """The columns, by what separates them."""
    return [part for part in user.does("get", *arguments).splitlines()[0].split("  ") if part.strip()]


# As the reference has them, after NAME.
COLUMNS = {
    "cq": ["COHORT", "PENDING WORKLOADS"],
    "cq -o wide": ["COHORT", "STRATEGY", "PENDING WORKLOADS", "ADMITTED WORKLOADS"],
    "lq": ["CLUSTERQUEUE", "PENDING WORKLOADS", "ADMITTED WORKLOADS"],
    "kwl": ["QUEUE", "RESERVED IN", "ADMITTED", "FINISHED", "AGE"],
    "rf": ["AGE"],
    "wpc": ["VALUE"],
    "co": ["AGE"],
    "ac": ["AGE"],
    "topo": ["AGE"],
}
NAMES = {
    "clusterqueues": ["cq"],
    "localqueues": ["queue", "queues", "lq"],
    "workloads": ["kwl", "kueueworkload", "kueueworkloads"],
    "resourceflavors": ["flavor", "flavors", "rf"],
    "workloadpriorityclasses": ["wpc"],
    "cohorts": ["co"],
    "admissionchecks": ["ac"],
    "topologies": ["topo"],
}


def test_columns(user: User) -> None:
    for file in FILES:
        user.does("apply", "-f", str(file))
    for asked, columns in COLUMNS.items():
        assert [part.strip() for part in header(user, *asked.split())] == ["NAME", *columns], asked


def test_cells_are_the_same_in_both_versions(user: User) -> None:
    user.does("apply", "-f", str(FOLDER / "v1beta1" / "cluster-queue-cohort.yaml"))
    status = {"status": {"pendingWorkloads": 3, "admittedWorkloads": 2, "reservingWorkloads": 2}}
    user.does("patch", "cq", "a-cohort", "--subresource=status", "--type=merge", "-p", json.dumps(status))
    for version in VERSIONS:
        row = user.does("get", f"clusterqueues.{version}.{GROUP}", "a-cohort", "-o", "wide", "--no-headers")
        assert row.split() == ["a-cohort", "research", "BestEffortFIFO", "3", "2"]


def condition(type_: str, status: str) -> dict[str, str]:
    when = "2026-01-02T03:04:05Z"
    return {"type": type_, "status": status, "reason": type_, "message": "", "lastTransitionTime": when}


def test_cells_of_a_workload(user: User) -> None:
    user.does("apply", "-f", str(FOLDER / "v1beta1" / "workload-class.yaml"))
    row = ["get", "kwl", "a-class", "--no-headers"]
    assert user.does(*row).split()[:2] == ["a-class", "a-queue"]
    assert len(user.does(*row).split()) == 3, "what does not hold yet is not shown"
    assignment = {"name": "main", "count": 5, "flavors": {"cpu": "spot"}, "resourceUsage": {"cpu": "2500m"}}
    status = {"status": {"conditions": [condition("QuotaReserved", "True"), condition("Admitted", "True")],
                         "admission": {"clusterQueue": "a-minimal", "podSetAssignments": [assignment]}}}  # fmt: skip
    user.does("patch", "kwl", "a-class", "--subresource=status", "--type=merge", "-p", json.dumps(status))
    assert user.does(*row).split()[:4] == ["a-class", "a-queue", "a-minimal", "True"]
    selected = ["-o", "name", "--field-selector", "status.admission.clusterQueue=a-minimal"]
    for version in VERSIONS:
        assert user.does("get", f"workloads.{version}.{GROUP}", *selected) == f"workload.{GROUP}/a-class\n"


def test_names(user: User) -> None:
    rows = [line.split() for line in user.does("api-resources", "--api-group", GROUP, "--no-headers").splitlines()]
    found = {row[0]: (row[1].split(",") if len(row) == 5 else [], row[-3], row[-2]) for row in rows}
    assert found == {
        plural: (short, f"{GROUP}/v1beta2", str(plural in ("localqueues", "workloads")).lower())
        for plural, short in NAMES.items()
    }


EXPLAINED = [
    ("v1beta2", "clusterqueue.spec.cohortName", "cohort"),
    ("v1beta1", "clusterqueue.spec.cohort", "cohort"),
    ("v1beta1", "clusterqueue.spec.admissionChecks", "checks"),
    ("v1beta2", "clusterqueue.spec.resourceGroups.flavors.resources.borrowingLimit", "cohort"),
    ("v1beta1", "clusterqueue.spec.flavorFungibility.whenCanBorrow", "ENUM:\n    Borrow\n    MayStopSearch\n"),
    ("v1beta2", "clusterqueue.spec.flavorFungibility.whenCanBorrow", "ENUM:\n    MayStopSearch\n    TryNextFlavor\n"),
    ("v1beta2", "workload.spec.podSets.template.spec.containers.image", "image"),
    ("v1beta1", "workload.spec.priorityClassSource", "priority"),
    ("v1beta2", "workload.spec.priorityClassRef", "priority"),
    ("v1beta1", "workload.status.admission.podSetAssignments.topologyAssignment.domains", "domains"),
    ("v1beta2", "workload.status.admission.podSetAssignments.topologyAssignment.slices", "domains"),
    ("v1beta1", "localqueue.status.flavorUsage", "Quota"),
    ("v1beta2", "localqueue.status.flavorsUsage", "Quota"),
    ("v1beta2", "resourceflavor.spec.nodeTaints.effect", "effect"),
    ("v1beta2", "workloadpriorityclass.value", "priority"),
    ("v1beta1", "cohort.spec.parentName", "cohort"),
    ("v1beta2", "admissioncheck.spec.controllerName", "changed"),
    ("v1beta2", "topology.spec.levels.nodeLabel", "Nodes"),
]


@pytest.mark.parametrize(("version", "field", "word"), EXPLAINED, ids=[f"{each[0]}-{each[1]}" for each in EXPLAINED])
def test_a_field_is_explained(user: User, version: str, field: str, word: str) -> None:
    told = user.does("explain", field, f"--api-version={GROUP}/{version}")
    assert f"VERSION:    {version}" in told
    assert word in told.split("FIELD:", 1)[1], told


def test_a_field_of_the_other_version_is_not_explained(user: User) -> None:
    for version, field in [("v1beta2", "clusterqueue.spec.cohort"), ("v1beta1", "clusterqueue.spec.cohortName"),
                           ("v1beta2", "workload.spec.priorityClassName")]:  # fmt: skip
        refused = user.tries("explain", field, f"--api-version={GROUP}/{version}")
        assert f'field "{field.rsplit(".", 1)[1]}" does not exist' in refused.stderr


# ── what is refused ──


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_wrong_manifest_is_refused(user: User, name: str) -> None:
    manifest, told = MANIFESTS[name]
    refused = user.tries("create", "-f", "-", given=manifest)
    assert refused.returncode == 1, refused.stdout
    assert refused.stderr.strip() == told.strip()


def test_what_quota_was_given_for_stays(user: User) -> None:
    user.does("apply", "-f", str(FOLDER / "v1beta1" / "workload-pod-class.yaml"))
    sets = [{"name": "launcher", "count": 1}, {"name": "worker", "count": 3}]
    status: dict[str, Any] = {
        "status": {"conditions": [condition("QuotaReserved", "True")],
                   "admission": {"clusterQueue": "a-minimal", "podSetAssignments": sets}}
    }  # fmt: skip
    patch = ["--type=merge", "-p"]
    user.does("patch", "kwl", "a-pod-class", "--subresource=status", *patch, json.dumps(status))
    stays = "Forbidden: cannot be changed while quota is reserved"
    for version, field, value in [("v1beta2", "queueName", "other"), ("v1beta1", "queueName", "other"),
                                  ("v1beta1", "priorityClassName", "other")]:  # fmt: skip
        refused = user.tries("patch", f"workloads.{version}.{GROUP}", "a-pod-class", *patch,
                             json.dumps({"spec": {field: value}}))  # fmt: skip
        assert refused.stderr.strip() == f'The Workload "a-pod-class" is invalid: spec.{field}: {stays}'
    user.does("patch", "kwl", "a-pod-class", *patch, '{"spec":{"priority":11}}')
    status["status"]["admission"] = {"clusterQueue": "other", "podSetAssignments": sets}
    refused = user.tries("patch", "kwl", "a-pod-class", "--subresource=status", *patch, json.dumps(status))
    assert refused.stderr.strip() == (
        'The Workload "a-pod-class" is invalid: status.admission: Forbidden: can be set and taken back, not changed'
    )


@pytest.mark.parametrize("name", CHANGES)
def test_a_wrong_change_is_refused(user: User, name: str) -> None:
    file, resource, patch, told = CHANGES[name]
    user.does("apply", "-f", str(FOLDER / f"{file}.yaml"))
    refused = user.tries("patch", *resource.split(), "--type=merge", "-p", patch)
    assert refused.returncode == 1, refused.stdout
    assert refused.stderr.strip() == told.strip()
