"""RayJobs with the Ray of tools/setup/ray.sh, for tests with real containers."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from containers.cluster import Namespace

SET_UP = Path(__file__).resolve().parents[2] / "tools" / "setup" / "ray.sh"
PROGRAM = """
import os, time, ray
ray.init()
attempt = os.environ["GANGWAY_ATTEMPT"]
print("attempt", attempt, "begins", flush=True)

@ray.remote(num_cpus=1)
def square(n):
    return n * n

print("sum", sum(ray.get([square.remote(n) for n in range(4)])), flush=True)
print("nodes", sum(node["Alive"] for node in ray.nodes()), flush=True)
if attempt == "1":
    time.sleep(600)
"""
DEADLINE = 240.0


def installed() -> str:
    """The virtual environment with Ray; empty when there is none."""
    done = subprocess.run([str(SET_UP), "--if-present"], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


VENV = installed()
needs_ray = pytest.mark.skipif(not VENV, reason="ray is not installed (tools/setup/deps.sh frameworks)")


def a_template(container: str, cpu: str = "1") -> dict[str, Any]:
    """A pod that finds the virtual environment where it was made: its folder is hidden from pods."""
    mounts = [{"name": "ray", "mountPath": VENV, "readOnly": True}, {"name": "code", "mountPath": "/code"}]
    env = {"PATH": f"{VENV}/bin:/usr/bin:/bin", "RAY_USAGE_STATS_ENABLED": "0", "HOME": "/tmp"}
    return {
        "spec": {
            "terminationGracePeriodSeconds": 2,
            "containers": [{"name": container, "image": "host", "volumeMounts": mounts,
                            "env": [{"name": key, "value": value} for key, value in env.items()],
                            "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}],
            "volumes": [{"name": "ray", "hostPath": {"path": VENV}}, {"name": "code", "configMap": {"name": "code"}}],
        }
    }  # fmt: skip


def a_ray_job(mode: str, **spec: Any) -> dict[str, Any]:
    submitter = a_template("ray-job-submitter", "100m")
    submitter["spec"]["restartPolicy"] = "Never"
    cluster = {
        "rayVersion": Path(VENV).name.removeprefix("ray-"),
        "headGroupSpec": {"rayStartParams": {}, "template": a_template("ray-head")},
        "workerGroupSpecs": [
            {"groupName": "small", "replicas": 1, "rayStartParams": {}, "template": a_template("ray-worker")}
        ],
    }
    settings = {"entrypoint": "python /code/train.py", "submissionMode": mode, "shutdownAfterJobFinishes": True, **spec,
                "rayClusterSpec": cluster}  # fmt: skip
    if mode == "K8sJobMode":
        settings["submitterPodTemplate"] = submitter
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "train"}, "spec": settings}


def status(space: Namespace) -> dict[str, Any]:
    found: dict[str, Any] = space.get("rayjob", "train").get("status", {})
    return found


def reaches(space: Namespace, key: str, *values: str) -> None:
    try:
        space.until(lambda: status(space).get(key) in values, f"{key} to be {values}", DEADLINE)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{status(space)}\n{space.run('describe', 'pods').stdout[-6000:]}") from None
