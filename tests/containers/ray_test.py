"""Real Ray in real containers: a RayJob's program runs on a head and a worker, is suspended, and begins anew."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from containers.cluster import Namespace
from containers.environment_test import config_map

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
pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(not VENV, reason="ray is not installed (tools/setup/deps.sh frameworks)"),
]


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


def a_job(mode: str, **spec: Any) -> dict[str, Any]:
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


def test_a_job_is_suspended_resumed_and_succeeds(space: Namespace) -> None:
    space.apply(config_map("code", {"train.py": PROGRAM}), a_job("K8sJobMode"))
    reaches(space, "jobStatus", "RUNNING")
    space.until(lambda: "attempt 1 begins" in space.run("logs", "job/train").stdout, "its output", DEADLINE)
    first = status(space)["rayClusterName"]
    space.must("patch", "rayjob", "train", "--type=merge", "-p", '{"spec":{"suspend":true}}')
    reaches(space, "jobDeploymentStatus", "Suspended")
    assert not space.get("pods")["items"] and not space.get("rayclusters")["items"]

    space.must("patch", "rayjob", "train", "--type=merge", "-p", '{"spec":{"suspend":false}}')
    reaches(space, "jobDeploymentStatus", "Running", "Complete")
    assert status(space)["rayClusterName"] != first
    reaches(space, "jobDeploymentStatus", "Complete", "Failed")
    said = space.run("logs", "job/train").stdout
    assert status(space)["jobStatus"] == "SUCCEEDED", f"{status(space)}\n{said}"
    assert "attempt 2 begins" in said and "sum 14" in said and "nodes 2" in said, said
    assert status(space)["rayJobInfo"]["endTime"] >= status(space)["rayJobInfo"]["startTime"]
    space.until(lambda: not space.get("rayclusters")["items"], "the cluster to go")


def test_the_controller_hands_a_job_over_and_says_how_it_failed(space: Namespace) -> None:
    wrong = "import sys\nprint('it goes wrong')\nsys.exit(3)\n"
    job = a_job("HTTPMode")
    job["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["replicas"] = 0
    space.apply(config_map("code", {"train.py": wrong}), job)
    reaches(space, "jobDeploymentStatus", "Failed", "Complete")
    assert (status(space)["jobStatus"], status(space)["reason"]) == ("FAILED", "AppFailed")
    assert "exit code 3" in status(space)["message"]
    assert not space.get("jobs")["items"], "nobody else hands it over"
