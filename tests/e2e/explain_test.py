"""gangway explain, plan and top: what they say is then done with kubectl, and it comes true."""

from __future__ import annotations

import copy
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.gpu_cluster import CLASSES, a_group, creates, gpu_cluster
from e2e.user import User, name
from kube.harness.gangway import GangwayCluster, binary

PATIENT = """\
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: patient}
value: 1050000
preemptionPolicy: Never
"""

NODES = ("gpu-0", "gpu-1", "gpu-2")


class Asker:
    """Somebody with kubectl and gangway, in the default namespace."""

    def __init__(self, user: User, cluster: GangwayCluster) -> None:
        self.user = user
        self._kubeconfig = cluster.kubeconfig

    def runs(self, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        command = [str(binary()), *arguments, "--kubeconfig", str(self._kubeconfig)]
        return subprocess.run(command, input=given, capture_output=True, text=True, timeout=90)

    def asks(self, *arguments: str, given: str = "") -> Any:
        done = self.runs(*arguments, "-o", "json", given=given)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def creates(self, *things: dict) -> None:
        creates(self.user, *things)

    def why(self, kind: str, thing: str) -> dict:
        """The explanation of the one gang of it that waits, once the scheduler has looked at it."""
        answers: list[dict] = []

        def is_refused() -> bool:
            answers[:] = self.asks("explain", kind, thing)["waits"]
            return bool(answers) and answers[0]["code"] != "HasRoom"

        self.user.waits(f"{thing} to be refused", is_refused)
        (wait,) = answers
        return wait

    def bound(self) -> dict[str, str]:
        pods = [pod for pod in self.user.sees("pods") if pod["spec"].get("nodeName")]
        return {name(pod): pod["spec"]["nodeName"] for pod in pods if "deletionTimestamp" not in pod["metadata"]}

    def waits_until_bound(self, *pods: str) -> dict[str, str]:
        self.user.waits(f"{pods} bound", lambda: set(pods) <= set(self.bound()))
        return self.bound()


@pytest.fixture(scope="module")
def cluster(kubectl: Path) -> Iterator[GangwayCluster]:
    with gpu_cluster(kubectl, CLASSES + PATIENT) as started:
        yield started


@pytest.fixture
def asker(cluster: GangwayCluster, kubectl: Path) -> Iterator[Asker]:
    user = User(kubectl, cluster, "default")
    yield Asker(user, cluster)
    user.does("uncordon", *NODES)
    user.does("label", "node", "--all", "zone-")
    user.tries("taint", "node", "--all", "dedicated-")
    user.does("delete", "deployments,jobs,podgroups", "--all")
    user.does("delete", "pods", "--all", "--force", "--grace-period=0")
    user.waits("an empty cluster", lambda: not user.sees("pods") and not user.sees("allotments"))


def a_pod(pod: str, gpus: int, *, group: str = "", priority: str = "", port: int = 0, **spec: Any) -> dict:
    amounts = {"nvidia.com/gpu": str(gpus), "cpu": "1"}
    container: dict = {"name": "c", "image": "i", "resources": {"limits": dict(amounts), "requests": dict(amounts)}}
    if port:
        container["ports"] = [{"containerPort": port, "hostPort": port}]
    made: dict = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": pod, "labels": {"app": pod}},
                  "spec": {"containers": [container], "terminationGracePeriodSeconds": 0, **spec}}  # fmt: skip
    if group:
        made["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] = group
    if priority:
        made["spec"]["priorityClassName"] = priority
    return made


# ── what each kind of step means to somebody with kubectl ──


def replaced(asker: Asker, pods: list[dict], change: Callable[[dict], None]) -> list[dict]:
    """Pods hardly change while they are: they are made again."""
    again = copy.deepcopy(pods)
    for pod in again:
        change(pod)
    asker.user.does("delete", "pod", *(name(pod) for pod in pods), "--force", "--grace-period=0")
    asker.creates(*again)
    return again


def set_request(pod: dict, resource: str, amount: str) -> None:
    for amounts in pod["spec"]["containers"][0]["resources"].values():
        amounts[resource] = amount


def carries_out(asker: Asker, pods: list[dict], change: dict) -> None:
    """Does what the change says; `pods` are those that wait."""
    user = asker.user
    group = pods[0]["metadata"]["labels"].get("scheduling.x-k8s.io/pod-group", "")
    for step in change["steps"]:
        match step["kind"]:
            case "end-others":
                for other in step["others"]:
                    user.does("delete", "pod", *other["pods"], "-n", other["namespace"], "--force", "--grace-period=0")
            case "uncordon":
                user.does("uncordon", *step["nodes"])
            case "tolerate":
                toleration = {key: step[key] for key in ("key", "value", "effect")}
                pods = replaced(asker, pods, lambda p, t=toleration: p["spec"].update(tolerations=[t]))  # type: ignore[misc]
            case "remove-node-selector":
                pods = replaced(asker, pods, lambda p, s=step: p["spec"]["nodeSelector"].pop(s["key"]))  # type: ignore[misc]
            case "remove-pod-anti-affinity":
                pods = replaced(asker, pods, lambda p: p["spec"]["affinity"].pop("podAntiAffinity"))
            case "remove-host-ports":
                pods = replaced(asker, pods, lambda p: p["spec"]["containers"][0].pop("ports"))
            case "say-duration":
                note = f"gangway.dev/expected-duration={step['seconds']}s"
                user.does("annotate", "pod", *(name(pod) for pod in pods), note)
            case "lower-request":
                pods = replaced(asker, pods, lambda p, s=step: set_request(p, s["resource"], s["to"]))  # type: ignore[misc]
            case "raise-priority":
                chosen = step["priorityClassName"]
                pods = replaced(asker, pods, lambda p, c=chosen: p["spec"].update(priorityClassName=c))  # type: ignore[misc]
            case "lower-min-member":
                user.does("patch", "podgroup", group, "--type=merge", "-p", json.dumps({"spec": {"minMember": step["to"]}}))
            case "create-members":
                for i in range(step["count"]):
                    member = copy.deepcopy(pods[0])
                    member["metadata"]["name"] = f"{group}-late-{i}"
                    asker.creates(member)
            case kind:
                raise AssertionError(f"nobody here knows how to {kind}")


def comes_true(asker: Asker, pods: list[dict], kind: str, thing: str, text: str, at: int = 0) -> None:
    """The change is the one that was meant, and when it is made, the pods run."""
    wait = asker.why(kind, thing)
    changes = wait["changes"]
    assert changes[at]["text"] == text, [change["text"] for change in changes]
    carries_out(asker, pods, changes[at])
    expected = {place["pod"]: place["node"] for place in changes[at]["places"] if "-new-" not in place["pod"]}
    asker.user.waits("what was promised", lambda: set(expected) <= set(asker.bound()))
    gone = {victim.split("/")[1] for victim in changes[at]["preempts"]}
    assert not gone & set(asker.bound()), "who was to be preempted"


# ── situations ──


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (0, "delete or wait for default/b (3 GPUs)"),
        (1, "lower requests nvidia.com/gpu from 4 to 1"),
        (2, "use priority class medium (1000000)"),
    ],
)
def test_a_full_cluster(asker: Asker, at: int, text: str) -> None:
    asker.creates(*[a_pod(other, 4, priority="critical") for other in ("x", "y")])
    asker.waits_until_bound("x", "y")
    asker.creates(a_pod("b", 3))
    asker.waits_until_bound("b")
    pod = a_pod("a", 4)
    asker.creates(pod)
    comes_true(asker, [pod], "pod", "a", text, at)


