"""kubectl logs, exec, attach, cp, port-forward and top, through the API server to a node's endpoints.

Against the real kube-apiserver (GANGWAY_E2E_SUBJECT=real) the same tests try the endpoints as kubelet's: it speaks SPDY
to them, whatever kubectl speaks to it.
"""

from __future__ import annotations

import fcntl
import hashlib
import http.server
import os
import pty
import re
import signal
import ssl
import struct
import subprocess
import termios
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.test_node import NODE, POD, Kubectl, TestNode, read_until
from kube.harness.gangway import GangwayCluster
from kube.harness.http import Client
from kube.harness.processes import free_ports, wait_for
from kube.harness.real import RealCluster

Cluster = GangwayCluster | RealCluster
ALL = ("main", "restarted", "echo", "ticker", "late", "busy")


@pytest.fixture(scope="module")
def node(gangway: Cluster) -> Iterator[TestNode]:
    started = TestNode(gangway, ALL)
    yield started
    started.stop()


@pytest.fixture(scope="module", params=["websockets", "spdy"])
def box(request: pytest.FixtureRequest, node: TestNode, kubectl: Path) -> Kubectl:
    """kubectl with either way to stream."""
    return Kubectl(kubectl, node.cluster.kubeconfig, request.param == "websockets")


@pytest.fixture(scope="module")
def ctl(node: TestNode, kubectl: Path) -> Kubectl:
    return Kubectl(kubectl, node.cluster.kubeconfig)


# ── logs ──


def test_logs_of_a_container(ctl: Kubectl) -> None:
    wait_for("both lines", lambda: sorted(ctl.out("logs", POD, "-c", "main").splitlines()) == ["broken", "started"])
    assert ctl.out("logs", POD, "-c", "restarted") == "second run\n"
    assert ctl.out("logs", POD, "-c", "restarted", "--previous") == "first run\n"
    assert ctl.out("logs", POD, "-c", "main", "--limit-bytes=3") in ("sta", "bro")
    assert ctl.out("logs", POD, "-c", "main", "--since-time=2999-01-01T00:00:00Z") == ""
    assert len(ctl.out("logs", POD, "-c", "main", "--since=1h").splitlines()) == 2
    stamped = ctl.out("logs", POD, "-c", "restarted", "--timestamps")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z second run\n", stamped)


def test_logs_are_followed_to_the_end_of_their_container(ctl: Kubectl) -> None:
    followed = ctl.out("logs", POD, "-c", "ticker", "-f")
    assert followed == "".join(f"tick {i}\n" for i in range(1, 11))
    assert ctl.out("logs", POD, "-c", "ticker", "--tail=2") == "tick 9\ntick 10\n"


def test_logs_say_what_is_wrong(ctl: Kubectl) -> None:
    assert 'container "late" in pod "box" is waiting to start: ContainerCreating' in ctl.error("logs", POD, "-c", "late")
    assert 'previous terminated container "main" in pod "box" not found' in ctl.error("logs", POD, "-c", "main", "-p")
    assert "container nobody is not valid for pod box" in ctl.error("logs", POD, "-c", "nobody")


def test_logs_of_all_containers(ctl: Kubectl) -> None:
    # One of them has not started, and kubectl goes on without it when it is told to.
    lines = ctl.run("logs", POD, "--all-containers", "--ignore-errors", "--prefix").stdout.decode()
    assert f"[pod/{POD}/restarted] second run" in lines and f"[pod/{POD}/main] started" in lines


# ── exec ──


def test_exec_carries_output_and_the_exit_code(box: Kubectl) -> None:
    assert box.out("exec", POD, "-c", "main", "--", "echo", "a  b") == "a  b\n"
    failed = box.run("exec", POD, "-c", "main", "--", "sh", "-c", "echo out; echo err >&2; exit 3")
    assert (failed.returncode, failed.stdout) == (3, b"out\n")
    assert failed.stderr.startswith(b"err\n") and b"exit code 3" in failed.stderr


def test_exec_carries_input_to_its_end(box: Kubectl) -> None:
    assert box.out("exec", "-i", POD, "-c", "main", "--", "wc", "-c", stdin=b"x" * 100_000).strip() == "100000"


