"""The flight recorder: what the scheduler decided is on disk, and is decided again the same way."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.gpu_cluster import a_pod, bound, creates, gang, gpu_cluster, why
from e2e.user import User
from kube.harness.gangway import GangwayCluster, binary


@pytest.fixture(scope="module")
def cluster(kubectl: Path) -> Iterator[GangwayCluster]:
    """One on which a few things have happened: a gang, preemptions, and somebody who waits."""
    with gpu_cluster(kubectl) as started:
        lives(User(kubectl, started, "default"))
        yield started


def lives(user: User) -> None:
    creates(user, *gang("train", 2, 4, priority="medium"), *gang("elastic", 4, 1, minimum=1, priority="medium"))
    user.waits("both gangs", lambda: len(bound(user)) == 6)
    creates(user, a_pod("critical", 1, priority="critical"))
    user.waits("the critical pod", lambda: "critical" in bound(user))
    creates(user, a_pod("urgent", 4, priority="critical"))
    user.waits("the urgent pod", lambda: "urgent" in bound(user))
    creates(user, a_pod("huge", 8))
    user.waits("a reason", lambda: "Insufficient nvidia.com/gpu" in why(user, "huge"))


def gangway(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [binary(), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=90)


def replay(cluster: GangwayCluster, *arguments: object) -> subprocess.CompletedProcess[str]:
    return gangway("replay", "--data-dir", cluster.folder / "data", *arguments)


def cycles(cluster: GangwayCluster) -> list[dict[str, Any]]:
    done = replay(cluster, "--list", "-o", "json")
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def recorded(cluster: GangwayCluster, user: User, pod: str) -> dict[str, Any]:
    """The cycle that gave the pod its place, once the recorder has written it."""
    found: list[dict[str, Any]] = []

    def is_there() -> bool:
        for cycle in cycles(cluster):
            if cycle["tickets"] == 0:
                continue
            told = json.loads(replay(cluster, "--cycle", cycle["cycle"], "-o", "json").stdout)
            if any(step.get("ticket") == f"pod default/{pod}" for step in told["plan"]):
                found.append(told)
                return True
        return False

    user.waits(f"a record of {pod}", is_there)
    return found[0]


def all_are_the_same(cluster: GangwayCluster) -> int:
    known = cycles(cluster)
    for cycle in known:
        done = replay(cluster, "--cycle", cycle["cycle"])
        assert done.returncode == 0, done.stdout + done.stderr
        assert "The plan is the same as recorded." in done.stdout
    return len(known)


def test_every_cycle_is_planned_again_the_same_way(cluster: GangwayCluster, kubectl: Path) -> None:
    user = User(kubectl, cluster, "default")
    told = recorded(cluster, user, "critical")
    step = next(each for each in told["plan"] if each.get("ticket") == "pod default/critical")
    # The elastic gang does with less, and nobody is stopped.
    assert [(each["of"], each["how"]) for each in step["evicts"]] == [("group default/elastic", "shrink")]
    assert told["same"] and told["broken"] == []
    assert int(told["basis"]["pods"]) > 0
    assert all_are_the_same(cluster) >= 3


def test_the_last_cycle_says_who_waits_and_why(cluster: GangwayCluster, kubectl: Path) -> None:
    user = User(kubectl, cluster, "default")
    user.waits("a record of huge", lambda: "pod default/huge waits" in replay(cluster, "--cycle", "last").stdout)
    text = replay(cluster, "--cycle", "last").stdout
    assert "Insufficient nvidia.com/gpu" in text
    listed = replay(cluster, "--list").stdout.splitlines()
    assert listed[0].split() == ["CYCLE", "TIME", "TICKETS", "EVICTED", "WAITING"]
    assert len(listed) - 1 == len(cycles(cluster))


def test_a_cycle_can_be_carried_away(cluster: GangwayCluster, kubectl: Path, tmp_path: Path) -> None:
    told = recorded(cluster, User(kubectl, cluster, "default"), "urgent")
    away = tmp_path / "urgent.flight"
    done = replay(cluster, "--cycle", told["cycle"], "--export", away)
    assert done.returncode == 0, done.stderr
    there = gangway("replay", away, "-o", "json")
    assert there.returncode == 0, there.stderr
    assert json.loads(there.stdout) == told
    # Somebody has changed what was decided: that is seen, and shown.
    text = away.read_text()
    body = text.split("\n", 2)[2].replace('"ticket":"pod default/urgent"', '"ticket":"pod default/somebody"')
    header = json.loads(text.split("\n", 2)[1])
    header |= {"bytes": len(body.encode()), "sum": checksum(body.encode())}
    away.write_text("\n".join(['{"flight":1}', json.dumps(header), body]))
    other = gangway("replay", away)
    assert other.returncode == 1
    assert "NOT the same" in other.stdout
    assert "- pod default/somebody gets" in other.stdout and "+ pod default/urgent gets" in other.stdout


def checksum(data: bytes) -> str:
    """FNV-1a, as src/base/hash.h has it."""
    value = 14695981039346656037
    for byte in data:
        value = (value ^ byte) * 1099511628211 % 2**64
    return f"{value:016x}"


def test_records_survive_kill_9(cluster: GangwayCluster, kubectl: Path) -> None:
    user = User(kubectl, cluster, "default")
    recorded(cluster, user, "urgent")
    before = {cycle["cycle"] for cycle in cycles(cluster)}
    cluster.kill()
    assert {cycle["cycle"] for cycle in cycles(cluster)} == before, "nobody runs, and all is there to be read"
    # The machine died in the middle of a record.
    newest = max((cluster.folder / "data" / "flight").glob("*.flight"))
    with newest.open("a") as file:
        file.write('{"cycle":999,"bytes":5000,"sum":"0')
    torn = replay(cluster, "--list")
    assert torn.returncode == 0
    assert f"note: {newest}: it ends in the middle of a record" in torn.stderr
    cluster.start()
    user.does("delete", "pod", "urgent", "--force", "--grace-period=0")
    creates(user, a_pod("after", 4, priority="critical"))
    user.waits("the pod that came later", lambda: "after" in bound(user))
    told = recorded(cluster, user, "after")
    assert told["cycle"] > max(before), "numbers go on"
    assert all_are_the_same(cluster) > len(before)


def test_status_shows_the_recorder(cluster: GangwayCluster) -> None:
    done = gangway("status", "--data-dir", cluster.folder / "data", "-o", "json")
    assert done.returncode == 0, done.stderr
    parts = {part["name"]: part for part in json.loads(done.stdout)["parts"]}
    assert parts["flight-recorder"]["state"] == "running"
    assert parts["flight-recorder"]["detail"].startswith("cycles 1 to ")
    folder = cluster.folder / "data" / "flight"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in folder.iterdir())


def test_what_cannot_be_replayed_is_said_clearly(cluster: GangwayCluster, tmp_path: Path) -> None:
    def complaint(*arguments: object) -> str:
        done = gangway("replay", *arguments)
        assert done.returncode != 0
        return done.stdout + done.stderr

    data = ("--data-dir", cluster.folder / "data")
    assert "say which cycle: --cycle N, --cycle last, or --list" in complaint(*data)
    assert 'must be a number above 0, or "last" (got "first")' in complaint(*data, "--cycle", "first")
    assert "cycle 123456789 is not among those that are kept" in complaint(*data, "--cycle", "123456789")
    assert "does not exist: no scheduler has recorded there" in complaint("--flight-dir", tmp_path / "no", "--list")
    assert f"nothing has been recorded in {tmp_path} yet" in complaint("--flight-dir", tmp_path, "--list")
    newer = tmp_path / "newer"
    newer.write_text('{"flight":2}\n')
    assert "a newer gangway is needed" in complaint(newer)
    other = tmp_path / "other"
    other.write_text("hello\n")
    assert "does not begin as a flight record does" in complaint(other)


def test_completion_knows_it() -> None:
    for shell in ("bash", "zsh"):
        script = gangway("completion", shell).stdout
        assert "replay" in script and "--flight-dir" in script and "--export" in script
