"""kill -9 of the server, the agent or both while pods run: nothing is started twice and nothing is lost.

GANGWAY_ROUNDS says how often, GANGWAY_SEED in which order.
"""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path
from typing import Any

from containers.cluster import ContainerCluster, Namespace, pod
from containers.leftovers_test import left_on_machine

ROUNDS = int(os.environ.get("GANGWAY_ROUNDS", "3"))
SEED = int(os.environ.get("GANGWAY_SEED", "1"))
# Every start leaves a line in a file of its own; a GPU is a directory that only one can make.
BEGIN = 'echo "$NAME" >> /mark/starts-$NAME; gpu=/mark/gpu-$NODE-$NVIDIA_VISIBLE_DEVICES; mkdir $gpu || echo $NAME >> /mark/double'
TRAINS = BEGIN + "; n=0; while :; do n=$((n+1)); echo line $n; sleep 0.1; done"
ENDS = BEGIN + "; n=0; while [ $n -lt {lines} ]; do n=$((n+1)); echo line $n; sleep 0.02; done; rmdir $gpu; exit {code}"


def marked_pod(name: str, script: str, folder: Path) -> dict[str, Any]:
    fields = {"NAME": "metadata.name", "NODE": "spec.nodeName"}
    container = {
        "env": [{"name": key, "valueFrom": {"fieldRef": {"fieldPath": path}}} for key, path in fields.items()],
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
        "volumeMounts": [{"name": "mark", "mountPath": "/mark"}],
    }
    volumes = [{"name": "mark", "hostPath": {"path": str(folder)}}]
    return pod(name, script, container=container, volumes=volumes, restartPolicy="Never")


def crash(cluster: ContainerCluster, victims: tuple[str, ...]) -> None:
    files = {"server": cluster.data / "gangway.pid", "agent": cluster.data / "agent" / "agent.pid"}
    for victim in victims:
        pid = int(files[victim].read_text())
        os.kill(pid, signal.SIGKILL)
        while Path(f"/proc/{pid}/stat").exists() and " Z " not in Path(f"/proc/{pid}/stat").read_text():
            time.sleep(0.01)
    if "server" in victims:
        cluster.up()


def log_of(space: Namespace, name: str) -> str:
    """An agent that has just been started again may not be reached for a moment."""
    space.until(lambda: space.run("logs", name).returncode == 0, f"the log of {name}")
    return space.logs(name)


def lines_of(log: str) -> list[int]:
    return [int(line.removeprefix("line ")) for line in log.splitlines()]


def play_round(space: Namespace, number: int, rng: random.Random, marks: Path) -> str:
    """One round: pods that end soon, a crash in the middle of them, and then the whole truth about each."""
    wanted = {f"r{number}-{i}": (rng.randint(1, 60), rng.choice([0, 1, 3, 77])) for i in range(2)}
    space.apply(*(marked_pod(name, ENDS.format(lines=lines, code=code), marks) for name, (lines, code) in wanted.items()))
    pause = rng.uniform(0, 1.5)
    victims = rng.choice([("server",), ("agent",), ("server", "agent"), ("agent", "server")])
    story = f"round {number}: {' and '.join(victims)} after {pause:.2f} s"
    time.sleep(pause)
    crash(space.cluster, victims)
    for name, (lines, code) in wanted.items():
        ended = space.wait_phase(name, "Succeeded", "Failed")["status"]["containerStatuses"][0]
        assert ended["state"]["terminated"]["exitCode"] == code, story
        assert ended["restartCount"] == 0, story
        assert lines_of(log_of(space, name)) == list(range(1, lines + 1)), story
        assert (marks / f"starts-{name}").read_text() == f"{name}\n", story
    assert not (marks / "double").exists(), story
    space.must("delete", "pod", *wanted, "--wait=true")
    return story


def test_crashes_lose_nothing_and_start_nothing_twice(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    cluster = ContainerCluster()
    try:
        with Namespace(cluster, "crash") as space:
            space.apply(*(marked_pod(name, TRAINS, tmp_path) for name in ("train-0", "train-1")))
            space.wait_ready("train-0", "train-1")
            for number in range(ROUNDS):
                print(play_round(space, number, rng, tmp_path), flush=True)
            for name in ("train-0", "train-1"):
                status = space.wait_phase(name, "Running")["status"]["containerStatuses"][0]
                assert status["restartCount"] == 0
                assert (tmp_path / f"starts-{name}").read_text() == f"{name}\n"
                printed = lines_of(log_of(space, name))
                assert printed == list(range(1, len(printed) + 1))
        cluster.down()
        assert left_on_machine(cluster) == {}
    finally:
        cluster.close()


def test_up_returns_when_its_nodes_can_be_asked() -> None:
    with ContainerCluster() as cluster, Namespace(cluster, "asked") as space:
        space.create_pod("p", "echo here; exec sleep 600")
        space.wait_ready("p")
        for _ in range(3):
            os.kill(cluster.pid(), signal.SIGKILL)
            cluster.up()
            assert space.logs("p") == "here\n"
