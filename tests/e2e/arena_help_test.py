"""What `arena` says about itself: every command has help with an example, and what is mistyped is named."""

from __future__ import annotations

import subprocess

import pytest

from kube.harness.gangway import binary

TYPES = ["mpijob", "mpi", "mj", "pytorchjob", "pytorch", "tfjob", "tf", "rayjob", "rj", "etjob", "et", "horovodjob", "horovod"]
COMMANDS = [
    "submit", *(f"submit {word}" for word in TYPES), "get", "list", "ls", "logs", "log", "describe", "events", "top",
    "top node", "top job", "delete", "del", "prune", "suspend", "resume", "restart", "attach", "scaleout", "scaleout etjob",
    "scaleout et", "scalein", "scalein etjob", "scalein et", "data", "data list", "whoami", "version", "completion",
]  # fmt: skip


def arena(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(binary().parent / "arena"), *words], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command: str) -> None:
    done = arena(*command.split(), "--help")
    assert done.returncode == 0, done.stderr
    examples = done.stdout.partition("Examples:")[2]
    assert "  arena " in examples or "(arena " in examples, done.stdout


WRONG = [
    ("get demo -o xml", "--output: must be one of [wide|json|yaml] (got xml)"),
    ("list -o", "--output"),
    ("list --colour", "unknown flag: --colour"),
    ("logs demo --tail=many", "--tail"),
    ("logs demo --attempt=first", "--attempt"),
    ("logs", "job is required"),
    ("delete", "jobs is required"),
    ("prune", "--since"),
    ("prune --since=soon", "--since"),
    ("top node --refresh", "--refresh"),
    ("top job --refresh", "--refresh"),
    ("scaleout etjob", 'required flag(s) "name" not set'),
    ("scaleout etjob --name=demo --count=0", "--count: must be at least 1 (got 0)"),
    ("scalein etjob --name=demo --count=some", "--count"),
    ("completion fish", "fish"),
    ("frobnicate", "unknown command or argument: frobnicate"),
    ("version --loglevel=loud", "--loglevel"),
]


@pytest.mark.parametrize(("command", "message"), WRONG)
def test_what_is_mistyped_is_named(command: str, message: str) -> None:
    done = arena(*command.split())
    assert done.returncode == 1, done.stdout
    assert done.stderr.startswith("ERRO[") and message in done.stderr, done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_knows_the_commands(shell: str) -> None:
    script = arena("completion", shell)
    assert script.returncode == 0
    for word in ("submit", "pytorchjob", "--on-preempt", "scaleout", "--watch"):
        assert word in script.stdout, word
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=script.stdout, text=True, check=True)
