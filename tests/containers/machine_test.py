"""What machines and nodes may be like: where containers cannot run that is said, and nodes may be called anything and
be said to be anywhere."""

from __future__ import annotations

import fcntl
import subprocess
import tempfile
from pathlib import Path

from containers.cluster import ContainerCluster, Namespace, pod
from kube.harness.gangway import binary

# Everything below it is this machine's.
CHROOT = """
set -e
mount --make-rprivate /
for folder in /*; do
  [ -d "$folder" ] && [ ! -L "$folder" ] || { cp -P "$folder" "$0$folder" 2>/dev/null || true; continue; }
  case $folder in /tmp | /lost+found) continue ;; esac
  mkdir "$0$folder"
  mount --rbind "$folder" "$0$folder"
done
mkdir "$0/tmp"
cp "$1" "$0/tmp/gangway"
status=0
chroot "$0" /tmp/gangway up --runtime oci --detach --port 0 --data-dir /tmp/data || status=$?
[ $status -ne 0 ] || chroot "$0" /tmp/gangway down --data-dir /tmp/data
exit $status
"""


def test_no_containers_in_a_chroot() -> None:
    with tempfile.TemporaryDirectory(prefix="gangway-chroot-") as folder:
        Path(folder).chmod(0o755)
        asked = ["unshare", "--mount", "sh", "-c", CHROOT, folder, str(binary())]
        done = subprocess.run(asked, capture_output=True, text=True, timeout=120)
    assert done.returncode != 0
    assert "not possible on this machine" in done.stderr, done.stderr
    assert "this is a chroot" in done.stderr, done.stderr


NAMED_LIKE_AN_ADDRESS = """\
apiVersion: gangway.dev/v1alpha1
kind: Cluster
runtime: oci
imagePolicy: host
nodes:
- {name: 192.168.0.23, capacity: {cpu: "4", memory: 8Gi}}
"""


def test_a_node_that_is_called_like_an_address_is_reached() -> None:
    with ContainerCluster(NAMED_LIKE_AN_ADDRESS) as cluster, Namespace(cluster, "addressed") as space:
        space.create_pod("talks", "echo hello; sleep 600")
        space.wait_ready("talks")
        assert space.logs("talks") == "hello\n"
        assert space.must("exec", "talks", "--", "echo", "reached") == "reached\n"


ELSEWHERE = """\
apiVersion: gangway.dev/v1alpha1
kind: Cluster
runtime: oci
imagePolicy: host
nodes:
- {name: 192.168.0.20, address: 192.168.0.20, roles: [master], capacity: {cpu: "4", memory: 8Gi}}
- {name: 192.168.0.23, address: 192.168.0.23, capacity: {cpu: "4", memory: 8Gi}}
"""


def test_nodes_have_the_addresses_that_the_file_says_and_are_reached_here() -> None:
    with ContainerCluster(ELSEWHERE) as cluster, Namespace(cluster, "elsewhere") as space:
        addresses = "jsonpath={.items[*].status.addresses[?(@.type=='InternalIP')].address}"
        assert space.must("get", "nodes", "-o", addresses) == "192.168.0.20 192.168.0.23"
        space.create_pod("talks", "echo hello; sleep 600")
        space.wait_ready("talks")
        assert space.get("pod", "talks")["status"]["hostIP"] == "192.168.0.23"
        assert space.logs("talks") == "hello\n"
        assert space.must("exec", "talks", "--", "echo", "reached") == "reached\n"
        space.until(lambda: space.run("top", "pod", "talks").returncode == 0, "what it uses")
        # A probe of a pod on the machine's network goes to where that is.
        probe = {"httpGet": {"port": 28643, "path": "/"}, "periodSeconds": 1}
        serve = ["python3", "-m", "http.server", "28643", "--directory", "/usr/share/doc"]
        space.apply(pod("open", container={"command": serve, "readinessProbe": probe}, hostNetwork=True))
        space.wait_ready("open")
        cluster.down()
        cluster.up()
        space.until(lambda: space.run("exec", "talks", "--", "true").returncode == 0, "the next agent to answer")


def test_an_agent_that_cannot_start_says_why() -> None:
    with tempfile.TemporaryDirectory(prefix="gangway-held-") as folder:
        (Path(folder) / "agent").mkdir()
        with (Path(folder) / "agent" / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            asked = [str(binary()), "up", "--runtime", "oci", "--port", "0", "--data-dir", folder]
            for how in (["--detach"], []):
                done = subprocess.run([*asked, *how], capture_output=True, text=True, timeout=50)
                assert done.returncode == 1
                assert f"the agent cannot start: an agent is already running on {folder}" in done.stderr, done.stderr
                assert f"its log is {folder}/agent/agent.log" in done.stderr
