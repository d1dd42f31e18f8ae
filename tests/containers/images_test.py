"""Images that are pulled: from a layout on disk and from a registry that asks who is there."""

from __future__ import annotations

import base64
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from containers.cluster import ContainerCluster, Namespace
from containers.images import CAN_BE_MADE, busybox_layout

PULLING = """\
apiVersion: gangway.dev/v1alpha1
kind: Cluster
runtime: oci
imagePolicy: pull
nodes:
- name: puller
  capacity: {cpu: "4", memory: 8Gi}
"""
LOGIN = ("ann", "pass:word")


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One image with an entry point, a variable, a working directory and a user."""
    if not CAN_BE_MADE:
        pytest.skip("busybox-static or umoci is missing")
    return busybox_layout(
        tmp_path_factory.mktemp("layout"), ("sh", "echo", "cat", "id", "pwd", "ls", "sleep"), "work",
        config=("--config.entrypoint", "/bin/sh", "--config.cmd", "-c",
                "--config.cmd", "echo from the image $FLAVOUR; pwd; id -u", "--config.env", "FLAVOUR=plain",
                "--config.workingdir", "/work", "--config.user", "77"),
    )  # fmt: skip


@pytest.fixture(scope="module")
def pulling() -> Iterator[ContainerCluster]:
    with ContainerCluster(PULLING) as cluster:
        yield cluster


@pytest.fixture
def pull_space(pulling: ContainerCluster, request: pytest.FixtureRequest) -> Iterator[Namespace]:
    with Namespace(pulling, request.node.name.replace("_", "-")[-50:].strip("-")) as namespace:
        yield namespace


class Registry(http.server.BaseHTTPRequestHandler):
    """Just enough of a registry: one image from a layout, for those who log in."""

    layout: Path

    def do_GET(self) -> None:  # noqa: N802
        wanted = "Basic " + base64.b64encode(":".join(LOGIN).encode()).decode()
        if self.headers.get("Authorization") != wanted:
            self.answer(401, b"{}", {"WWW-Authenticate": 'Basic realm="test"'})
            return
        parts = self.path.strip("/").split("/")
        if parts == ["v2"]:
            self.answer(200, b"{}")
        elif parts[:2] == ["v2", "small"] and parts[2] in ("manifests", "blobs"):
            digest = parts[3]
            if not digest.startswith("sha256:"):
                digest = json.loads((self.layout / "index.json").read_text())["manifests"][0]["digest"]
            blob = self.layout / "blobs" / "sha256" / digest.removeprefix("sha256:")
            kind = "application/vnd.oci.image.manifest.v1+json" if parts[2] == "manifests" else "application/octet-stream"
            self.answer(200, blob.read_bytes(), {"Content-Type": kind, "Docker-Content-Digest": digest})
        else:
            self.answer(404, b"{}")

    do_HEAD = do_GET

    def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def registry(layout: Path) -> Iterator[str]:
    handler = type("Handler", (Registry,), {"layout": layout})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_an_image_from_a_layout_runs_as_it_says(pull_space: Namespace, layout: Path) -> None:
    output = pull_space.run_to_end("plain", container={"image": f"oci:{layout}:1"}, script="")
    assert output == "from the image plain\n/work\n77\n"
    pull_space.wait_event("plain", "Pulled", "Successfully pulled image")
    assert "sha256:" in pull_space.container("plain")["imageID"]
    again = pull_space.run_to_end("again", container={"image": f"oci:{layout}:1", "args": ["-c", "ls /"]}, script="")
    assert "work" in again.split() and "root" not in again.split()
    pull_space.wait_event("again", "Pulled", "already present on machine")


def test_a_registry_wants_a_pull_secret(pull_space: Namespace, registry: str) -> None:
    image = {"image": f"{registry}/small:1", "imagePullPolicy": "Always"}
    pull_space.create_pod("stranger", container=image)
    status = pull_space.wait_container(
        "stranger", lambda s: s["state"].get("waiting", {}).get("reason") in ("ErrImagePull", "ImagePullBackOff"), "refused"
    )
    assert status["state"]["waiting"]["message"]
    pull_space.must("create", "secret", "docker-registry", "login", f"--docker-server={registry}",
                    f"--docker-username={LOGIN[0]}", f"--docker-password={LOGIN[1]}")  # fmt: skip
    output = pull_space.run_to_end("friend", container=image, script="", imagePullSecrets=[{"name": "login"}])
    assert output.startswith("from the image plain\n")


def test_an_image_that_is_nowhere(pull_space: Namespace) -> None:
    pull_space.create_pod("lost", container={"image": "oci:/no/such/layout:1"})
    pull_space.wait_event("lost", "Failed", "Failed to pull image")
    pull_space.wait_container("lost", lambda s: s["state"].get("waiting", {}).get("reason") == "ImagePullBackOff", "back-off")
