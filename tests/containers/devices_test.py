"""Rooms and GPUs: what a node hands out, and what it refuses."""

from __future__ import annotations

from containers.cluster import Namespace


def gpus(count: int) -> dict:
    return {"resources": {"limits": {"nvidia.com/gpu": str(count)}}}


def visible(space: Namespace, name: str) -> set[str]:
    text = space.must("exec", name, "--", "sh", "-c", 'echo "$NVIDIA_VISIBLE_DEVICES|$CUDA_VISIBLE_DEVICES"').strip()
    nvidia, cuda = text.split("|")
    assert nvidia == cuda
    return set(filter(None, nvidia.split(",")))


def test_no_two_pods_have_the_same_gpu(space: Namespace) -> None:
    selector = {"nodeSelector": {"zone": "a"}}
    for name in ("one", "two"):
        space.create_pod(name, "sleep 600", container=gpus(1), **selector)
    for name in ("one", "two"):
        space.wait_phase(name, "Running")
    assert visible(space, "one") | visible(space, "two") == {"0", "1"}
    space.create_pod("three", "sleep 600", container=gpus(1), **selector)
    message = space.wait_event("three", "FailedScheduling")
    assert "Insufficient nvidia.com/gpu" in message
    freed = visible(space, "one")
    space.must("delete", "pod", "one")
    space.wait_phase("three", "Running")
    assert visible(space, "three") == freed


def test_gpus_stay_with_a_container_that_restarts(space: Namespace) -> None:
    space.create_pod("again", "echo $CUDA_VISIBLE_DEVICES; exit 1", container=gpus(1))
    space.wait_container("again", lambda s: s["restartCount"] >= 1, "restarted")
    space.until(lambda: space.run("logs", "again").stdout and space.run("logs", "again", "--previous").stdout, "logs")
    assert space.logs("again") == space.logs("again", "--previous")


def test_who_asked_for_no_gpu_sees_none(space: Namespace) -> None:
    assert space.run_to_end("cpu", 'echo "[$CUDA_VISIBLE_DEVICES]"') == "[]\n"


def test_a_pod_bound_past_the_room_is_refused(space: Namespace) -> None:
    for name, limits, reason in (
        ("wide", {"cpu": "64"}, "OutOfcpu"),
        ("hot", {"nvidia.com/gpu": "3"}, "OutOfnvidia.com/gpu"),
        ("big", {"memory": "900Gi"}, "OutOfmemory"),
    ):
        space.create_pod(name, "true", container={"resources": {"limits": limits}}, nodeName="gpu-a")
        pod = space.wait_phase(name, "Failed")
        assert pod["status"]["reason"] == reason, pod["status"]


def test_limits_are_enforced_on_the_machine(space: Namespace) -> None:
    limits = {"resources": {"limits": {"cpu": "500m", "memory": "64Mi"}}}
    space.create_pod("bounded", "sleep 600", container=limits)
    space.wait_phase("bounded", "Running")
    import subprocess

    found = subprocess.run(
        ["sh", "-c", "grep -rlsx 67108864 /sys/fs/cgroup --include=memory.limit_in_bytes --include=memory.max"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert found.stdout.strip()
