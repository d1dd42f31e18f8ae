"""logs, exec, attach, cp, port-forward and top, as kubectl asks for them."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import time
import urllib.request
from pathlib import Path

from containers.cluster import Namespace, pod
from containers.network_test import serve


def start(space: Namespace, *arguments: str, **options: object) -> subprocess.Popen:
    command = [space.cluster.kubectl_path, "--kubeconfig", str(space.cluster.kubeconfig), "-n", space.name, *arguments]
    return subprocess.Popen(command, **options)


def end(process: subprocess.Popen) -> None:
    if process.poll() is None:
        process.terminate()
    process.wait(timeout=10)


def test_logs_and_their_options(space: Namespace) -> None:
    space.create_pod("talker", "for i in 1 2 3 4 5; do echo line $i; done; echo oops >&2; sleep 600")
    space.until(lambda: "oops" in space.run("logs", "talker").stdout, "its output")
    assert space.logs("talker", "--tail=2") == "line 5\noops\n"
    assert space.logs("talker", "--since=1h").startswith("line 1\n")
    stamped = space.logs("talker", "--timestamps", "--tail=1")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(Z|[+-]\d\d:\d\d) oops\n", stamped)
    assert space.logs("talker", "--limit-bytes=6") == "line 1"


def test_logs_follow_until_the_end(space: Namespace) -> None:
    space.create_pod("slow", "for i in 1 2 3; do echo $i; sleep 1; done", restartPolicy="Never")
    space.wait_phase("slow", "Running")
    assert space.must("logs", "-f", "slow") == "1\n2\n3\n"


def test_logs_of_the_previous_run_and_of_all_containers(space: Namespace) -> None:
    manifest = pod("two", "echo run; if [ -e /v/x ]; then sleep 600; fi; touch /v/x; exit 1",
                   container={"volumeMounts": [{"name": "v", "mountPath": "/v"}]},
                   volumes=[{"name": "v", "emptyDir": {}}])  # fmt: skip
    manifest["spec"]["containers"].append({"name": "d", "image": "host", "command": ["sh", "-c", "echo other; sleep 600"]})
    space.apply(manifest)
    space.wait_container("two", lambda s: s["restartCount"] == 1 and "running" in s["state"], "running again")
    assert space.logs("two", "-c", "c", "--previous") == "run\n"
    assert sorted(space.logs("two", "--all-containers").splitlines()) == ["other", "run"]
    refused = space.run("logs", "two", "-c", "nobody")
    assert refused.returncode == 1 and "container nobody is not valid for pod two" in refused.stderr


def test_exec_passes_streams_and_exit_codes(space: Namespace) -> None:
    space.create_pod("shell", "sleep 600")
    space.wait_phase("shell", "Running")
    assert space.run("exec", "shell", "--", "sh", "-c", "exit 7").returncode == 7
    both = space.run("exec", "shell", "--", "sh", "-c", "echo out; echo err >&2")
    assert (both.stdout, both.stderr) == ("out\n", "err\n")
    assert space.run("exec", "-i", "shell", "--", "tr", "a-z", "A-Z", given="shout").stdout == "SHOUT"
    missing = space.run("exec", "shell", "--", "/no/such")
    assert missing.returncode != 0 and "/no/such" in missing.stderr


def test_exec_passes_a_megabyte_both_ways(space: Namespace) -> None:
    space.create_pod("shell", "sleep 600")
    space.wait_phase("shell", "Running")
    data = "0123456789abcdef" * 65536
    assert space.run("exec", "-i", "shell", "--", "cat", given=data).stdout == data


def test_exec_with_a_terminal_knows_its_size(space: Namespace) -> None:
    space.create_pod("shell", "sleep 600")
    space.wait_phase("shell", "Running")
    master, slave = pty.openpty()
    subprocess.run(["stty", "rows", "33", "cols", "101"], stdin=slave, check=True)
    session = start(space, "exec", "-it", "shell", "--", "sh", "-c", "sleep 1; stty size; tty",
                    stdin=slave, stdout=slave, stderr=slave)  # fmt: skip
    os.close(slave)
    output = b""
    while select.select([master], [], [], 20)[0]:
        try:
            if not (piece := os.read(master, 4096)):
                break
        except OSError:
            break
        output += piece
    assert session.wait(timeout=20) == 0
    os.close(master)
    assert b"33 101" in output and b"/dev/pts/" in output


def test_a_lost_exec_stream_signals_nobody(space: Namespace) -> None:
    space.create_pod("shell", "sleep 600")
    space.wait_phase("shell", "Running")
    session = start(space, "exec", "shell", "--", "sh", "-c", "sleep 3; touch /tmp/finished", stdout=subprocess.DEVNULL)
    time.sleep(1)
    session.kill()
    session.wait(timeout=10)
    space.until(lambda: space.run("exec", "shell", "--", "test", "-e", "/tmp/finished").returncode == 0, "its end")


def test_attach_shows_and_feeds_a_container(space: Namespace) -> None:
    space.create_pod("echoer", container={"command": ["sh", "-c", "while read line; do echo got $line; done"],
                                          "stdin": True, "stdinOnce": True}, restartPolicy="Never")  # fmt: skip
    space.wait_phase("echoer", "Running")
    done = space.run("attach", "-i", "echoer", given="one\ntwo\n")
    assert "got one\ngot two\n" in done.stdout
    space.wait_phase("echoer", "Succeeded")


def test_cp_both_ways(space: Namespace, tmp_path: Path) -> None:
    space.create_pod("box", "sleep 600")
    space.wait_phase("box", "Running")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "model.bin").write_bytes(os.urandom(300_000))
    space.must("cp", str(tmp_path / "in"), "box:/tmp/in")
    space.must("cp", "box:/tmp/in/model.bin", str(tmp_path / "back.bin"))
    assert (tmp_path / "back.bin").read_bytes() == (tmp_path / "in" / "model.bin").read_bytes()


def test_port_forward_reaches_the_pods_own_loopback(space: Namespace) -> None:
    space.apply(serve("web", "through"))
    space.wait_ready("web")
    tunnel = start(space, "port-forward", "pod/web", ":8080", stdout=subprocess.PIPE, text=True)
    try:
        port = re.search(r"127\.0\.0\.1:(\d+)", tunnel.stdout.readline()).group(1)
        for _ in range(3):
            assert urllib.request.urlopen(f"http://127.0.0.1:{port}", timeout=10).read() == b"through\n"
    finally:
        end(tunnel)


def test_top_shows_what_is_used(space: Namespace) -> None:
    space.create_pod("busy", "while :; do :; done", container={"resources": {"limits": {"cpu": "200m"}}})
    space.wait_phase("busy", "Running")

    def used() -> bool:
        found = re.search(r"^busy +(\d+)m +(\d+)Mi", space.run("top", "pod").stdout, re.MULTILINE)
        return bool(found) and int(found.group(1)) > 50

    space.until(used, "its use of the processor", deadline=90)
    nodes = space.must("top", "node").splitlines()
    assert nodes[0].split()[:3] == ["NAME", "CPU(cores)", "CPU(%)"] or nodes[0].startswith("NAME")
    assert {line.split()[0] for line in nodes[1:]} == {"gpu-a", "gpu-b"}
