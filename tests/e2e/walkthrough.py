"""What the walkthroughs share: a shell in which somebody types kubectl and arena, on simulated nodes or in containers.

Commands are typed as the walkthroughs write them, and what is printed is compared with what they show. Values that they
made up (times, the random end of a name) are masked on both sides, and columns are as wide as their longest cell.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from containers.cluster import ContainerCluster, missing_parts
from e2e.arena_user import at_once
from kube.harness.gangway import GangwayCluster, binary
from kube.harness.processes import DeadlineExceeded, wait_for

FORMS = ("simulated", "containers")
DASHES = "-" * 89
# What a program does when it loses another, said to nodes that run none.
PEER_LOSS = "--annotation=gangway.dev/simulated-peer-loss=fail"


class Shell:
    """A folder of files, and a shell there with kubectl, arena and the cluster's KUBECONFIG."""

    def __init__(self, form: str, cluster: GangwayCluster | ContainerCluster, kubectl: Path, folder: Path) -> None:
        self.form = form
        self.folder = folder
        programs = folder / "bin"
        programs.mkdir()
        (programs / "kubectl").symlink_to(kubectl)
        (programs / "arena").symlink_to(binary().parent / "arena")
        self._environment = os.environ | {
            "PATH": f"{programs}:{os.environ['PATH']}", "KUBECONFIG": str(cluster.kubeconfig), "HOME": str(folder),
        }  # fmt: skip

    @property
    def is_real(self) -> bool:
        return self.form == "containers"

    def tries(self, line: str) -> subprocess.CompletedProcess[str]:
        return at_once(subprocess.run(["/bin/sh", "-c", line], cwd=self.folder, env=self._environment,
                                      capture_output=True, text=True, timeout=90))  # fmt: skip

    def types(self, line: str) -> str:
        """What a command that has to succeed prints."""
        done = self.tries(line)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout

    def sees(self, line: str, expected: str, seconds: float = 60) -> None:
        """Until the command prints that; the last that it printed otherwise."""
        wanted = masked(expected)
        last = ""

        def as_shown() -> bool:
            nonlocal last
            done = self.tries(line)
            last = masked(without_reason(done.stdout)) + done.stderr
            return last == wanted

        try:
            wait_for(line, as_shown, seconds=seconds, pause=0.2)
        except DeadlineExceeded:
            raise AssertionError(f"$ {line}\n{last}\n--- expected ---\n{wanted}") from None

    def waits(self, what: str, condition: Callable[[], bool], seconds: float = 60) -> None:
        try:
            wait_for(what, condition, seconds=seconds, pause=0.2)
        except DeadlineExceeded as late:
            raise AssertionError(f"{late}\n{self.picture()}") from None

    def picture(self) -> str:
        """What there is, for whoever reads why a test failed."""
        lines = (
            "arena list -o wide", "kubectl get pods,podgroups -o wide", "kubectl get allotments -o yaml",
            "kubectl get events",
        )  # fmt: skip
        return "\n".join(f"$ {line}\n{done.stdout}{done.stderr}" for line in lines for done in [self.tries(line)])

    def is_in(self, text: str, line: str) -> bool:
        return text in self.tries(line).stdout

    def status(self, job: str) -> str:
        return self.tries(f"arena get {job}").stdout.partition("\n")[0].removeprefix("STATUS: ")


def masked(text: str) -> str:
    text = re.sub(r"(launcher-)[a-z0-9]{5}\b", r"\1xxxxx", text)
    text = re.sub(r"(?<=[ \t])(\d+[smhd])+(?=\s|$)", "<time>", text, flags=re.MULTILINE)
    return "\n".join(re.sub(r" {2,}", "  ", line).rstrip() for line in text.strip().splitlines()) + "\n"


def without_reason(shown: str) -> str:
    """Below the table `arena get` says why, which Arena does not."""
    return re.split(r"^REASON: ", shown, flags=re.MULTILINE)[0]


def events_of(shell: Shell, pod: str) -> list[tuple[str, str, str]]:
    """Type, reason and message, in the order in which kubectl prints them."""
    head, *rows = shell.types(f"kubectl get events --field-selector involvedObject.name={pod}").splitlines()
    assert re.split(r" {2,}", head.strip()) == ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    cells = [re.split(r" {2,}", row.strip(), maxsplit=4) for row in rows]
    assert {row[3] for row in cells} == {f"pod/{pod}"}
    return [(row[1], row[2], row[4]) for row in cells]


def tells_its_story(shell: Shell, found: list[tuple[str, str, str]], *story: tuple[str, str]) -> None:
    """These reasons and messages, in this order, and others between them. Simulated nodes, which start nothing, tell
    nothing: what is left is the scheduler's part."""
    told = [reason for _, reason, _ in found]
    rest = iter(found)
    for reason, text in story:
        if not shell.is_real and reason not in ("Scheduled", "Preempted"):
            assert reason not in told
            continue
        assert any(each[:2] == ("Normal", reason) and text in each[2] for each in rest), (reason, text, found)


def one_place(shell: Shell, job: str) -> tuple[int, int]:
    """The duration of a job and the age of its first row, in seconds."""
    document = shell.types(f"arena get {job}")
    duration = re.search(r"^TRAINING DURATION: (\S+)$", document, re.MULTILINE)
    row = re.search(rf"^{job} +\S+ +\S+ +(\S+) ", document, re.MULTILINE)
    assert duration and row, document
    return seconds(duration[1]), seconds(row[1])


def seconds(text: str) -> int:
    units = {"s": 1, "m": 60, "h": 3600}
    return sum(int(number) * units[unit] for number, unit in re.findall(r"(\d+)([smh])", text))


@contextmanager
def a_shell(form: str, kubectl: Path, description: str, missing: Callable[[], str]) -> Iterator[Shell]:
    """On a cluster of these nodes. `missing`: what real programs need and this machine does not have."""
    if form == "containers" and (lacking := missing_parts() or missing()):
        pytest.skip(f"this machine cannot run it: {lacking}")
    folder = Path(tempfile.mkdtemp(prefix="gangway-walk-"))
    runtime = "oci" if form == "containers" else "simulated"
    text = f"apiVersion: gangway.dev/v1alpha1\nkind: Cluster\nruntime: {runtime}\nimagePolicy: host\n{description}"
    try:
        with ContainerCluster(text) if form == "containers" else GangwayCluster(text) as cluster:
            yield Shell(form, cluster, kubectl, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
