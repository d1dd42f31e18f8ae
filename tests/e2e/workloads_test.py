"""Deployments, ReplicaSets and StatefulSets as a user of kubectl meets them.

The pods ask for a node that does not exist, so that nothing runs them: the tests are the kubelet, and say when a pod is
ready.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.user import READY, User, name
from kube.harness.gangway import GangwayCluster

NAMESPACE = "workloads"
TEMPLATE = """
    metadata: {labels: {app: NAME}}
    spec:
      nodeSelector: {kubernetes.io/hostname: nowhere}
      containers: [{name: main, image: "example.com/app:1"}]
"""
DEPLOYMENT = f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: NAME}}
spec:
  replicas: 3
  selector: {{matchLabels: {{app: NAME}}}}
  template:{TEMPLATE}"""
STATEFUL_SET = f"""
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: NAME}}
spec:
  serviceName: NAME
  replicas: 3
  selector: {{matchLabels: {{app: NAME}}}}
  template:{TEMPLATE}
  volumeClaimTemplates:
  - metadata: {{name: data}}
    spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}
"""


def images(things: list[dict[str, Any]]) -> set[str]:
    return {thing["spec"]["containers"][0]["image"] for thing in things}


@pytest.fixture(scope="module")
def user(gangway: GangwayCluster, kubectl: Path) -> Iterator[User]:
    somebody = User(kubectl, gangway, NAMESPACE)
    somebody.does("create", "namespace", NAMESPACE)
    yield somebody
    somebody.does("delete", "namespace", NAMESPACE)


def test_a_deployment_from_its_first_to_its_last_day(user: User) -> None:
    app = "deployment-web"
    user.does("apply", "-f", "-", given=DEPLOYMENT.replace("NAME", app))
    user.waits("three pods", lambda: len(user.pods(app)) == 3)
    (first,) = user.sees("rs", "-l", f"app={app}")
    template_hash = first["metadata"]["labels"]["pod-template-hash"]
    assert name(first) == f"{app}-{template_hash}"
    assert all(name(pod).startswith(f"{name(first)}-") for pod in user.pods(app))
    assert user.does("get", "deployment", app, "--no-headers").split()[1] == "0/3"
    assert user.tries("rollout", "status", f"deployment/{app}", "--timeout=1s").returncode == 1
    user.makes_ready(app)
    assert "successfully rolled out" in user.does("rollout", "status", f"deployment/{app}")
    user.does("wait", "--for=condition=Available", f"deployment/{app}", "--timeout=10s")

    user.does("scale", "deployment", app, "--replicas=4")
    user.waits("four pods", lambda: len(user.pods(app)) == 4)
    user.does("set", "image", f"deployment/{app}", "main=example.com/app:2")
    user.waits("a second set", lambda: len(user.sees("rs", "-l", f"app={app}")) == 2)
    user.makes_ready(app)
    user.waits("the old pods are gone", lambda: images(user.pods(app)) == {"example.com/app:2"})
    assert len(user.pods(app)) == 4
    described = user.does("describe", "deployment", app)
    assert f"Scaled up replica set {name(first)} from 0 to 3" in described
    assert "NewReplicaSetAvailable" in described

    assert revisions(user, app) == ["1", "2"]
    user.does("rollout", "undo", f"deployment/{app}")
    user.makes_ready(app)
    user.waits("the first image again", lambda: images(user.pods(app)) == {"example.com/app:1"})
    assert revisions(user, app) == ["2", "3"]

    user.does("rollout", "pause", f"deployment/{app}")
    user.does("set", "image", f"deployment/{app}", "main=example.com/app:3")
    user.does("scale", "deployment", app, "--replicas=2")
    user.waits("two pods", lambda: len(user.pods(app)) == 2)
    assert len(user.sees("rs", "-l", f"app={app}")) == 2
    user.does("rollout", "resume", f"deployment/{app}")
    user.makes_ready(app)
    user.waits("the third image", lambda: images(user.pods(app)) == {"example.com/app:3"})
    before = {name(pod) for pod in user.pods(app)}
    user.does("rollout", "restart", f"deployment/{app}")
    user.makes_ready(app)
    user.waits("all pods are new", lambda: not before & {name(pod) for pod in user.pods(app)})

    user.does("delete", "deployment", app)
    user.waits("nothing is left", lambda: not user.sees("rs,pods", "-l", f"app={app}"))


def revisions(user: User, app: str) -> list[str]:
    lines = user.does("rollout", "history", user.kind_of(app)).splitlines()
    return [line.split()[0] for line in lines if line[:1].isdigit()]


