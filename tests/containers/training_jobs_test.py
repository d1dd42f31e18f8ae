"""PyTorchJobs that train for real: torch with gloo, in pods that find each other by what the job tells them."""

from __future__ import annotations

from typing import Any

import pytest

from containers.cluster import Namespace
from containers.environment_test import config_map
from containers.frameworks_test import ALL_REDUCE, has_torch

pytestmark = [pytest.mark.soak, pytest.mark.skipif(not has_torch(), reason="python3-torch is not installed")]

ATTEMPT = """
import os
print("attempt", os.environ["GANGWAY_ATTEMPT"], "checkpoints", os.environ.get("CHECKPOINT_DIR"))
"""


def replica(count: int, command: list[str], restart: str) -> dict[str, Any]:
    container = {
        "name": "pytorch",
        "image": "host",
        "command": command,
        "env": [{"name": "GLOO_SOCKET_IFNAME", "value": "eth0"}, {"name": "OMP_NUM_THREADS", "value": "1"}],
        "volumeMounts": [{"name": "code", "mountPath": "/code"}],
    }
    spec = {"containers": [container], "volumes": [{"name": "code", "configMap": {"name": "code"}}]}
    return {"replicas": count, "restartPolicy": restart, "template": {"spec": spec}}


def job(name: str, replicas: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob",
            "metadata": {"name": name, "annotations": {"gangway.dev/checkpoint-dir": "/checkpoints"}},
            "spec": {"pytorchReplicaSpecs": replicas, **spec}}  # fmt: skip


def state(space: Namespace, name: str) -> str:
    return space.run("get", "pytorchjob", name, "-o", "jsonpath={.status.conditions[-1:].type}").stdout


def test_master_and_worker_train_together(space: Namespace) -> None:
    space.apply(config_map("code", {"train.py": ALL_REDUCE + ATTEMPT}))
    train = ["/usr/bin/python3", "/code/train.py"]
    space.apply(job("mnist", {"Master": replica(1, train, "Never"), "Worker": replica(2, train, "Never")}))
    space.until(lambda: state(space, "mnist") in ("Succeeded", "Failed"), "the end of the job", deadline=240)
    assert state(space, "mnist") == "Succeeded", space.story()
    for rank, pod in enumerate(("mnist-master-0", "mnist-worker-0", "mnist-worker-1")):
        space.wait_phase(pod, "Succeeded", deadline=60)
        output = space.logs(pod)
        assert f"rank {rank} of 3 sum 6" in output, output
        assert "attempt 1 checkpoints /checkpoints" in output, output


def test_workers_of_an_elastic_job_meet_through_torchrun(space: Namespace) -> None:
    space.apply(config_map("code", {"train.py": ALL_REDUCE}))
    # Debian's torch 1.13 cannot read its own defaults of these two.
    shell = "export PET_REDIRECTS=1 PET_TEE=1; exec /usr/bin/python3 -m torch.distributed.run /code/train.py"
    workers = replica(2, ["sh", "-c", shell], "OnFailure")
    space.apply(job("elastic", {"Worker": workers}, nprocPerNode="1",
                    elasticPolicy={"minReplicas": 2, "maxReplicas": 3, "rdzvBackend": "c10d",
                                   "rdzvConf": [{"key": "last_call_timeout", "value": "3"}]}))  # fmt: skip
    space.until(lambda: state(space, "elastic") in ("Succeeded", "Failed"), "the end of the job", deadline=300)
    assert state(space, "elastic") == "Succeeded", space.story()
    assert "of 2 sum 3" in space.logs("elastic-worker-0") + space.logs("elastic-worker-1")
