"""What a manager must do on a real cluster. The checks are played in this order, on one cluster."""

from __future__ import annotations

from collections.abc import Callable

from ..harness.http import Client
from .cluster import DEPLOY, ManagedCluster, a_gang, a_pod

LINGERS = {"simulated_termination": "1h"}


def says_what_is_missing_until_nothing_is(cluster: ManagedCluster) -> None:
    cluster.creates({"kind": "ServiceAccount", "metadata": {"name": "gangway-manager", "namespace": "kube-system"}})
    manager = cluster.starts("first")
    cluster.waits("which rights are missing", lambda: "rights that are not granted" in manager.log())
    assert "patch pods/status" in manager.log(), manager.log()
    assert "get,update leases.coordination.k8s.io gangway-scheduler in kube-system" in manager.log(), manager.log()
    assert manager.asks("/healthz") == (200, "ok\n")
    status, text = manager.asks("/readyz")
    assert status == 503 and "rights that are not granted" in text, text
    cluster.applies((DEPLOY / "rbac.yaml").read_text().split("---\n", 1)[1])  # the account is there already
    kinds = "configurations.gangway.dev, podgroups.scheduling.x-k8s.io, requeuedpods.gangway.dev, usagerecords.gangway.dev"
    said = f"kinds that are not installed: allotments.gangway.dev, {kinds}; `gangway crds | kubectl apply -f -`"
    cluster.waits("which kinds are missing", lambda: said in manager.log())
    cluster.installs_kinds()
    cluster.waits("the first manager to lead", lambda: manager.says("leading"))
    assert 'gangway_leading 1' in manager.asks("/metrics")[1]
    token = {"Authorization": "Bearer " + cluster.account_kubeconfig().read_text().split("token: ")[1].split()[0]}
    stranger = Client(cluster.real.endpoint, anonymous=True)
    refused = stranger.request("GET", "/api/v1/secrets", headers=token)
    assert refused.status == 403, "RBAC is on, and gives no more than is listed"


def the_deployment_is_a_valid_one(cluster: ManagedCluster) -> None:
    path = "/apis/apps/v1/namespaces/kube-system/deployments?dryRun=All&fieldValidation=Strict"
    answer = cluster.client.request("POST", path, (DEPLOY / "manager.yaml").read_bytes(), {"Content-Type": "application/yaml"})
    assert answer.status == 201, answer.content


def a_pod_that_names_it_is_bound_and_runs(cluster: ManagedCluster) -> None:
    cluster.creates(a_pod("plain", 1))
    cluster.waits("the pod to run", lambda: cluster.running() == {"plain"})
    assert cluster.condition("plain", "PodScheduled")["status"] == "True"
    event = cluster.waits("its event", lambda: cluster.events("plain", "Scheduled"))[0]
    assert event["source"]["component"] == "gangway"


def pods_of_others_are_left_alone_and_counted(cluster: ManagedCluster) -> None:
    cluster.creates(
        a_pod("theirs-0", 4, scheduler="default-scheduler", node="n0"),
        a_pod("theirs-1", 2, scheduler="default-scheduler", node="n1"),
        a_pod("waits", 1, scheduler="default-scheduler"),
    )
    cluster.waits("theirs to run", lambda: cluster.running() == {"theirs-0", "theirs-1"})
    cluster.creates(a_pod("large", 4), a_pod("small", 2))
    cluster.waits("what fits beside them", lambda: "small" in cluster.running())
    said = cluster.waits("a verdict", lambda: cluster.condition("large", "PodScheduled"))
    assert (said["status"], said["reason"]) == ("False", "Unschedulable"), said
    assert "2 Insufficient nvidia.com/gpu" in said["message"]
    assert cluster.pod("small")["spec"]["nodeName"] == "n1"
    waits = cluster.pod("waits")
    assert not waits["spec"].get("nodeName") and not waits["status"].get("conditions"), waits


