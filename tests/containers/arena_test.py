"""`arena` where jobs are real: code that is fetched, logs of attempts, shells in containers, progress, TensorBoard."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from containers.cluster import ContainerCluster, Namespace
from containers.images import CAN_BE_MADE, busybox_layout
from containers.images_test import PULLING
from e2e.arena_user import Arena
from kube.harness.processes import Child, free_ports, wait_for

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "gangway" / "__init__.py"
MOMENT = 120.0


@pytest.fixture
def arena(containers: ContainerCluster, space: Namespace, monkeypatch: pytest.MonkeyPatch) -> Arena:
    # `attach` starts the kubectl that is found.
    monkeypatch.setenv("PATH", f"{Path(shutil.which(containers.kubectl_path) or '').parent}:{os.environ['PATH']}")
    return Arena(containers, space.name)


def runs(space: Namespace, arena: Arena, job: str) -> None:
    space.until(lambda: arena.status(job) == "RUNNING", f"{job} to run", MOMENT)


def ends(space: Namespace, arena: Arena, job: str) -> str:
    """What the job's chief has printed, once it has succeeded."""
    space.until(lambda: arena.status(job) in ("SUCCEEDED", "FAILED"), f"the end of {job}", MOMENT)
    said = arena.does("logs", job)
    assert arena.status(job) == "SUCCEEDED", said + space.story()
    return said


def machine_seen_from(space: Namespace) -> str:
    """The address at which pods find this machine."""
    route = "ip route | sed -n 's/default via \\([^ ]*\\).*/\\1/p'"
    return space.run_to_end("where", route).strip()


@contextmanager
def daemon(*command: str, port: int, folder: Path) -> Iterator[None]:
    """A server of this machine, for as long as a test needs it."""
    started = Child(command[0], command, folder / "daemon.log")

    def serves() -> bool:
        started.check_alive()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        wait_for(f"{command[0]} serves", serves, seconds=MOMENT)
        yield
    finally:
        started.stop(grace=5)


def git(*arguments: str, at: Path) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run(["git", *who, *arguments], cwd=at, check=True, capture_output=True)


@pytest.mark.skipif(not Path("/usr/lib/git-core/git-daemon").exists(), reason="git has no daemon here")
def test_code_comes_from_a_repository(space: Namespace, arena: Arena, tmp_path: Path) -> None:
    work, bare = tmp_path / "work", tmp_path / "served" / "mnist.git"
    work.mkdir()
    git("init", "-b", "main", at=work)
    (work / "train.sh").write_text("echo trained from a repository\n")
    git("add", ".", at=work)
    git("commit", "-m", "first", at=work)
    git("clone", "--bare", str(work), str(bare), at=tmp_path)
    port = free_ports(1)[0]
    source = f"git://{machine_seen_from(space)}:{port}/mnist.git"
    with daemon("/usr/lib/git-core/git-daemon", "--export-all", f"--base-path={bare.parent}", f"--port={port}",
                "--reuseaddr", str(bare.parent), port=port, folder=tmp_path):  # fmt: skip
        arena.does("submit", "pytorch", "--name=cloned", "--image=host", "--sync-image=host", "--working-dir=/mnt",
                   "--sync-mode=git", f"--sync-source={source}", "sh code/mnist/train.sh")  # fmt: skip
        assert ends(space, arena, "cloned") == "trained from a repository\n"


@pytest.mark.skipif(shutil.which("rsync") is None, reason="rsync is not installed")
def test_code_comes_by_rsync(space: Namespace, arena: Arena, tmp_path: Path) -> None:
    served = tmp_path / "served"
    served.mkdir()
    (served / "train.sh").write_text("echo trained from a folder\n")
    config = tmp_path / "rsyncd.conf"
    config.write_text(f"use chroot = no\nuid = root\n[code]\npath = {served}\nread only = yes\n")
    port = free_ports(1)[0]
    source = f"rsync://{machine_seen_from(space)}:{port}/code/"
    with daemon("rsync", "--daemon", "--no-detach", f"--port={port}", f"--config={config}", port=port, folder=tmp_path):
        arena.does("submit", "tf", "--name=copied", "--image=host", "--sync-image=host", "--working-dir=/mnt",
                   "--sync-mode=rsync", f"--sync-source={source}", "sh code/train.sh")  # fmt: skip
        assert ends(space, arena, "copied") == "trained from a folder\n"


