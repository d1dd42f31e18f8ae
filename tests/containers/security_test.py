"""Who a container is, what it may, and what of the machine it must not see."""

from __future__ import annotations

from containers.cluster import Namespace
from containers.life_test import ended


def test_user_and_groups(space: Namespace) -> None:
    context = {"runAsUser": 1234, "runAsGroup": 2345, "fsGroup": 3456, "supplementalGroups": [4567]}
    volumes = [{"name": "v", "emptyDir": {}}]
    mounts = {"volumeMounts": [{"name": "v", "mountPath": "/v"}]}
    output = space.run_to_end("who", "id -u; id -g; id -G; stat -c %g /v; touch /v/mine && echo wrote",
                              container=mounts, securityContext=context, volumes=volumes)  # fmt: skip
    user, group, groups, owner, wrote = output.splitlines()
    assert (user, group, owner, wrote) == ("1234", "2345", "3456", "wrote")
    assert {"3456", "4567"} <= set(groups.split())


def test_root_is_refused_to_those_who_must_not_be_root(space: Namespace) -> None:
    space.create_pod("noroot", "true", securityContext={"runAsNonRoot": True})
    status = space.wait_container("noroot", lambda s: "waiting" in s["state"] and
                                  s["state"]["waiting"]["reason"] == "CreateContainerConfigError", "held")  # fmt: skip
    assert "root" in status["state"]["waiting"]["message"]


def test_a_read_only_root(space: Namespace) -> None:
    context = {"securityContext": {"readOnlyRootFilesystem": True}}
    assert space.run_to_end("fixed", "touch /x 2>/dev/null || echo refused", container=context) == "refused\n"


def test_capabilities_can_be_dropped(space: Namespace) -> None:
    context = {"securityContext": {"capabilities": {"drop": ["ALL"]}, "allowPrivilegeEscalation": False}}
    output = space.run_to_end("bare", "grep -E 'CapEff|NoNewPrivs' /proc/self/status", container=context)
    assert output.split() == ["CapEff:", "0000000000000000", "NoNewPrivs:", "1"]


def test_the_machine_keeps_its_secrets(space: Namespace) -> None:
    data = space.cluster.data
    script = f"ls -A /root /home {data} 2>/dev/null | grep -v ':$' | tr -d '\\n'; cat /etc/shadow | wc -c; ls -A /etc/ssh 2>/dev/null | wc -l"
    assert space.run_to_end("curious", script).split() == ["0", "0"]


def test_what_a_container_writes_is_its_own(space: Namespace) -> None:
    import pathlib

    assert space.run_to_end("writes", "echo x > /etc/gangway-test-mark && cat /etc/gangway-test-mark") == "x\n"
    assert not pathlib.Path("/etc/gangway-test-mark").exists()
    output = space.run_to_end("sees", "ls /etc/gangway-test-mark 2>/dev/null || echo none")
    assert output == "none\n"


def test_processes_of_others_are_out_of_sight(space: Namespace) -> None:
    space.create_pod("other", "sleep 600")
    space.wait_phase("other", "Running")
    output = space.run_to_end("alone", "ls /proc | grep -c '^[0-9]'")
    assert int(output) < 8


def test_a_crash_does_not_pass_for_success(space: Namespace) -> None:
    space.create_pod("killed", "kill -SEGV $$$$; sleep 5", restartPolicy="Never")
    space.wait_phase("killed", "Failed")
    assert ended(space.container("killed"))["exitCode"] == 139
