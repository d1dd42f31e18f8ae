"""What the folders below examples/ say, for tests that do it: the commands of a README, the nodes of a cluster file."""

from __future__ import annotations

import re
from pathlib import Path

from kube.harness.real import REPOSITORY

EXAMPLES = REPOSITORY / "examples"


def commands(example: str) -> list[str]:
    """What the README tells its reader to type, one command an entry, in its words."""
    text = (EXAMPLES / example / "README.md").read_text()
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [re.sub(r" {2,}", " ", line).strip() for line in lines if line.strip()]


def command(example: str, beginning: str) -> str:
    """The last one that begins so, from the root of the clone."""
    found = [each for each in commands(example) if each.startswith(beginning)]
    assert found, f"examples/{example}/README.md does not say {beginning}"
    return f"cd {REPOSITORY} && {found[-1]}"


def nodes(file: Path) -> str:
    """The nodes of a cluster file, for a test that says itself how they run."""
    text = file.read_text()
    return text[text.index("\nnodes:") + 1 :]
