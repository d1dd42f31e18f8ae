"""Volumes of every source that is run here, and the refusal of others."""

from __future__ import annotations

import time
from pathlib import Path

from containers.cluster import Namespace, pod
from containers.environment_test import config_map, secret


def mount(path: str, **more: object) -> dict:
    return {"volumeMounts": [{"name": "v", "mountPath": path, **more}]}


def test_containers_share_an_empty_directory(space: Namespace) -> None:
    reader = {"name": "reader", "image": "host", **mount("/in"),
              "command": ["sh", "-c", "while [ ! -e /in/x ]; do sleep 0.1; done; cat /in/x"]}  # fmt: skip
    manifest = pod("pair", "echo hello > /out/x.tmp; mv /out/x.tmp /out/x", container=mount("/out"),
                   volumes=[{"name": "v", "emptyDir": {}}], restartPolicy="Never")  # fmt: skip
    manifest["spec"]["containers"].append(reader)
    space.apply(manifest)
    space.wait_phase("pair", "Succeeded")
    assert space.logs("pair", "-c", "reader") == "hello\n"


def test_an_empty_directory_in_memory_has_its_size(space: Namespace) -> None:
    volumes = [{"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": "8Mi"}}]
    output = space.run_to_end("memory", "stat -f -c %T /m; df -k --output=size /m | tail -1", container=mount("/m"),
                              volumes=volumes)  # fmt: skip
    assert output.split() == ["tmpfs", "8192"]


def test_a_config_map_volume_follows_its_config_map(space: Namespace) -> None:
    space.apply(config_map("conf", {"a": "one", "b": "two"}))
    items = [{"key": "a", "path": "sub/a.txt", "mode": 0o440}]
    volumes = [{"name": "v", "configMap": {"name": "conf", "items": items}}]
    space.create_pod("reader", "sleep 600", container=mount("/conf"), volumes=volumes)
    space.wait_phase("reader", "Running")
    look = ["exec", "reader", "--", "sh", "-c", "cat /conf/sub/a.txt; echo; stat -L -c %a /conf/sub/a.txt; ls /conf"]
    assert space.must(*look).split() == ["one", "440", "sub"]
    space.apply(config_map("conf", {"a": "three", "b": "two"}))
    begun = time.monotonic()
    space.until(lambda: "three" in space.run("exec", "reader", "--", "cat", "/conf/sub/a.txt").stdout, "the change")
    assert time.monotonic() - begun < 10


def test_a_secret_volume_stays_in_memory(space: Namespace) -> None:
    space.apply(secret("keys", {"id": "abc"}))
    volumes = [{"name": "v", "secret": {"secretName": "keys", "defaultMode": 0o400}}]
    script = "cat /keys/id; echo; stat -L -c %a /keys/id; stat -f -c %T /keys"
    output = space.run_to_end("holder", script, container=mount("/keys"), volumes=volumes)
    assert output.split() == ["abc", "400", "tmpfs"]


def test_projected_and_downward_volumes(space: Namespace) -> None:
    space.apply(config_map("conf", {"a": "one"}))
    sources = [
        {"configMap": {"name": "conf"}},
        {"downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
        {"serviceAccountToken": {"path": "token", "audience": "vault", "expirationSeconds": 600}},
    ]
    script = "cat /p/a; echo; cat /p/labels; echo; cut -d. -f2 /p/token"
    output = space.run_to_end("mixed", script, container=mount("/p"), labels={"team": "blue"},
                              volumes=[{"name": "v", "projected": {"sources": sources}}])  # fmt: skip
    first, labels, claims = output.split()
    assert (first, labels) == ("one", 'team="blue"')
    import base64
    import json

    decoded = json.loads(base64.urlsafe_b64decode(claims + "=="))
    assert decoded["aud"] == ["vault"]
    assert decoded["kubernetes.io"]["pod"]["name"] == "mixed"


def test_host_paths_and_their_types(space: Namespace, tmp_path: Path) -> None:
    made = tmp_path / "made"
    volumes = [{"name": "v", "hostPath": {"path": str(made), "type": "DirectoryOrCreate"}}]
    space.run_to_end("writer", "echo kept > /h/f", container=mount("/h"), volumes=volumes)
    assert (made / "f").read_text() == "kept\n"
    wrong = [{"name": "v", "hostPath": {"path": str(made), "type": "File"}}]
    space.create_pod("wrong", "true", container=mount("/h"), volumes=wrong)
    space.wait_event("wrong", "FailedMount", str(made))


def test_sub_paths_stay_inside_of_their_volume(space: Namespace, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "out").symlink_to("/etc")
    volumes = [{"name": "v", "hostPath": {"path": str(tmp_path / "in")}}]
    output = space.run_to_end("sub", "echo x > /s/f; ls /s", container=mount("/s", subPath="deep/er"), volumes=volumes)
    assert output == "f\n"
    space.create_pod("escape", "ls /s", container=mount("/s", subPath="out"), volumes=volumes, restartPolicy="Never")
    space.until(lambda: space.events("escape") and space.phase("escape") != "Succeeded", "the refusal")
    assert "passwd" not in space.run("logs", "escape").stdout


def test_a_claim_keeps_its_data_from_pod_to_pod(space: Namespace) -> None:
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "work"},
             "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}  # fmt: skip
    space.apply(claim)
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "work"}}]
    space.run_to_end("first", "echo epoch-1 > /w/checkpoint", container=mount("/w"), volumes=volumes)
    space.must("delete", "pod", "first")
    assert space.get("pvc", "work")["status"]["phase"] == "Bound"
    assert space.run_to_end("second", "cat /w/checkpoint", container=mount("/w"), volumes=volumes) == "epoch-1\n"


def test_a_source_that_is_not_run_here_is_refused_by_name(space: Namespace) -> None:
    volumes = [{"name": "v", "nfs": {"server": "files", "path": "/"}}]
    space.create_pod("remote", "true", container=mount("/n"), volumes=volumes)
    assert "nfs" in space.wait_event("remote", "FailedMount")
