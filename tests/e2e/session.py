"""A scripted kubectl session: reads steps/*.yaml, runs it against a cluster, and writes what happened as a transcript.

A section is one file. Each step has `run` (a shell command line in which `kubectl` is the one under test) and
optionally
  stdin       text for standard input
  editor      a sed script that `kubectl edit` applies
  retry       repeat until it succeeds (or until the output matches, when it is a pattern): for what a cluster does later
  keep, drop  regular expressions: only these lines, or all but these lines, are part of the transcript
  sort        the order of the lines is not part of it
  background  a name: starts the command and waits until it has printed `lines` lines
  collect     a name: waits until that command has printed `lines` lines, ends it and shows its output
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from kube.harness.processes import DeadlineExceeded, wait_for

FOLDER = Path(__file__).resolve().parent
SECONDS = 20.0
STEP_SECONDS = 60.0

REPLACEMENTS: list[tuple[re.Pattern[str], str]] = [
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<uid>"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}"), "<time>"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)? [+-]\d{4}( \w+)?"), "<time>"),
    # What a Go program prints of a whole object, before the part that says what is wrong with it.
    (re.compile(r'Invalid value: "(map\[|\{).*": '), 'Invalid value: "<object>": '),
    (re.compile(r'(resourceVersion"?: "?|Resource Version: +)\d+'), r"\1<version>"),
    (re.compile(r'^(Context ").*(" modified)'), r"\1<context>\2"),
    (re.compile(r"\b(kube-api-access-)[a-z0-9]{5}\b"), r"\1<generated>"),
    (re.compile(r"/tmp/(LIVE|MERGED)-\d+"), r"/tmp/\1"),
    (re.compile(r"/tmp/kubectl-edit-\d+\.yaml"), "/tmp/kubectl-edit.yaml"),
    # Hashes of templates, alone and in the names of sets and pods.
    (re.compile(r"((?:-hash|/hash)\"?[:=] ?\"?)[bcdfghjklmnpqrstvwxz2456789]{6,10}\b"), r"\1<hash>"),
    (re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{7,10}\b"), "-<hash>"),
    (re.compile(r"(-<hash>-|\b(?:front|once|never|later|strict|parts-\d)-)[bcdfghjklmnpqrstvwxz2456789]{5}\b"),
     r"\1<generated>"),
    (re.compile(r"\b10\.\d+\.\d+\.\d+\b"), "<ip>"),
    (re.compile(r"https://127\.0\.0\.1:\d+"), "<server>"),
    (re.compile(r"\b(\d+):3\d{4}/"), r"\1:<port>/"),
    (re.compile(r"(nodePort: )\d+"), r"\1<port>"),
    (re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]+"), "<token>"),
    (re.compile(r"\b(metadata\.name: |made-|name/made-)(made-)?[a-z0-9]{5}\b"), r"\1\2<generated>"),
    (re.compile(r"(?:(?<=[ \t(])|^)(\d+[smhdy])+(?=[ \t)]|$)"), "<age>"),
    (re.compile(r"\b\d+\.\d{3}s\b"), "<duration>"),
]


@dataclass(frozen=True)
class Step:
    run: str = ""
    stdin: str = ""
    editor: str = ""
    retry: bool | str = False
    keep: str = ""
    drop: str = ""
    sort: bool = False
    background: str = ""
    collect: str = ""
    lines: int = 1


@dataclass(frozen=True)
class Section:
    name: str
    steps: list[Step]


def sections() -> list[Section]:
    found = []
    for path in sorted((FOLDER / "steps").glob("*.yaml")):
        found.append(Section(path.stem, [Step(**step) for step in yaml.safe_load(path.read_text())]))
    return found


# What kubectl's library logs of itself depends on the moment at which a time-out falls.
LIBRARY_LOG = re.compile(r"[EWI]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ reflector\.go:")


def normalise(text: str) -> str:
    lines = []
    for line in text.splitlines():
        if LIBRARY_LOG.match(line):
            continue
        for pattern, replacement in REPLACEMENTS:
            line = pattern.sub(replacement, line)
        indent = len(line) - len(line.lstrip(" "))
        # Columns are as wide as their longest cell, and that may be an address or an age.
        lines.append(line[:indent] + re.sub(r"[ \t]{2,}|\t", "  ", line[indent:]).rstrip())
    return "\n".join(lines)


@dataclass
class Cluster:
    """What the session runs against: a kubectl and a kubeconfig of its own copy, which `kubectl config` may change."""

    kubectl: Path
    kubeconfig: Path
    _folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="gangway-session-")))
    _background: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __enter__(self) -> Cluster:
        bin_folder = self._folder / "bin"
        bin_folder.mkdir()
        (bin_folder / "kubectl").symlink_to(self.kubectl)
        config = self._folder / "kubeconfig"
        shutil.copy(self.kubeconfig, config)
        self._environment = os.environ | {
            "PATH": f"{bin_folder}:{os.environ['PATH']}",
            "KUBECONFIG": str(config),
            "KUBECACHEDIR": str(self._folder / "cache"),
            "HOME": str(self._folder),
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
        }
        self._environment.pop("POD_NAMESPACE", None)
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._background.values():
            _end(process)
        shutil.rmtree(self._folder, ignore_errors=True)

    def play(self, section: Section) -> Iterator[str]:
        """One entry of the transcript per step."""
        for step in section.steps:
            yield self._perform(step)

    def _perform(self, step: Step) -> str:
        if step.background:
            self._start(step)
            return f"$ {step.run} &\n"
        if step.collect:
            code, output = 0, self._collect(step)
        else:
            code, output = self._run(step)
        text = normalise(output)
        lines = [
            line for line in text.splitlines()
            if (not step.keep or re.search(step.keep, line)) and not (step.drop and re.search(step.drop, line))
        ]  # fmt: skip
        shown = sorted(lines) if step.sort else lines
        command = step.run or f"(output of {step.collect})"
        return "\n".join([f"$ {command}", *shown, *([f"[exit {code}]"] if code else []), ""])

    def _run(self, step: Step) -> tuple[int, str]:
        deadline = time.monotonic() + SECONDS
        while True:
            code, output = self._once(step)
            pattern = step.retry if isinstance(step.retry, str) else ""
            good = re.search(pattern, output) if pattern else code == 0
            if not step.retry or good or time.monotonic() > deadline:
                return code, output
            time.sleep(0.1)

    def _once(self, step: Step) -> tuple[int, str]:
        editor = {"KUBE_EDITOR": f"sed -i -e '{step.editor}'"} if step.editor else {}
        process = subprocess.Popen(
            ["/bin/sh", "-c", step.run],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self._environment | editor,
            cwd=self._folder,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(step.stdin.encode(), timeout=STEP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # the group: the shell's child holds the pipe open
            output, _ = process.communicate()
            output += f"\n(no end after {STEP_SECONDS:g} s)\n".encode()
        return process.returncode, output.decode(errors="replace")

    def _output_of(self, name: str) -> Path:
        return self._folder / f"{name}.out"

    def _start(self, step: Step) -> None:
        with self._output_of(step.background).open("wb") as output:
            process = subprocess.Popen(
                ["/bin/sh", "-c", f"exec {step.run}"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self._environment,
                cwd=self._folder,
                start_new_session=True,
            )
        self._background[step.background] = process
        self._await_lines(step.background, step.lines)

    def _await_lines(self, name: str, count: int) -> str:
        path = self._output_of(name)

        def enough() -> bool:
            return path.read_bytes().count(b"\n") >= count

        try:
            wait_for(f"{count} lines from {name}", enough, seconds=SECONDS)
        except DeadlineExceeded:
            pass  # the transcript shows what there is, which says more than the missing line
        return "\n".join(path.read_text().splitlines()[:count])

    def _collect(self, step: Step) -> str:
        output = self._await_lines(step.collect, step.lines)
        _end(self._background.pop(step.collect))
        return output


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def transcript(kubectl: Path, kubeconfig: Path, section: Section) -> list[str]:
    with Cluster(kubectl, kubeconfig) as cluster:
        return list(cluster.play(section))


def difference(expected: str, found: str) -> str:
    lines = difflib.unified_diff(expected.splitlines(), found.splitlines(), "a real cluster", "this one", lineterm="")
    return "\n".join(lines)


def expected_path(section: Section) -> Path:
    return FOLDER / "expected" / f"{section.name}.txt"


def expected_entries(section: Section) -> list[str]:
    text = expected_path(section).read_text()
    return [f"$ {entry}" for entry in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]]