def test_a_log_is_followed_until_the_job_ends(space: Namespace, arena: Arena) -> None:
    script = "echo begins; until [ -e /tmp/go ]; do sleep 0.2; done; echo ends"
    arena.does("submit", "tf", "--name=talks", "--image=host", "--working-dir=/tmp", script)
    runs(space, arena, "talks")
    with arena.starts("logs", "-f", "talks") as following:
        assert following.stdout is not None
        assert following.stdout.readline() == "begins\n"
        assert following.poll() is None, "it waits for more"
        arena.does("attach", "talks", "--", "touch", "/tmp/go")
        rest, _ = following.communicate(timeout=MOMENT)
    assert rest == "ends\n" and following.returncode == 0


def test_attach_is_a_shell_in_the_container(space: Namespace, arena: Arena) -> None:
    arena.does("submit", "tf", "--name=shell", "--image=host", "--env=COLOUR=red", "--working-dir=/tmp", "sleep 3600")
    runs(space, arena, "shell")
    inside = arena.does("attach", "shell", "-i", "shell-chief-0", "--", "sh", "-c", "hostname; echo $COLOUR")
    assert inside == "shell-chief-0\nred\n"
    typed = subprocess.run(arena.command("attach", "shell"), input="echo $COLOUR from $(hostname)\nexit 3\n",
                           capture_output=True, text=True, timeout=MOMENT)  # fmt: skip
    assert typed.stdout == "red from shell-chief-0\n" and typed.returncode == 3, typed.stderr
    # On a terminal it is one in there, too.
    leader, follower = pty.openpty()
    with subprocess.Popen(arena.command("attach", "shell"), stdin=follower, stdout=follower, stderr=follower) as shell:
        os.close(follower)
        os.write(leader, b"test -t 0 && echo on a terminal of $COLOUR; exit\n")
        said = b""
        while select.select([leader], [], [], MOMENT)[0]:
            try:
                said += os.read(leader, 4096)
            except OSError:  # the other end is closed
                break
    os.close(leader)
    assert b"on a terminal of red" in said and shell.returncode == 0, said
    nobody = arena.tries("attach", "shell", "-i", "shell-chief-1", "--", "true")
    assert nobody.returncode == 1 and "instance shell-chief-1 of job shell is not there" in nobody.stderr


@pytest.fixture
def priorities(space: Namespace) -> Iterator[tuple[str, str]]:
    low, high = f"{space.name[-40:]}-low", f"{space.name[-40:]}-high"
    for name, value in ((low, 1000), (high, 2000)):
        space.apply({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                     "metadata": {"name": name}, "value": value})  # fmt: skip
    yield low, high
    space.run("delete", "priorityclass", low, high)


def test_logs_of_every_attempt_are_there(space: Namespace, arena: Arena, priorities: tuple[str, str]) -> None:
    low, high = priorities
    gpus = ["--gpus=2", "--selector=zone=a", "--image=host", "--working-dir=/tmp"]
    arena.does("submit", "pytorch", "--name=victim", f"--priority={low}", "--on-preempt=requeue", *gpus,
               "echo attempt $GANGWAY_ATTEMPT; sleep 3600")  # fmt: skip
    runs(space, arena, "victim")
    space.until(lambda: arena.does("logs", "victim") == "attempt 1\n", "its first words", MOMENT)
    arena.does("submit", "pytorch", "--name=urgent", f"--priority={high}", *gpus, "sleep 1")
    space.until(lambda: arena.status("urgent") == "SUCCEEDED", "the urgent job", MOMENT)
    space.until(lambda: arena.sees("victim")["attempt"] == 2 and arena.status("victim") == "RUNNING", "its return", MOMENT)
    space.until(lambda: arena.does("logs", "victim", "--attempt", "2") == "attempt 2\n", "its second words", MOMENT)
    assert arena.does("logs", "victim", "--attempt", "1") == "attempt 1\n"
    assert arena.does("logs", "victim", "--attempt=1", "--tail=1", "--timestamps").endswith("Z attempt 1\n")
    unknown = arena.tries("logs", "victim", "--attempt", "3")
    assert unknown.returncode == 1 and "--attempt: the log of attempt 3" in unknown.stderr, unknown.stderr