def test_exec_carries_much_both_ways_unharmed(box: Kubectl) -> None:
    data = os.urandom(1 << 20) * 24
    done = box.run("exec", "-i", POD, "-c", "main", "--", "cat", stdin=data)
    assert done.returncode == 0, done.stderr
    assert hashlib.sha256(done.stdout).digest() == hashlib.sha256(data).digest()


def test_exec_waits_for_a_slow_reader(box: Kubectl) -> None:
    process = box.start("exec", POD, "-c", "main", "--", "sh", "-c", "head -c 60000000 /dev/zero; echo end >&2")
    assert process.stdout and process.stderr
    first = process.stdout.read(1)
    assert first == b"\0"
    # Nobody reads; the process must not get to its end.
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=1)
    rest = process.stdout.read()
    assert len(rest) == 60_000_000 - 1
    assert process.wait(timeout=20) == 0
    assert b"end" in process.stderr.read()


def test_exec_in_a_terminal(box: Kubectl) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 111, 0, 0))
    shell = box.start("exec", "-it", POD, "-c", "main", "--", "sh",
                      stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)  # fmt: skip
    os.close(theirs)
    try:
        read_until(ours, b"# ")
        # The size is sent beside the streams, and may come a moment later.
        os.write(ours, b"until [ \"$(stty size)\" = '33 111' ]; do sleep 0.05; done; tty; echo seen-$((40+2))\r")
        screen = read_until(ours, b"seen-42")
        assert b"/dev/pts/" in screen
        fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 44, 122, 0, 0))
        os.kill(shell.pid, signal.SIGWINCH)
        os.write(ours, b"until [ \"$(stty size)\" = '44 122' ]; do sleep 0.05; done; echo grown-$((40+2))\r")
        read_until(ours, b"grown-42")
        # Ctrl-C ends what runs in the terminal, not the terminal.
        os.write(ours, b"sh -c 'echo asleep-$((40+2)); exec sleep 1000'\r")
        read_until(ours, b"asleep-42")
        os.write(ours, b"\x03")
        read_until(ours, b"# ")
        os.write(ours, b"echo alive-$((40+2)); exit 5\r")
        read_until(ours, b"alive-42")
        assert shell.wait(timeout=20) == 5
    finally:
        shell.kill()
        shell.wait()
        os.close(ours)


def test_a_lost_client_ends_nothing(box: Kubectl, node: TestNode) -> None:
    mark = node.folder / f"went-on-{os.urandom(4).hex()}"
    process = box.start("exec", POD, "-c", "main", "--", "sh", "-c", f"echo begun; sleep 1; echo x; touch {mark}")
    assert process.stdout
    read_until(process.stdout, b"begun")
    process.kill()
    process.wait()
    wait_for("what was started to go on", mark.exists)


def test_exec_says_what_is_wrong(box: Kubectl) -> None:
    assert 'container not found ("late")' in box.error("exec", POD, "-c", "late", "--", "true")
    assert "container nobody is not valid for pod box" in box.error("exec", POD, "-c", "nobody", "--", "true")
    missing = box.error("exec", POD, "-c", "main", "--", "/no/such/program")
    assert "error executing command in container" in missing and "/no/such/program" in missing


# ── attach, cp ──


def test_attach_reaches_the_containers_own_streams(box: Kubectl) -> None:
    word = os.urandom(4).hex()
    process = box.start("attach", "-i", POD, "-c", "echo")
    assert process.stdin and process.stdout
    process.stdin.write(f"{word}\n".encode())
    process.stdin.flush()
    read_until(process.stdout, f"you said {word}\n".encode())
    process.kill()
    process.wait()
    # The container goes on, and has it in its log.
    assert f"you said {word}\n" in box.out("logs", POD, "-c", "echo")