def test_what_is_left_behind_is_adopted(user: User) -> None:
    app = "deployment-left"
    user.does("apply", "-f", "-", given=DEPLOYMENT.replace("NAME", app))
    user.waits("three pods", lambda: len(user.pods(app)) == 3)
    before = {name(thing) for thing in user.sees("rs,pods", "-l", f"app={app}")}
    user.does("delete", "deployment", app, "--cascade=orphan")
    (left,) = user.sees("rs", "-l", f"app={app}")
    assert "ownerReferences" not in left["metadata"]
    user.does("apply", "-f", "-", given=DEPLOYMENT.replace("NAME", app))
    user.waits("the set has an owner", lambda: "ownerReferences" in user.sees("rs", "-l", f"app={app}")[0]["metadata"])
    assert {name(thing) for thing in user.sees("rs,pods", "-l", f"app={app}")} == before
    user.does("delete", "deployment", app, "--cascade=foreground")
    assert not user.sees("rs,pods", "-l", f"app={app}")


def test_a_pod_that_is_deleted_comes_back_under_another_name(user: User) -> None:
    app = "deployment-again"
    user.does("apply", "-f", "-", given=DEPLOYMENT.replace("NAME", app))
    user.waits("three pods", lambda: len(user.pods(app)) == 3)
    gone = name(user.pods(app)[0])
    user.does("delete", "pod", gone)
    user.waits("three pods again", lambda: len(user.pods(app)) == 3)
    assert gone not in {name(pod) for pod in user.pods(app)}
    user.does("delete", "deployment", app)


def test_a_stateful_set_keeps_its_order(user: User) -> None:
    app = "statefulset-db"
    user.does("apply", "-f", "-", given=STATEFUL_SET.replace("NAME", app))
    user.waits("the first pod", lambda: [name(pod) for pod in user.pods(app)] == [f"{app}-0"])
    (pod,) = user.pods(app)
    assert pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"] == "0"
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == (f"{app}-0", app)
    assert pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"] == f"data-{app}-0"
    user.does("patch", "pod", f"{app}-0", "--subresource=status", "--type=merge", "-p", json.dumps(READY))
    user.waits("the second pod", lambda: [name(pod) for pod in user.pods(app)] == [f"{app}-0", f"{app}-1"])
    user.makes_ready(app)
    assert [name(pod) for pod in user.pods(app)] == [f"{app}-{i}" for i in range(3)]
    assert [name(claim) for claim in user.sees("pvc", "-l", f"app={app}")] == [f"data-{app}-{i}" for i in range(3)]

    user.does("set", "image", f"statefulset/{app}", "main=example.com/app:2")
    user.waits("the last is updated first", lambda: by_name(user, app).get(f"{app}-2") == "example.com/app:2")
    assert by_name(user, app)[f"{app}-0"] == "example.com/app:1"
    user.makes_ready(app)
    assert images(user.pods(app)) == {"example.com/app:2"}
    assert revisions(user, app) == ["1", "2"]
    user.does("rollout", "undo", f"statefulset/{app}")
    user.makes_ready(app)
    user.waits("the first image again", lambda: images(user.pods(app)) == {"example.com/app:1"})
    assert revisions(user, app) == ["2", "3"]
    controllers = user.does("get", "controllerrevisions", "--no-headers").splitlines()
    assert all(line.split()[1] == f"statefulset.apps/{app}" for line in controllers)

    user.does("scale", "statefulset", app, "--replicas=1")
    user.waits("one pod", lambda: [name(pod) for pod in user.pods(app)] == [f"{app}-0"])
    assert len(user.sees("pvc", "-l", f"app={app}")) == 3
    user.does("delete", "statefulset", app)
    user.waits("no pods and no history", lambda: not user.sees("pods,controllerrevisions", "-l", f"app={app}"))


def by_name(user: User, app: str) -> dict[str, str]:
    return {name(pod): pod["spec"]["containers"][0]["image"] for pod in user.pods(app)}


def test_nothing_was_refused_to_the_controllers(user: User, gangway: GangwayCluster) -> None:
    """A right that a role lacks shows as the last error of its controller."""
    if gangway.name != "gangway":
        pytest.skip("only Gangway reports on its controllers")
    report = json.loads(user.does("get", "--raw", "/gangway/status"))
    ours = [part for part in report["parts"] if part["name"].startswith(("deployment-", "replicaset-", "statefulset-"))]
    assert len(ours) == 3
    assert not [part for part in ours if "is forbidden: User" in part["detail"]]
