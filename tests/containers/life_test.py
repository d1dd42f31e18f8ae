"""The life of a pod: how it starts, restarts, is probed, ends and is ended."""

from __future__ import annotations

import time

from containers.cluster import Namespace

MARK = "/shared/marks"
SHARED = {"volumes": [{"name": "shared", "emptyDir": {}}]}
MOUNT = {"volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}


def ended(status: dict) -> dict:
    return status.get("state", {}).get("terminated", {})


def waiting(status: dict) -> str:
    return status.get("state", {}).get("waiting", {}).get("reason", "")


def test_a_pod_that_ends_well_has_succeeded(space: Namespace) -> None:
    space.create_pod("good", "echo done", restartPolicy="Never")
    pod = space.wait_phase("good", "Succeeded", "Failed")
    assert pod["status"]["phase"] == "Succeeded"
    state = ended(pod["status"]["containerStatuses"][0])
    assert (state["exitCode"], state["reason"]) == (0, "Completed")
    assert state["startedAt"] <= state["finishedAt"]
    assert space.logs("good") == "done\n"
    reasons = [reason for reason, _ in space.events("good")]
    assert {"Scheduled", "Pulled", "Created", "Started"} <= set(reasons)
    assert any("own root file system" in text for reason, text in space.events("good") if reason == "Pulled")


def test_a_pod_that_ends_badly_has_failed_with_its_exit_code(space: Namespace) -> None:
    space.create_pod("bad", "exit 3", restartPolicy="Never")
    pod = space.wait_phase("bad", "Succeeded", "Failed")
    state = ended(pod["status"]["containerStatuses"][0])
    assert (pod["status"]["phase"], state["exitCode"], state["reason"]) == ("Failed", 3, "Error")


def test_a_program_that_does_not_exist_is_named(space: Namespace) -> None:
    space.create_pod("none", container={"command": ["/no/such/program"]}, restartPolicy="Never")
    space.wait_phase("none", "Failed")
    state = ended(space.container("none"))
    assert state["exitCode"] in (127, 128)
    assert "/no/such/program" in state.get("message", "") + space.logs("none")


def test_always_restarts_and_backs_off(space: Namespace) -> None:
    space.create_pod("loop", "exit 1")
    space.wait_container("loop", lambda s: s["restartCount"] >= 1, "restarted")
    status = space.wait_container("loop", lambda s: waiting(s) == "CrashLoopBackOff", "CrashLoopBackOff")
    assert status["lastState"]["terminated"]["exitCode"] == 1
    assert space.phase("loop") == "Running"
    space.wait_event("loop", "BackOff", "Back-off restarting failed container")


def test_on_failure_restarts_only_failures(space: Namespace) -> None:
    script = "if [ -e /shared/second ]; then exit 0; fi; touch /shared/second; exit 1"
    space.create_pod("retry", script, container=MOUNT, restartPolicy="OnFailure", **SHARED)
    space.wait_phase("retry", "Succeeded")
    assert space.container("retry")["restartCount"] == 1


def test_init_containers_run_one_after_another(space: Namespace) -> None:
    init = [
        {"name": f"i{n}", "image": "host", "command": ["sh", "-c", f"echo {n} >> {MARK}"], **MOUNT} for n in (1, 2)
    ]
    output = space.run_to_end("inits", f"cat {MARK}", container=MOUNT, initContainers=init, **SHARED)
    assert output == "1\n2\n"
    statuses = space.get("pod", "inits")["status"]["initContainerStatuses"]
    assert [ended(s)["reason"] for s in statuses] == ["Completed", "Completed"]


def test_a_failing_init_container_fails_the_pod(space: Namespace) -> None:
    init = [{"name": "i", "image": "host", "command": ["sh", "-c", "exit 4"]}]
    space.create_pod("noinit", "echo never", initContainers=init, restartPolicy="Never")
    space.wait_phase("noinit", "Failed")
    assert "Init:Error" in space.must("get", "pod", "noinit", "--no-headers")
    assert not ended(space.container("noinit"))


def test_a_sidecar_lives_as_long_as_the_pod(space: Namespace) -> None:
    sidecar = {
        "name": "side", "image": "host", "restartPolicy": "Always",
        "command": ["sh", "-c", f"echo up > {MARK}; trap 'exit 0' TERM; while :; do sleep 0.1; done"], **MOUNT,
    }  # fmt: skip
    script = f"while [ ! -e {MARK} ]; do sleep 0.1; done; echo main"
    output = space.run_to_end("withside", script, container=MOUNT, initContainers=[sidecar], **SHARED)
    assert output == "main\n"
    side = space.container("withside", "side", "initContainerStatuses")
    assert ended(side), side


def test_liveness_restarts_what_hangs(space: Namespace) -> None:
    probe = {"exec": {"command": ["sh", "-c", "[ ! -e /tmp/dead ]"]}, "periodSeconds": 1, "failureThreshold": 1}
    script = "rm -f /tmp/dead; sleep 2; touch /tmp/dead; sleep 600"
    space.create_pod("hang", script, container={"livenessProbe": probe}, terminationGracePeriodSeconds=1)
    space.wait_container("hang", lambda s: s["restartCount"] >= 1, "restarted")
    space.wait_event("hang", "Unhealthy", "Liveness probe failed")
    space.wait_event("hang", "Killing", "failed liveness probe, will be restarted")


def test_readiness_by_http_decides_on_ready(space: Namespace) -> None:
    probe = {"httpGet": {"path": "/ok", "port": 8000}, "periodSeconds": 1}
    script = "mkdir /tmp/w; cd /tmp/w; exec python3 -m http.server 8000"
    space.create_pod("web", script, container={"readinessProbe": probe})
    space.wait_phase("web", "Running")
    assert not space.is_ready("web")
    space.must("exec", "web", "--", "touch", "/tmp/w/ok")
    space.wait_ready("web")
    space.must("exec", "web", "--", "rm", "/tmp/w/ok")
    space.until(lambda: not space.is_ready("web"), "not ready any more")
    assert space.container("web")["restartCount"] == 0


def test_a_startup_probe_by_tcp_holds_the_others_back(space: Namespace) -> None:
    startup = {"tcpSocket": {"port": 8001}, "periodSeconds": 1, "failureThreshold": 30}
    liveness = {"exec": {"command": ["test", "-e", "/tmp/started"]}, "periodSeconds": 1, "failureThreshold": 1}
    script = "sleep 3; touch /tmp/started; exec python3 -m http.server 8001"
    space.create_pod("slow", script, container={"startupProbe": startup, "livenessProbe": liveness})
    space.wait_container("slow", lambda s: s.get("started"), "started")
    assert space.container("slow")["restartCount"] == 0


def test_post_start_runs_in_the_container(space: Namespace) -> None:
    hook = {"postStart": {"exec": {"command": ["sh", "-c", "echo hook > /tmp/hook"]}}}
    space.create_pod("hooked", "sleep 600", container={"lifecycle": hook})
    space.wait_phase("hooked", "Running")
    assert space.must("exec", "hooked", "--", "cat", "/tmp/hook") == "hook\n"


def test_the_end_is_pre_stop_then_sigterm_within_the_grace(space: Namespace, tmp_path) -> None:
    volumes = [{"name": "out", "hostPath": {"path": str(tmp_path), "type": "Directory"}}]
    hook = {"preStop": {"exec": {"command": ["sh", "-c", "echo prestop >> /out/marks"]}}}
    script = "trap 'echo term >> /out/marks; exit 0' TERM; touch /out/up; while :; do sleep 0.1; done"
    container = {"lifecycle": hook, "volumeMounts": [{"name": "out", "mountPath": "/out"}]}
    space.create_pod("polite", script, container=container, volumes=volumes, terminationGracePeriodSeconds=20)
    space.until(lambda: (tmp_path / "up").exists(), "the trap")
    begun = time.monotonic()
    space.must("delete", "pod", "polite")
    assert (tmp_path / "marks").read_text() == "prestop\nterm\n"
    assert time.monotonic() - begun < 15


def test_sigkill_comes_when_the_grace_is_over(space: Namespace, tmp_path) -> None:
    volumes = [{"name": "out", "hostPath": {"path": str(tmp_path)}}]
    script = "trap '' TERM; touch /out/up; while :; do date +%s > /out/alive; sleep 0.1; done"
    container = {"volumeMounts": [{"name": "out", "mountPath": "/out"}]}
    space.create_pod("stubborn", script, container=container, volumes=volumes, terminationGracePeriodSeconds=2)
    space.until(lambda: (tmp_path / "up").exists(), "the trap")
    space.must("delete", "pod", "stubborn")
    last = (tmp_path / "alive").read_text()
    time.sleep(1.5)
    assert (tmp_path / "alive").read_text() == last


def test_a_signal_reaches_a_program_that_has_no_handler(space: Namespace) -> None:
    """PID 1 of a namespace ignores signals without a handler; an init stands in its place."""
    space.create_pod("plain", container={"command": ["sleep", "600"]}, terminationGracePeriodSeconds=30)
    space.wait_phase("plain", "Running")
    begun = time.monotonic()
    space.must("delete", "pod", "plain")
    assert time.monotonic() - begun < 15


def test_out_of_memory_is_named(space: Namespace) -> None:
    script = "exec python3 -c 'b = bytearray(400 << 20); print(len(b))'"
    limits = {"resources": {"limits": {"memory": "64Mi"}}}
    space.create_pod("hungry", script, container=limits, restartPolicy="Never")
    space.wait_phase("hungry", "Failed")
    state = ended(space.container("hungry"))
    assert (state["reason"], state["exitCode"]) == ("OOMKilled", 137)


def test_an_active_deadline_fails_the_pod(space: Namespace) -> None:
    space.create_pod("late", "sleep 600", activeDeadlineSeconds=2)
    pod = space.wait_phase("late", "Failed")
    assert pod["status"]["reason"] == "DeadlineExceeded"


def test_a_termination_message_is_shown(space: Namespace) -> None:
    space.create_pod("told", "echo last words > /dev/termination-log; exit 2", restartPolicy="Never")
    space.wait_phase("told", "Failed")
    assert ended(space.container("told"))["message"] == "last words\n"


def test_the_log_stands_in_for_a_termination_message(space: Namespace) -> None:
    policy = {"terminationMessagePolicy": "FallbackToLogsOnError"}
    space.create_pod("logged", "echo from the log; exit 2", container=policy, restartPolicy="Never")
    space.wait_phase("logged", "Failed")
    assert ended(space.container("logged"))["message"] == "from the log\n"