def test_cp_both_ways(box: Kubectl, node: TestNode, tmp_path: Path) -> None:
    data = os.urandom(3_000_000)
    (tmp_path / "sent").write_bytes(data)
    there = node.folder / f"there-{os.urandom(4).hex()}"
    box.out("cp", "-c", "main", str(tmp_path / "sent"), f"{POD}:{there}")
    assert there.read_bytes() == data
    box.out("cp", "-c", "main", f"{POD}:{there}", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == data


# ── port-forward ──


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        size = int(self.path.removeprefix("/"))
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        self.wfile.write(b"s" * size)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def site() -> Iterator[int]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()


def forwarded(box: Kubectl, port: int) -> tuple[subprocess.Popen[bytes], int]:
    process = box.start("port-forward", f"pod/{POD}", f":{port}")
    assert process.stdout
    line = read_until(process.stdout, b"\n").decode()
    found = re.search(r"127\.0\.0\.1:(\d+) -> ", line)
    assert found, line
    return process, int(found.group(1))


def test_port_forward(box: Kubectl, site: int) -> None:
    process, port = forwarded(box, site)
    try:
        sizes = [1, 100_000, 5_000_000, 0, 70_000]
        got: dict[int, int] = {}

        def fetch(size: int) -> None:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{size}", timeout=30) as answer:
                got[size] = len(answer.read())

        threads = [threading.Thread(target=fetch, args=[size]) for size in sizes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert got == {size: size for size in sizes}
    finally:
        process.kill()
        process.wait()


def test_port_forward_to_nobody(box: Kubectl) -> None:
    (closed,) = free_ports(1)
    process, port = forwarded(box, closed)
    try:
        with pytest.raises((urllib.error.URLError, ConnectionError)):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/1", timeout=20)
        assert process.stderr
        said = read_until(process.stderr, b"Connection refused")
        assert f"error forwarding port {closed} to pod".encode() in said
    finally:
        process.kill()
        process.wait()


# ── who may, and what is used ──


def ask_node(node: TestNode, path: str, token: str = "") -> int:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(f"https://127.0.0.1:{node.port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, context=context, timeout=20) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_the_endpoints_ask_the_api_server_who_may(node: TestNode, ctl: Kubectl) -> None:
    assert ask_node(node, "/pods") == 401
    assert ask_node(node, "/pods", "nonsense") == 401
    ctl.run("create", "serviceaccount", "reader")
    token = ctl.out("create", "token", "reader").strip()
    assert ask_node(node, "/stats/summary", token) == 403
    ctl.out("create", "clusterrole", "stats-reader", "--verb=get", "--resource=nodes/stats")
    ctl.out("create", "clusterrolebinding", "stats-reader", "--clusterrole=stats-reader",
            "--serviceaccount=default:reader")  # fmt: skip
    wait_for("the right to arrive", lambda: ask_node(node, "/stats/summary", token) == 200)
    assert ask_node(node, f"/containerLogs/default/{POD}/main", token) == 403


def test_nodes_proxy(node: TestNode, ctl: Kubectl) -> None:
    if node.cluster.name != "gangway":
        pytest.skip("it refuses nodes on loopback")
    assert ctl.out("get", "--raw", f"/api/v1/nodes/{NODE}/proxy/healthz") == "ok"
    assert "container_cpu_usage_seconds_total{" in ctl.out("get", "--raw", f"/api/v1/nodes/{NODE}/proxy/metrics/resource")


def test_top(node: TestNode, ctl: Kubectl) -> None:
    if node.cluster.name != "gangway":
        pytest.skip("metrics.k8s.io is an add-on there")

    def busy() -> bool:
        done = ctl.run("top", "pod", POD, "--containers", "--no-headers")
        found = re.search(r"busy\s+(\d+)m", done.stdout.decode())
        return found is not None and int(found.group(1)) > 100

    wait_for("the busy container's rate", busy, seconds=40, pause=1)
    line = ctl.out("top", "pod", "-l", "app=box", "--no-headers")
    assert re.fullmatch(rf"{POD}\s+\d+m\s+\d+Mi\s*\n", line)
    assert re.search(rf"{NODE}\s+\d+m\s+\d+%\s+\d+Mi\s+\d+%", ctl.out("top", "node"))


def test_an_agent_that_is_gone_is_named(node: TestNode, ctl: Kubectl) -> None:
    client = Client(node.cluster.endpoint)
    client.must("PATCH", f"/api/v1/nodes/{NODE}/status", {"status": {"daemonEndpoints": {"kubeletEndpoint": {
        "Port": free_ports(1)[0]}}}}, "application/merge-patch+json")  # fmt: skip
    try:
        assert "refused" in ctl.error("logs", POD, "-c", "main").lower()
        assert "refused" in ctl.error("exec", POD, "-c", "main", "--", "true").lower()
    finally:
        client.must("PATCH", f"/api/v1/nodes/{NODE}/status", {"status": {"daemonEndpoints": {"kubeletEndpoint": {
            "Port": node.port}}}}, "application/merge-patch+json")  # fmt: skip
        client.close()