def test_holders_are_named_with_the_reason_why_they_stay(asker: Asker) -> None:
    asker.creates(*[a_pod(other, 4, priority="critical") for other in ("x", "y", "z")])
    asker.waits_until_bound("x", "y", "z")
    asker.creates(a_pod("a", 4, priority="medium"))
    wait = asker.why("pod", "a")
    assert [holder["notPreemptedBecause"] for holder in wait["holders"]] == ["its priority 1100000 is not below 1000000"]
    assert wait["lacks"] == "4 nvidia.com/gpu"
    assert wait["position"] == 1 and wait["inLine"] == 1
    text = asker.runs("explain", "pod/a").stdout
    assert "It needs 4 nvidia.com/gpu, 1 cpu on one node." in text
    assert "The smallest change that lets it run:\n    delete or wait for default/" in text


def test_a_cordoned_node(asker: Asker) -> None:
    asker.user.does("cordon", *NODES)
    pod = a_pod("a", 4)
    asker.creates(pod)
    comes_true(asker, [pod], "pod", "a", "uncordon node gpu-0")


def test_a_node_selector(asker: Asker) -> None:
    asker.user.does("label", "node", "gpu-1", "zone=a")
    pod = a_pod("a", 1, nodeSelector={"zone": "b"})
    asker.creates(pod)
    comes_true(asker, [pod], "pod", "a", "remove nodeSelector zone=b")