def a_gang_starts_whole_or_not_at_all(cluster: ManagedCluster) -> None:
    cluster.creates(*a_gang("first", 2, 3), *a_gang("second", 2, 2))
    cluster.waits("one gang", lambda: len(cluster.running()) == 2)
    runs = "first" if "first-0" in cluster.running() else "second"
    waits = "second" if runs == "first" else "first"
    said = cluster.waits("a verdict", lambda: cluster.condition(f"{waits}-0", "PodScheduled").get("message"))
    # What is said is renewed every ten seconds: it may still be what was so before its second pod came.
    assert "all 2 pods of the group must fit at once" in said or "has 1 of the 2 pods" in said, said
    assert cluster.running() == {f"{runs}-0", f"{runs}-1"}, cluster.running()
    cluster.waits("its ticket to end", lambda: cluster.allotment_of(runs).get("status", {}).get("phase") == "Bound")
    cluster.deletes(f"{runs}-0", f"{runs}-1")
    cluster.waits("the other gang", lambda: cluster.running() == {f"{waits}-0", f"{waits}-1"})


def the_higher_preempts_the_lower(cluster: ManagedCluster) -> None:
    cluster.creates(a_pod("low-0", 4, priority="medium", simulated_termination="2s"),
                    a_pod("low-1", 4, priority="medium", simulated_termination="2s"))  # fmt: skip
    cluster.waits("the low ones", lambda: cluster.running() == {"low-0", "low-1"})
    cluster.creates(a_pod("high", 4, priority="high"))

    def ending() -> str | None:
        return next((p["metadata"]["name"] for p in cluster.pods() if "deletionTimestamp" in p["metadata"]), None)

    victim = cluster.waits("a victim", ending)
    target = cluster.condition(victim, "DisruptionTarget")
    assert (target["status"], target["reason"]) == ("True", "PreemptionByScheduler"), target
    assert target["message"] == "gangway: preempting to accommodate a higher priority pod"
    assert cluster.pod("high")["status"]["nominatedNodeName"] == cluster.pod(victim)["spec"]["nodeName"]
    cluster.waits("the high one", lambda: "high" in cluster.running())
    event = cluster.waits("the event", lambda: cluster.events(victim, "Preempted"))[0]
    assert event["message"] == f"by default/high on node {cluster.pod('high')['spec']['nodeName']}"
    assert len(cluster.running()) == 2, "one of the two goes, not both"


def what_wants_to_come_back_does(cluster: ManagedCluster) -> None:
    cluster.creates(*a_gang("low", 2, 4, priority="medium", on_preempt="Requeue"))
    cluster.waits("the gang", lambda: cluster.running() == {"low-0", "low-1"})
    before = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in cluster.pods()}
    cluster.creates(a_pod("high", 1, priority="high"))
    cluster.waits("the high one", lambda: cluster.running() == {"high"})

    def are_back() -> bool:
        now = {pod["metadata"]["name"]: pod for pod in cluster.pods()}
        return all(name in now and now[name]["metadata"]["uid"] != uid
                   and now[name]["metadata"]["annotations"].get("gangway.dev/attempt") == "2"
                   for name, uid in before.items())  # fmt: skip

    cluster.waits("both to be made again", are_back)
    cluster.deletes("high")
    cluster.waits("the gang again", lambda: cluster.running() == {"low-0", "low-1"})


def a_claim_is_told_where_its_pod_will_be(cluster: ManagedCluster) -> None:
    pod = a_pod("reader", 1)
    pod["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    cluster.creates(
        {"kind": "StorageClass", "metadata": {"name": "made-elsewhere"}, "provisioner": "example.com/disks",
         "volumeBindingMode": "WaitForFirstConsumer"},
        {"kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
         "spec": {"storageClassName": "made-elsewhere", "accessModes": ["ReadWriteOnce"],
                  "resources": {"requests": {"storage": "1Gi"}}}},
        pod,
    )  # fmt: skip
    cluster.waits("the pod to run", lambda: cluster.running() == {"reader"})
    claim = cluster.client.must("GET", "/api/v1/namespaces/default/persistentvolumeclaims/data")
    selected = claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"]
    assert selected == cluster.pod("reader")["spec"]["nodeName"], selected


