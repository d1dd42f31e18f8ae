"""Runs inside the environment of the `kubernetes` client: watch, the four patches and the dynamic client.

Usage: scenario.py KUBECONFIG. Exits with an assertion's message when the server does not behave.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic.exceptions import ConflictError, NotFoundError, ResourceNotFoundError

NAMESPACE = "python-client"
WATCH_SECONDS = 20


def check(condition: bool, what: str) -> None:
    if not condition:
        raise AssertionError(what)


def typed_client(api: client.CoreV1Api) -> None:
    api.create_namespace({"metadata": {"name": NAMESPACE}})
    created = api.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": "a"}, "data": {"x": "1"}})
    check(created.data == {"x": "1"}, "create answers the object")
    check(created.metadata.creation_timestamp.tzinfo is not None, "times have a zone")
    try:
        api.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": "a"}})
        raise AssertionError("a second create has to fail")
    except ApiException as error:
        check(error.status == 409 and error.reason == "Conflict", f"second create: {error.status} {error.reason}")
    listed = api.list_namespaced_config_map(NAMESPACE, field_selector="metadata.name=a")
    check([item.metadata.name for item in listed.items] == ["a"], "list by field")
    first = api.list_namespaced_config_map(NAMESPACE, limit=1)
    check(len(first.items) == 1, "list in pages")


def patches(api: client.CoreV1Api) -> None:
    strategic = api.patch_namespaced_config_map("a", NAMESPACE, {"data": {"y": "2"}})
    check(strategic.data == {"x": "1", "y": "2"}, "a patch merges")
    as_json = api.patch_namespaced_config_map("a", NAMESPACE, [{"op": "remove", "path": "/data/y"}])
    check(as_json.data == {"x": "1"}, "a JSON patch removes")
    merged = api.patch_namespaced_config_map("a", NAMESPACE, {"data": {"x": None, "z": "3"}})
    check(merged.data == {"z": "3"}, "null removes")


def watches(api: client.CoreV1Api) -> None:
    since = api.list_namespaced_config_map(NAMESPACE).metadata.resource_version

    def write() -> None:
        api.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": "seen"}})
        api.patch_namespaced_config_map("seen", NAMESPACE, {"data": {"n": "1"}})
        api.delete_namespaced_config_map("seen", NAMESPACE)

    writer = threading.Thread(target=write)
    writer.start()
    events = []
    stream = watch.Watch()
    for event in stream.stream(
        api.list_namespaced_config_map,
        NAMESPACE,
        resource_version=since,
        field_selector="metadata.name=seen",
        timeout_seconds=WATCH_SECONDS,
    ):
        events.append(event["type"])
        if event["type"] == "DELETED":
            stream.stop()
    writer.join()
    check(events == ["ADDED", "MODIFIED", "DELETED"], f"a watch sees {events}")


def dynamic_client(api_client: client.ApiClient) -> None:
    dyn = dynamic.DynamicClient(api_client)
    deployments = dyn.resources.get(api_version="apps/v1", kind="Deployment")
    labels = {"app": "web"}
    body: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        },
    }
    made = deployments.create(body=body, namespace=NAMESPACE)
    check(made.spec.strategy.type == "RollingUpdate", "defaults are filled in")
    applied = deployments.server_side_apply(
        body={"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "labels": labels}},
        name="web", namespace=NAMESPACE, field_manager="scenario",
    )  # fmt: skip
    check(applied.metadata.labels.app == "web", "apply adds a label")
    current = deployments.get(name="web", namespace=NAMESPACE).to_dict()
    deployments.patch(
        body={"spec": {"paused": True}}, name="web", namespace=NAMESPACE, content_type="application/merge-patch+json"
    )
    try:
        deployments.replace(body=current | {"spec": current["spec"] | {"paused": False}}, namespace=NAMESPACE)
        raise AssertionError("a stale replace has to fail")
    except ConflictError:
        pass
    scale = deployments.scale.get(name="web", namespace=NAMESPACE)
    check(scale.kind == "Scale" and scale.spec.replicas == 2, "scale is a subresource")
    deployments.delete(name="web", namespace=NAMESPACE)
    try:
        deployments.get(name="web", namespace=NAMESPACE)
        raise AssertionError("a deleted object is not there")
    except NotFoundError:
        pass
    try:
        dyn.resources.get(api_version="example.com/v1", kind="Nothing")
        raise AssertionError("an unknown kind is not found")
    except ResourceNotFoundError:
        pass


def main() -> None:
    api_client = config.new_client_from_config(sys.argv[1])
    api = client.CoreV1Api(api_client)
    typed_client(api)
    patches(api)
    watches(api)
    dynamic_client(api_client)
    api.delete_namespace(NAMESPACE)
    print("watch, patches and dynamic client work")


if __name__ == "__main__":
    main()