def test_a_taint(asker: Asker) -> None:
    for node in NODES:
        asker.user.does("taint", "node", node, "dedicated=infra:NoSchedule")
    pod = a_pod("a", 1)
    asker.creates(pod)
    comes_true(asker, [pod], "pod", "a", "tolerate taint dedicated=infra:NoSchedule")


def test_a_taint_behind_a_cordon(asker: Asker) -> None:
    asker.user.does("cordon", *NODES)
    asker.user.does("taint", "node", "gpu-2", "dedicated=infra:NoSchedule")
    asker.creates(*[a_pod(other, 3, tolerations=[{"operator": "Exists"}]) for other in ("x", "y", "z")])
    bound = asker.waits_until_bound("x", "y", "z")
    (there,) = [pod for pod, node in bound.items() if node == "gpu-2"]
    asker.user.does("delete", "pod", there, "--force", "--grace-period=0")
    pod = a_pod("a", 4)
    asker.creates(pod)
    comes_true(asker, [pod], "pod", "a", "uncordon node gpu-2, and tolerate taint dedicated=infra:NoSchedule")


def test_a_request_that_no_node_could_meet(asker: Asker) -> None:
    pod = a_pod("a", 16)
    asker.creates(pod)
    comes_true(asker, [pod], "pod", "a", "lower requests nvidia.com/gpu from 16 to 4")


def test_ports_of_the_host(asker: Asker) -> None:
    asker.creates(*[a_pod(other, 0, port=8080) for other in ("x", "y", "z")])
    asker.waits_until_bound("x", "y", "z")
    pod = a_pod("a", 0, port=8080)
    asker.creates(pod)
    comes_true(asker, [pod], "pod", "a", "remove the host ports")


def test_anti_affinity(asker: Asker) -> None:
    term = {"labelSelector": {"matchLabels": {"role": "one-a-node"}}, "topologyKey": "kubernetes.io/hostname"}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    pods = [a_pod(one, 1, affinity=copy.deepcopy(affinity)) for one in ("x", "y", "z", "a")]
    for pod in pods[:3]:
        pod["metadata"]["labels"]["role"] = "one-a-node"
    asker.creates(*pods[:3])
    asker.waits_until_bound("x", "y", "z")
    asker.creates(pods[3])
    comes_true(asker, [pods[3]], "pod", "a", "remove the required pod anti-affinity")


def test_members_that_are_missing(asker: Asker) -> None:
    pods = [a_pod(f"g-{i}", 4, group="g") for i in range(2)]
    asker.creates(a_group("g", 3), *pods)
    comes_true(asker, pods, "podgroup", "g", "create 1 more member: the gang has 2 of 3 pods")


def test_a_gang_that_is_too_large(asker: Asker) -> None:
    pods = [a_pod(f"g-{i}", 4, group="g") for i in range(4)]
    asker.creates(a_group("g", 4), *pods)
    comes_true(asker, pods, "podgroup", "g", "lower minMember of the PodGroup from 4 to 3", at=1)


def test_a_gang_in_the_way_of_a_gang(asker: Asker) -> None:
    asker.creates(a_group("first", 2), *[a_pod(f"first-{i}", 4, group="first") for i in range(2)])
    asker.waits_until_bound("first-0", "first-1")
    pods = [a_pod(f"second-{i}", 4, group="second") for i in range(3)]
    asker.creates(a_group("second", 3), *pods)
    comes_true(asker, pods, "pod", "second-0", "delete or wait for default/first (8 GPUs)")