def explain_and_usage_answer(cluster: ManagedCluster) -> None:
    cluster.creates(a_pod("holder", 4), a_pod("other", 4))
    cluster.waits("a full cluster", lambda: cluster.running() == {"holder", "other"})
    cluster.creates(a_pod("waits", 4))
    cluster.waits("a verdict", lambda: cluster.condition("waits", "PodScheduled"))
    text = cluster.gangway("explain", "pod", "waits")
    assert "Insufficient nvidia.com/gpu" in text and "delete or wait for" in text, text
    assert "holder" in cluster.gangway("top", "--once")
    cluster.deletes("holder")
    cluster.waits("the next", lambda: "waits" in cluster.running())

    records = "/apis/gangway.dev/v1alpha1/namespaces/default/usagerecords"
    cluster.waits("an account of what is gone", lambda: any(
        record["spec"]["job"]["name"] == "holder" for record in cluster.client.must("GET", records)["items"]))  # fmt: skip

    def is_counted() -> bool:
        lines = cluster.gangway_json("usage", "--by", "job", "--since", "1h")["items"]
        return any("other" in line["who"] and line["usedGpuSeconds"] > 0 for line in lines)

    cluster.waits("what runs to be counted", is_counted)


def another_takes_over_and_finishes_what_was_begun(cluster: ManagedCluster) -> None:
    first = cluster.managers[0]
    second = cluster.starts("second")
    cluster.waits("the second manager to follow", lambda: second.says("following"))
    cluster.creates(*[a_pod(f"low-{i}", 4, priority="medium", **LINGERS) for i in range(2)])
    cluster.waits("the low ones", lambda: len(cluster.running()) == 2)
    cluster.creates(*a_gang("high", 2, 4, priority="high"))
    cluster.waits("victims that are ending", lambda: not cluster.running())
    ticket = cluster.waits("an open ticket",
                           lambda: (t := cluster.allotment_of("high")).get("status", {}).get("phase") == "Releasing" and t)  # fmt: skip
    verdict = ticket["status"]["verdict"]
    assert (verdict["code"], sorted(verdict["blockers"])) == ("WaitsForVictims", ["default/low-0", "default/low-1"]), verdict
    before = cluster.lease()
    first.kill()
    cluster.waits("the second manager to lead", lambda: second.says("leading"))
    after = cluster.lease()
    assert after["leaseTransitions"] == before["leaseTransitions"] + 1
    assert after["holderIdentity"] != before["holderIdentity"]
    epoch = after["leaseTransitions"] + 1
    cluster.waits("the ticket to be taken on", lambda: cluster.allotment_of("high")["status"].get("epoch") == epoch)
    cluster.deletes("low-0", "low-1")
    cluster.waits("the gang", lambda: cluster.running() == {"high-0", "high-1"})
    done = cluster.waits("the end of the ticket",
                         lambda: (t := cluster.allotment_of("high"))["status"]["phase"] == "Bound" and t)  # fmt: skip
    assert done["metadata"]["uid"] == ticket["metadata"]["uid"] and done["spec"] == ticket["spec"], "the same grant"
    assert "verdict" not in done["status"], "nothing waits any more"


def sigterm_hands_over(cluster: ManagedCluster) -> None:
    second = cluster.managers[1]
    third = cluster.starts("third")
    cluster.waits("the third manager to follow", lambda: third.says("following"))
    assert second.terminate() == 0, second.log()
    cluster.waits("the third manager to lead", lambda: third.says("leading"))
    assert 'after="nobody, or one who handed over"' in third.log(), third.log()
    cluster.creates(a_pod("next", 1))
    cluster.waits("a pod of the new term", lambda: "next" in cluster.running())


def goes_on_when_the_api_was_away(cluster: ManagedCluster) -> None:
    third = cluster.managers[2]
    cluster.loses_api()
    cluster.waits("word of it", lambda: "the Lease cannot be read or written" in third.log())
    cluster.regains_api()
    cluster.creates(a_pod("after", 1))
    cluster.waits("a pod to run", lambda: "after" in cluster.running())
    assert third.terminate() == 0


CHECKS: list[Callable[[ManagedCluster], None]] = [
    says_what_is_missing_until_nothing_is,
    the_deployment_is_a_valid_one,
    a_pod_that_names_it_is_bound_and_runs,
    pods_of_others_are_left_alone_and_counted,
    a_gang_starts_whole_or_not_at_all,
    the_higher_preempts_the_lower,
    what_wants_to_come_back_does,
    a_claim_is_told_where_its_pod_will_be,
    explain_and_usage_answer,
    another_takes_over_and_finishes_what_was_begun,
    sigterm_hands_over,
    goes_on_when_the_api_was_away,
]
