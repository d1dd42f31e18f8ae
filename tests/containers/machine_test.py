"""What machines and nodes may be like: where containers cannot run that is said, and nodes may be called anything."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from containers.cluster import ContainerCluster, Namespace
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
