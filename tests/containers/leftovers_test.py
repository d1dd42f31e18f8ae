"""What a cluster leaves on the machine: nothing."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time

from containers.cluster import ContainerCluster, Namespace, pod


def left_on_machine(cluster: ContainerCluster) -> dict[str, list[str]]:
    """What the machine has of this cluster, by its id and its folder; other clusters may come and go meanwhile."""
    said = (cluster.data / "agent" / "agent.log").read_text()
    id = re.findall(r"id=(gw[0-9a-f]{8})", said)[-1]

    def lines(*command: str) -> list[str]:
        return [line for line in subprocess.run(command, capture_output=True, text=True).stdout.splitlines() if id in line]

    mounts = [line.split()[1] for line in open("/proc/self/mounts", encoding="utf8")]
    found = {
        "links": lines("ip", "-o", "link"),
        "namespaces": lines("ip", "netns", "list"),
        "tables": lines("nft", "list", "tables"),
        "mounts": [path for path in mounts if id in path or str(cluster.folder) in path],
        "cgroups": sorted({path for path, _, _ in os.walk("/sys/fs/cgroup") if id in os.path.basename(path)}),
        "run": [path for path in os.listdir("/run/gangway") if id in path],
        "processes": processes(str(cluster.folder)),
    }
    return {what: left for what, left in found.items() if left}


def processes(word: str) -> list[str]:
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            command = open(f"/proc/{entry}/cmdline", "rb").read().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if word in command:
            found.append(command)
    return sorted(found)


def test_down_leaves_nothing_behind_and_up_goes_on() -> None:
    cluster = ContainerCluster()
    try:
        with Namespace(cluster, "work") as space:
            space.apply(pod("one", "sleep 600"), pod("two", "sleep 600", container={"resources": {"limits": {"nvidia.com/gpu": "1"}}}))
            space.wait_ready("one", "two")
            assert set(left_on_machine(cluster)) == {"links", "namespaces", "tables", "mounts", "cgroups", "run", "processes"}
            cluster.down()
            assert left_on_machine(cluster) == {}
            cluster.up()
            space.wait_ready("one", "two")
            assert space.container("one")["restartCount"] == 1
        cluster.down()
        assert left_on_machine(cluster) == {}
    finally:
        cluster.close()


def test_after_a_crash_of_everything_down_still_cleans_up() -> None:
    cluster = ContainerCluster()
    try:
        with Namespace(cluster, "work") as space:
            space.apply(pod("one", "sleep 600"))
            space.wait_ready("one")
            for name in (cluster.data / "gangway.pid", cluster.data / "agent" / "agent.pid"):
                os.kill(int(name.read_text()), signal.SIGKILL)
            time.sleep(0.5)
            cluster.gangway("down", "--data-dir", cluster.data)
            assert left_on_machine(cluster) == {}
            cluster.up()
            space.wait_ready("one")
    finally:
        cluster.close()