TRAINING = """
import time
import gangway
for step in range(0, 100000):
    gangway.progress(epoch=step // 1000, step=step, total=100000, loss=1 / (step + 1))
    if step == 20:
        gangway.checkpoint('/ckpt/20.pt')
    time.sleep(0.1)
"""


def test_progress_is_shown_with_an_estimated_end(space: Namespace, arena: Arena, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINING)
    arena.does("submit", "tf", "--name=tells", "--image=host", "--env=PYTHONPATH=/mnt/lib", "--working-dir=/tmp",
               f"--config-file={PACKAGE}:/mnt/lib/gangway/__init__.py", f"--config-file={tmp_path}/train.py:/mnt/train/train.py",
               "exec /usr/bin/python3 /mnt/train/train.py")  # fmt: skip
    runs(space, arena, "tells")
    space.until(lambda: "estimatedEnd" in arena.sees("tells").get("progress", {}), "an estimated end", MOMENT)
    seen = arena.sees("tells")
    assert seen["checkpoint"]["path"] == "/ckpt/20.pt" and seen["progress"]["total"] == 100000
    shown = arena.does("get", "tells")
    assert re.search(
        r"\nPROGRESS: epoch \d+, step \d+/100000 \(\d+%\), loss \S+, estimated end 20\S+ \S+ \(in \d+[hms]\), "
        r"last checkpoint /ckpt/20.pt \(\d+[sm] ago\)\n$", shown), shown  # fmt: skip
    header, row = arena.does("top", "job").splitlines()[:2]
    assert header.split()[-4:] == ["PROGRESS", "LOSS", "ENDS", "CHECKPOINT"]
    assert re.search(r" \d+% +\S+ +in \d+[hms] +\d+[sm] ago$", row), row
    assert "PROGRESS" not in arena.does("list"), "the columns are Arena's"
    with arena.starts("list", "--watch") as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline().split()[-1] == "PROGRESS"
        assert re.search(r" \[[#-]{20}\] \d+% \d+[hms] left$", watching.stdout.readline())
        watching.kill()


# TensorBoard itself is no part of this: a program of that name serves the files of its --logdir.
BOARD = '#!/bin/sh\n[ "$1 $3 $5" = "--logdir --host --port" ] && exec httpd -f -h "$2" -p "$4:$6"\n'


@pytest.mark.skipif(not CAN_BE_MADE, reason="busybox-static or umoci is missing")
def test_tensorboard_serves_what_the_job_writes(tmp_path: Path) -> None:
    layout = busybox_layout(tmp_path, ("sh", "echo", "mkdir", "sleep", "httpd"), "root", {"tensorboard": BOARD})
    image = f"oci:{layout}:1"
    logs = tmp_path / "logs"
    logs.mkdir()
    with ContainerCluster(PULLING) as cluster, Namespace(cluster, "board") as space:
        arena = Arena(cluster, "board")
        arena.does("submit", "pytorch", "--name=curves", f"--image={image}", "--tensorboard", f"--tensorboard-image={image}",
                   f"--data-dir={logs}:/logs", "--logdir=/logs/run", "--image-pull-policy=IfNotPresent",
                   "mkdir -p /logs/run; echo loss 0.5 > /logs/run/events; sleep 3600")  # fmt: skip
        runs(space, arena, "curves")
        shown = space.until(lambda: re.search(r"available on:\n(http\S+)\n", arena.does("get", "curves")), "its address")

        def served() -> str:
            try:
                with urllib.request.urlopen(shown.group(1) + "/events", timeout=5) as answer:
                    return str(answer.read().decode())
            except OSError:
                return ""

        space.until(lambda: served() == "loss 0.5\n", f"TensorBoard at {shown.group(1)}", MOMENT)
        arena.does("delete", "curves")
        for kind in ("deployment", "service"):
            space.wait_gone(kind, "curves-tensorboard")
        space.until(lambda: not space.get("pods")["items"], "the end of its pods", MOMENT)
