"""Where pods go and why not, and what nodes do to them, as a user of kubectl sees it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kube.harness.gangway import GangwayCluster
from kube.harness.processes import wait_for

Kubectl = Callable[..., str]

# The third node is not one of the server's own: nobody renews its lease.
CLUSTER = """\
apiVersion: gangway.dev/v1alpha1
kind: Cluster
runtime: simulated
nodes:
- {name: node-0, capacity: {cpu: "4", memory: 8Gi, nvidia.com/gpu: "2"}, labels: {zone: a}}
- {name: node-1, capacity: {cpu: "4", memory: 8Gi}, taints: [{key: dedicated, value: cpu, effect: NoSchedule}]}
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[GangwayCluster]:
    with GangwayCluster(CLUSTER) as started:
        yield started


@pytest.fixture
def run(cluster: GangwayCluster, kubectl: Path) -> Kubectl:
    def call(*arguments: str, given: str = "") -> str:
        command = [str(kubectl), "--kubeconfig", str(cluster.kubeconfig), *arguments]
        done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


def pod(name: str, requests: dict[str, str], **spec: object) -> str:
    container = {"name": "c", "image": "i", "resources": {"requests": requests, "limits": requests}}
    return json.dumps({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 0, **spec},
    })  # fmt: skip


def test_a_pod_is_put_on_a_node_that_has_what_it_needs(run: Kubectl) -> None:
    run("create", "-f", "-", given=pod("gpu", {"nvidia.com/gpu": "1"}))
    run("wait", "--for=condition=PodScheduled", "pod/gpu", "--timeout=20s")
    assert run("get", "pod", "gpu", "-o", "jsonpath={.spec.nodeName}") == "node-0"
    wait_for("the event", lambda: "Successfully assigned default/gpu to node-0" in run("events", "--for", "pod/gpu"))
    run("delete", "pod", "gpu", "--force", "--grace-period=0")


def test_a_pod_that_fits_nowhere_says_why_until_it_does(run: Kubectl) -> None:
    run("create", "-f", "-", given=pod("large", {"cpu": "5"}))
    run("create", "-f", "-", given=pod("picky", {"cpu": "1"}, nodeSelector={"zone": "b"}))
    reason = "{.status.conditions[?(@.type=='PodScheduled')].message}"
    tainted = "1 node(s) had untolerated taint {dedicated: cpu}"
    for name, other in (("large", "1 Insufficient cpu"), ("picky", "1 node(s) didn't match Pod's node affinity/selector")):
        both = ", ".join(sorted([tainted, other]))
        message = f"0/2 nodes are available: {both}."
        wait_for(message, lambda n=name, m=message: run("get", "pod", n, "-o", f"jsonpath={reason}").startswith(m))
        assert "FailedScheduling" in run("describe", "pod", name)
    run("label", "node", "node-0", "zone=b", "--overwrite")
    run("wait", "--for=condition=PodScheduled", "pod/picky", "--timeout=20s")
    run("delete", "pod", "large", "picky", "--force", "--grace-period=0")


def test_a_cordoned_node_takes_no_pods_and_a_drained_one_loses_them(run: Kubectl) -> None:
    run("create", "-f", "-", given=pod("first", {"cpu": "1"}))
    run("wait", "--for=condition=PodScheduled", "pod/first", "--timeout=20s")
    run("cordon", "node-0")
    run("create", "-f", "-", given=pod("second", {"cpu": "1"}))
    unschedulable = "1 node(s) were unschedulable"
    wait_for("the reason", lambda: unschedulable in run("get", "pod", "second", "-o", "jsonpath={.status.conditions}"))
    run("uncordon", "node-0")
    run("wait", "--for=condition=PodScheduled", "pod/second", "--timeout=20s")
    run("delete", "pod", "first", "second", "--force", "--grace-period=0")


def test_a_taint_takes_off_who_does_not_tolerate_it(run: Kubectl) -> None:
    run("create", "-f", "-", given=pod("goes", {"cpu": "1"}))
    tolerations = [{"key": "broken", "operator": "Exists"}]
    run("create", "-f", "-", given=pod("stays", {"cpu": "1"}, tolerations=tolerations))
    run("wait", "--for=condition=PodScheduled", "pod/goes", "pod/stays", "--timeout=20s")
    run("taint", "node", "node-0", "broken:NoExecute")

    def is_going() -> bool:
        shown = run("get", "pod", "goes", "--ignore-not-found", "-o", "json")
        return shown == "" or "deletionTimestamp" in shown

    wait_for("a deletion", is_going)
    assert run("get", "pod", "stays", "-o", "jsonpath={.metadata.deletionTimestamp}") == ""
    assert "TaintManagerEviction" in run("events", "--for", "pod/goes")
    run("taint", "node", "node-0", "broken:NoExecute-")
    run("delete", "pod", "stays", "--force", "--grace-period=0")


def test_a_node_that_falls_silent_is_tainted(run: Kubectl) -> None:
    run("create", "-f", "-", given="{apiVersion: v1, kind: Node, metadata: {name: silent}}")
    ready = '{"status":{"conditions":[{"type":"Ready","status":"True"}]}}'
    run("patch", "node", "silent", "--subresource=status", "--type=merge", "-p", ready)
    taints = ("get", "node", "silent", "-o", "jsonpath={.spec.taints[*].key}")
    wait_for("no taint of new nodes", lambda: run(*taints) == "")
    unreachable = "node.kubernetes.io/unreachable"
    wait_for("taints", lambda: run(*taints) == f"{unreachable} {unreachable}", seconds=60)
    said = run("get", "node", "silent", "-o", "jsonpath={.status.conditions[?(@.type=='Ready')]}")
    assert json.loads(said)["status"] == "Unknown"
    assert json.loads(said)["message"] == "Kubelet stopped posting node status."
    run("delete", "node", "silent")


CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""


def test_a_claim_gets_a_volume_where_its_first_pod_is(run: Kubectl, cluster: GangwayCluster) -> None:
    run("create", "-f", "-", given=CLAIM)
    assert run("get", "pvc", "data", "-o", "jsonpath={.spec.storageClassName}") == "local"
    wait_for("the event", lambda: "WaitForFirstConsumer" in run("events", "--for", "pvc/data"))
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    run("create", "-f", "-", given=pod("user", {"cpu": "1"}, volumes=volumes))
    run("wait", "--for=jsonpath={.status.phase}=Bound", "pvc/data", "--timeout=20s")
    volume = json.loads(run("get", "pv", run("get", "pvc", "data", "-o", "jsonpath={.spec.volumeName}"), "-o", "json"))
    assert volume["status"]["phase"] == "Bound"
    assert volume["spec"]["hostPath"]["path"].startswith(str(cluster.folder / "data" / "volumes" / "default-data-"))
    terms = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert terms[0]["matchExpressions"][0]["values"] == ["node-0"]
    run("delete", "pod", "user", "--force", "--grace-period=0")
    run("delete", "pvc", "data")
    run("wait", "--for=delete", f"pv/{volume['metadata']['name']}", "--timeout=20s")


def test_the_pods_of_a_node_that_is_deleted_go_too(run: Kubectl) -> None:
    run("create", "-f", "-", given="{apiVersion: v1, kind: Node, metadata: {name: brief}}")
    run("create", "-f", "-", given=pod("orphan", {"cpu": "1"}, nodeName="brief"))
    run("delete", "node", "brief")
    run("wait", "--for=delete", "pod/orphan", "--timeout=60s")
