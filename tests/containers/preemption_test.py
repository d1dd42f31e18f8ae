"""Preemption with real processes: the victim is asked to end, has its time, and only then does the other start."""

from __future__ import annotations

from pathlib import Path

from containers.cluster import Namespace

CLASS = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent-here"},
         "value": 500000}  # fmt: skip
GPUS = {"resources": {"limits": {"nvidia.com/gpu": "2"}}}
# Saves what it has when it is asked to end, and takes two seconds over it.
TRAINS = (
    "trap 'echo saving; sleep 2; date +%s.%N > /marks/ended; exit 0' TERM; echo training; while :; do sleep 0.1; done"
)


def test_the_victim_has_its_grace_and_the_preemptor_its_room(space: Namespace, tmp_path: Path) -> None:
    marks = {"volumes": [{"name": "marks", "hostPath": {"path": str(tmp_path)}}]}
    main = {**GPUS, "volumeMounts": [{"name": "marks", "mountPath": "/marks"}]}
    space.apply(CLASS)
    for node in ("a", "b"):
        space.create_pod(f"low-{node}", TRAINS, container=main, nodeSelector={"zone": node},
                         terminationGracePeriodSeconds=20, **marks)  # fmt: skip
    for node in ("a", "b"):
        space.until(lambda node=node: "training" in space.run("logs", f"low-{node}").stdout, "the training to begin")
    space.create_pod("urgent", "date +%s.%N > /marks/began; sleep 3600", container=main,
                     priorityClassName="urgent-here", **marks)  # fmt: skip
    space.wait_phase("urgent", "Running")
    space.until((tmp_path / "began").exists, "the urgent pod to begin")
    assert float((tmp_path / "began").read_text()) > float((tmp_path / "ended").read_text()), "before there was room"
    left = [name for name in ("low-a", "low-b") if space.run("get", "pod", name).returncode == 0]
    assert len(left) == 1, "one of the two had to go, and no more"
    lost = "low-b" if left == ["low-a"] else "low-a"
    node_name = space.get("pod", "urgent")["spec"]["nodeName"]
    space.wait_event(lost, "Preempted", f"by {space.name}/urgent on node {node_name}")
    space.wait_event(lost, "Killing", "Stopping container")