def test_one_that_never_preempts(asker: Asker) -> None:
    asker.creates(*[a_pod(other, 4, priority="medium") for other in ("x", "y", "z")])
    asker.waits_until_bound("x", "y", "z")
    asker.creates(a_pod("a", 4, priority="patient"))
    wait = asker.why("pod", "a")
    assert all(holder["notPreemptedBecause"] == "default/a has preemptionPolicy: Never" for holder in wait["holders"])
    kinds = [step["kind"] for change in wait["changes"] for step in change["steps"]]
    assert kinds == ["end-others", "allow-preemption"]


def test_room_that_is_kept_for_another(asker: Asker) -> None:
    asker.creates(a_pod("x", 4, priority="critical"), a_pod("y", 4, priority="critical"))
    asker.waits_until_bound("x", "y")
    asker.creates(a_pod("b", 2, activeDeadlineSeconds=3600))
    asker.waits_until_bound("b")
    asker.creates(a_pod("large", 4))
    asker.why("pod", "large")
    # Both may have been made in one second, and then their names decide who waits longer.
    pod = a_pod("small", 1)
    asker.creates(pod)
    wait = asker.why("pod", "small")
    assert wait["roomKeptFor"] == "default/large"
    assert wait["ahead"] == ["default/large"]
    assert [step["kind"] for step in wait["changes"][0]["steps"]] == ["say-duration"]
    assert "startsAtTheLatest" in asker.why("pod", "large")
    comes_true(asker, [pod], "pod", "small", wait["changes"][0]["text"])


def test_what_is_not_about_placement_is_said_as_such(asker: Asker) -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "later"},
           "spec": {"suspend": True, "template": {"spec": {"restartPolicy": "Never", "containers": [
               {"name": "c", "image": "i"}]}}}}  # fmt: skip
    gated = a_pod("gated", 1, schedulingGates=[{"name": "example.com/quota"}])
    asker.creates(job, gated)
    said = asker.asks("explain", "job", "later")
    assert said["waits"] == [] and "it is suspended (spec.suspend: true)" in said["notes"][0]
    said = asker.asks("explain", "pod", "gated")
    assert said["waits"] == [] and said["notes"][0].endswith("before they are removed: example.com/quota")


def test_what_runs_is_told_with_its_place_and_who_could_take_it(asker: Asker) -> None:
    asker.creates(a_pod("b", 2, priority="medium"))
    node = asker.waits_until_bound("b")["b"]
    (run,) = asker.asks("explain", "pod", "b")["runs"]
    assert [(place["pod"], place["node"]) for place in run["places"]] == [("b", node)]
    assert [one["name"] for one in run["preemptedByClasses"]] == ["critical"]


def test_errors_say_what_there_is(asker: Asker) -> None:
    asker.creates(a_pod("b", 1))
    done = asker.runs("explain", "pod", "c")
    assert done.returncode != 0 and "pod default/c does not exist; in namespace default there are: b" in done.stderr
    done = asker.runs("plan", "-f", "-", given=json.dumps(a_pod("b", 1)))
    assert done.returncode != 0 and "exists already" in done.stderr
    done = asker.runs("plan", "-f", "-", given=json.dumps(a_pod("c", 1, priority="nonesuch")))
    assert done.returncode != 0 and "nonesuch" in done.stderr
    assert [name(pod) for pod in asker.user.sees("pods")] == ["b"], "a plan creates nothing"


def test_missing_rights_are_named(asker: Asker, tmp_path: Path) -> None:
    asker.user.tries("create", "serviceaccount", "nobody")
    token = asker.user.does("create", "token", "nobody").strip()
    config = json.loads(asker.user.does("config", "view", "--raw", "-o", "json"))
    config["users"] = [{"name": config["contexts"][0]["context"]["user"], "user": {"token": token}}]
    own = tmp_path / "kubeconfig"
    own.write_text(json.dumps(config))
    done = subprocess.run([binary(), "top", "--kubeconfig", own], capture_output=True, text=True, timeout=90)
    assert done.returncode != 0
    assert "you may not list allotments.gangway.dev, " in done.stderr and " pods, " in done.stderr
    assert "ClusterRole" in done.stderr


# ── plan: what it says is what then happens ──


def planned(asker: Asker, *things: dict) -> tuple[dict[str, str], set[str]]:
    plan = asker.asks("plan", "-f", "-", given="\n---\n".join(json.dumps(thing) for thing in things))
    assert plan["waits"] == []
    places = {place["pod"]: place["node"] for one in plan["placed"] for place in one["places"]}
    return places, {pod for one in plan["placed"] for victim in one["preempts"] for pod in victim["pods"]}


