"""A second machine joins: a network namespace with an address of its own stands for it, with an agent of its own."""

from __future__ import annotations

import ipaddress
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from containers.cluster import ContainerCluster, Failed, Namespace, pod
from kube.harness.gangway import binary


def must(*command: object) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}")
    return done.stdout


def free_pair() -> tuple[str, str]:
    """Two addresses of a small network that this machine has nothing to do with yet."""
    routes = json.loads(must("ip", "-j", "route", "show", "table", "all"))
    known = [ipaddress.ip_network(r["dst"], strict=False) for r in routes if ":" not in r["dst"] and r["dst"][0].isdigit()]
    for network in ipaddress.ip_network("10.91.0.0/16").subnets(new_prefix=30):
        if not any(network.overlaps(other) for other in known):
            here, there = network.hosts()
            return str(here), str(there)
    raise Failed("10.91.0.0/16 is full")


class Machine:
    """Another machine, as far as the network is concerned."""

    def __init__(self) -> None:
        self.name = f"gwfar{os.getpid()}"
        self.link = f"gwl{os.getpid()}"[:15]
        self.folder = Path(tempfile.mkdtemp(prefix="gangway-far-"))
        self.server, self.address = free_pair()
        self.agent: subprocess.Popen[str] | None = None
        self.here = ["nsenter", f"--net=/run/netns/{self.name}"]
        try:
            must("ip", "netns", "add", self.name)
            must("ip", "link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns", self.name)
            must("ip", "addr", "add", f"{self.server}/30", "dev", self.link)
            must("ip", "link", "set", self.link, "up")
            for command in (["link", "set", "lo", "up"], ["link", "set", "eth0", "up"],
                            ["addr", "add", f"{self.address}/30", "dev", "eth0"], ["route", "add", "default", "via", self.server]):  # fmt: skip
                must(*self.here, "ip", *command)
        except BaseException:
            self.close()
            raise

    def start_agent(self, server: str, token: str) -> None:
        (self.folder / "token").write_text(token)
        (self.folder / "token").chmod(0o600)
        command = [*self.here, binary(), "agent", "--server", server, "--token-file", self.folder / "token", "--node-name",
                   "far-1", "--address", self.address, "--data-dir", self.folder / "data"]  # fmt: skip
        log = (self.folder / "agent.log").open("a")
        self.agent = subprocess.Popen([*map(str, command)], stdout=log, stderr=log, text=True)

    def said(self) -> str:
        return (self.folder / "agent.log").read_text()

    def is_ready(self, space: Namespace) -> bool:
        path = 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'
        return space.run("get", "node", "far-1", "-o", path).stdout == "True"

    def stop_agent(self) -> None:
        if self.agent is not None:
            self.agent.terminate()
            self.agent.wait(timeout=60)
            self.agent = None

    def leave(self) -> str:
        said = must(*self.here, binary(), "down", "--data-dir", self.folder / "data")
        self.stop_agent()
        return said

    def close(self) -> None:
        self.stop_agent()
        subprocess.run([*self.here, str(binary()), "down", "--data-dir", str(self.folder / "data")], capture_output=True)
        subprocess.run(["ip", "link", "del", self.link], capture_output=True)
        subprocess.run(["ip", "netns", "del", self.name], capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture
def far() -> Iterator[Machine]:
    machine = Machine()
    try:
        yield machine
    finally:
        machine.close()


def test_a_second_machine_joins_runs_pods_and_leaves(far: Machine) -> None:
    with ContainerCluster(up_options=("--bind", far.server)) as cluster:
        token = cluster.gangway("node-token", "far-1", "--data-dir", cluster.data).stdout
        far.start_agent(f"https://{far.server}:{cluster.port}", token)
        with Namespace(cluster, "far") as space:
            space.until(lambda: far.is_ready(space), f"the node to be ready\n{far.said()}")
            space.apply(pod("there", "echo arrived; exec sleep 600", nodeSelector={"kubernetes.io/hostname": "far-1"}))
            space.wait_ready("there")
            # Logs and exec go from the API server to the agent's own port on that machine.
            assert space.logs("there") == "arrived\n"
            assert space.must("exec", "there", "--", "cat", "/etc/hostname").strip() == "there"
            assert space.get("node", "far-1")["status"]["addresses"][0]["address"] == far.address

            # A restarted agent finds its containers again.
            far.stop_agent()
            far.start_agent(f"https://{far.server}:{cluster.port}", token)
            space.until(lambda: space.run("exec", "there", "--", "true").returncode == 0, "the agent to answer again")
            assert space.container("there")["restartCount"] == 0

            assert far.leave() == f"The agent on {far.folder / 'data'} is stopped, and its pods with it.\n"
            space.must("delete", "pod", "there", "--force", "--grace-period=0")  # nobody is left to end it
        left = [line for line in must(*far.here, "ip", "-o", "link").splitlines() if "lo:" not in line and "eth0" not in line]
        assert left == [], "bridges and links of pods"


def test_a_token_is_good_for_its_own_node_only(far: Machine) -> None:
    with ContainerCluster(up_options=("--bind", far.server)) as cluster:
        token = cluster.gangway("node-token", "somebody-else", "--data-dir", cluster.data).stdout
        far.start_agent(f"https://{far.server}:{cluster.port}", token)
        with Namespace(cluster, "far") as space:
            space.until(lambda: "far-1" in far.said(), "the agent to say something")
            assert space.run("get", "node", "far-1").returncode != 0
