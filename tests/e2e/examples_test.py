"""Every example, without running what it runs: its cluster file makes nodes, the server takes its manifests and the jobs
that its README submits, and the commands of the README exist, with their flags and files.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.examples import EXAMPLES, commands
from e2e.user import User
from kube.harness.gangway import GangwayCluster, binary
from kube.harness.real import REPOSITORY

NAMES = sorted(folder.parent.name for folder in EXAMPLES.glob("*/README.md"))
IN_EVERY_SHELL = {"cd", "export"}
OF_TWO_WORDS = {"submit", "top", "scaleout", "scalein"}


def documents(file: Path) -> list[dict[str, Any]]:
    return [each for each in yaml.safe_load_all(file.read_text()) if each]


def is_cluster(file: Path) -> bool:
    return any(each["kind"] == "Cluster" for each in documents(file))


def files(example: str, of_clusters: bool) -> list[Path]:
    return [file for file in sorted((EXAMPLES / example).glob("*.yaml")) if is_cluster(file) == of_clusters]


def simple_commands(example: str) -> Iterator[list[str]]:
    """One program and its arguments each: of a pipe, of alternatives, and what a $(…) runs."""
    for line in commands(example):
        inner = re.findall(r"\$\(([^)]*)\)", line)
        for text in (re.sub(r"\$\([^)]*\)", "said", line), *inner):
            lexer = shlex.shlex(text, posix=True, punctuation_chars="|&;")
            lexer.whitespace_split = True
            words: list[str] = []
            for word in [*lexer, ";"]:
                if not set(word) <= set("|&;"):
                    words.append(word)
                elif words:
                    yield words
                    words = []


def help_of(program: str, words: list[str]) -> str:
    names = words[: 2 if words[0] in OF_TWO_WORDS else 1]
    done = subprocess.run([binary().parent / program, *names, "--help"], capture_output=True, text=True)
    assert done.returncode == 0, f"{program} {' '.join(names)}: {done.stdout}{done.stderr}"
    return done.stdout


def check(words: list[str], kubectl: Path) -> None:
    program, *rest = words
    if program in ("arena", "gangway"):
        known = set(re.findall(r"--[a-z][a-z-]*", help_of(program, rest)))
        used = {word.partition("=")[0] for word in rest if word.startswith("--")}
        assert used <= known, f"{shlex.join(words)}: no flag {used - known}"
    elif program == "kubectl":
        assert subprocess.run([kubectl, rest[0], "--help"], capture_output=True).returncode == 0, words
    elif program == "make":
        assert re.search(rf"^{rest[0]}:", (REPOSITORY / "Makefile").read_text(), re.MULTILINE), words
    elif "/" in program:
        assert (REPOSITORY / program).stat().st_mode & 0o100, f"{program} cannot be run"
    else:
        assert program in IN_EVERY_SHELL or shutil.which(program), f"there is no {program}"


@pytest.mark.parametrize("example", NAMES)
def test_the_commands_of_a_readme_exist(example: str, kubectl: Path) -> None:
    assert commands(example), "it says what to type"
    for words in simple_commands(example):
        check(words, kubectl)
    for named in re.findall(r"(?:examples|tools)/[\w./-]+", "\n".join(commands(example))):
        assert (REPOSITORY / named).exists(), named


def folder_for(line: str, example: str) -> Path:
    """Some READMEs are followed from the root of the clone, others from the example's folder."""
    return REPOSITORY if "examples/" in line else EXAMPLES / example


def judged(line: str, example: str, cluster: GangwayCluster, home: Path) -> subprocess.CompletedProcess[str]:
    """A submission, of which nothing is made."""
    typed = line.replace("arena submit", f"{binary().parent / 'arena'} --config {cluster.kubeconfig} submit", 1)
    typed = re.sub(r"( submit \S+)", r"\1 --dry-run=server", typed, count=1)
    return subprocess.run(["/bin/sh", "-c", typed], cwd=folder_for(line, example), env={"HOME": str(home)},
                          capture_output=True, text=True, timeout=90)  # fmt: skip


@pytest.mark.parametrize("example", NAMES)
def test_the_manifests_of_an_example_are_accepted(example: str, kubectl: Path, tmp_path: Path) -> None:
    for file in files(example, of_clusters=True):
        description = yaml.safe_load(file.read_text()) | {"runtime": "simulated"}
        with GangwayCluster(json.dumps(description)) as cluster:
            user = User(kubectl, cluster, "default")
            wanted = sum(node.get("count", 1) for node in description["nodes"])
            assert len(user.sees("nodes")) == wanted
            for manifest in files(example, of_clusters=False):
                user.does("create", "--dry-run=server", "-f", str(manifest))
                if all(each["kind"] == "PriorityClass" for each in documents(manifest)):
                    user.does("create", "-f", str(manifest))
            for line in commands(example):
                if line.startswith("arena submit"):
                    done = judged(line, example, cluster, tmp_path)
                    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