def happens(asker: Asker, before: set[str], *things: dict) -> tuple[dict[str, str], set[str]]:
    asker.creates(*things)
    wanted = {name(thing) for thing in things if thing["kind"] == "Pod"}
    bound = asker.waits_until_bound(*wanted)
    return {pod: node for pod, node in bound.items() if pod in wanted}, before - set(bound)


def test_a_plan_without_victims_comes_true(asker: Asker) -> None:
    asker.creates(a_pod("b", 3))
    asker.waits_until_bound("b")
    things = [a_group("g", 3), *[a_pod(f"g-{i}", 2, group="g") for i in range(3)], a_pod("single", 1)]
    assert planned(asker, *things) == happens(asker, {"b"}, *things)


def test_a_plan_with_victims_comes_true(asker: Asker) -> None:
    asker.creates(a_pod("x", 4, priority="medium"), a_pod("y", 4), a_group("e", 1),
                  *[a_pod(f"e-{i}", 1, group="e", priority="medium") for i in range(4)])  # fmt: skip
    before = set(asker.waits_until_bound("x", "y", "e-0", "e-1", "e-2", "e-3"))
    things = [a_pod("urgent", 4, priority="critical")]
    places, victims = planned(asker, *things)
    assert victims == {"y"}
    assert (places, victims) == happens(asker, before, *things)
    things = [a_pod("small", 2, priority="critical")]
    before = set(asker.bound())
    places, victims = planned(asker, *things)
    assert len(victims) == 2 and all(victim.startswith("e-") for victim in victims)
    assert (places, victims) == happens(asker, before, *things)


def test_the_pods_of_a_job_and_a_deployment_go_where_the_plan_says(asker: Asker) -> None:
    container = a_pod("any", 3)["spec"]["containers"][0]
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train"},
           "spec": {"parallelism": 2, "completions": 2, "template": {
               "spec": {"restartPolicy": "Never", "containers": [container]}}}}  # fmt: skip
    small = a_pod("any", 1)["spec"]["containers"][0]
    web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
           "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": {
               "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [small]}}}}  # fmt: skip
    for workload, count in ((job, 2), (web, 2)):
        places, victims = planned(asker, workload)
        assert len(places) == count and not victims
        before = asker.bound()
        asker.creates(workload)
        asker.user.waits("its pods", lambda b=before, c=count: len(asker.bound()) == len(b) + c)  # type: ignore[misc]
        after = [node for pod, node in asker.bound().items() if pod not in before]
        assert sorted(after) == sorted(places.values())


def test_a_plan_of_what_would_wait_says_why(asker: Asker) -> None:
    plan = asker.asks("plan", "-f", "-", given=json.dumps(a_pod("a", 8)))
    assert plan["placed"] == []
    assert plan["waits"][0]["changes"][0]["text"] == "lower requests nvidia.com/gpu from 8 to 4"
    assert asker.user.sees("pods") == []


# ── top ──


def test_top_shows_nodes_holders_and_those_who_wait(asker: Asker) -> None:
    asker.creates(a_group("g", 2), *[a_pod(f"g-{i}", 4, group="g") for i in range(2)])
    bound = asker.waits_until_bound("g-0", "g-1")
    asker.creates(a_pod("late", 4))
    asker.waits_until_bound("late")
    asker.creates(a_pod("a", 4))
    asker.why("pod", "a")
    top = asker.asks("top")
    held = {node["name"]: [(one["name"], one["gpus"]) for one in node["heldBy"]] for node in top["nodes"]}
    assert held == {node: [("g", 4)] if node in bound.values() else [("late", 4)] for node in NODES}
    assert [one["name"] for one in top["waiting"]] == ["a"]
    text = asker.runs("top").stdout
    assert "3 nodes   12 of 12 GPUs in use   1 waiting for 4 GPUs" in text
    assert "[AAAA]" in text and "A default/g (4)" in text


def test_completion_knows_the_commands(asker: Asker) -> None:
    script = subprocess.run([binary(), "completion", "bash"], capture_output=True, text=True, check=True).stdout
    for command in ("explain", "plan", "top", "podgroup", "--filename", "--once"):
        assert command in script
