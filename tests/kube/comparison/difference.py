"""Compares two normalised answers and says, path by path, where they differ."""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ABSENT = object()
SHOWN_CHARACTERS = 300

# Text that shows the inside of a Go program. Ours has to say something there, not the same thing.
GO_TEXT = re.compile(
    r"json: cannot unmarshal|Go struct field|into Go value|cannot convert|invalid character|unexpected end of JSON|"
    r"couldn't get version/kind|converting \(|yaml: |error decoding|strconv\.|unable to decode|no kind \"|"
    r"quantities must match|parsing time|cannot parse|error parsing|json patch|jsonpatch|illegal base64|"
    r"[a-z0-9]+\.[A-Z]\w+\{|Invalid value: \"\{|\bmap: map\[|StorageError: |\+0000 UTC"
)


@dataclass(frozen=True)
class Difference:
    path: str
    real: Any
    ours: Any

    def __str__(self) -> str:
        return f"{self.path}\n        real: {_shown(self.real)}\n        ours: {_shown(self.ours)}"


def _shown(value: Any) -> str:
    if value is ABSENT:
        return "(absent)"
    text = json.dumps(value, sort_keys=True)
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + " …"


def differences(real: Any, ours: Any, path: str = "") -> Iterator[Difference]:
    if isinstance(real, dict) and isinstance(ours, dict):
        for key in sorted(real.keys() | ours.keys()):
            below = f"{path}.{key}" if path else str(key)
            yield from differences(real.get(key, ABSENT), ours.get(key, ABSENT), below)
    elif isinstance(real, list) and isinstance(ours, list):
        if path.endswith("details.causes"):
            real, ours = _distinct_causes(real), _distinct_causes(ours)
        for index in range(max(len(real), len(ours))):
            below = f"{path}.{index}"
            yield from differences(_at(real, index), _at(ours, index), below)
    elif (real != ours or type(real) is not type(ours)) and not _same_saying(path, real, ours):
        yield Difference(path, real, ours)  # types apart, because to Python 1 is True and 1.0


def _distinct_causes(causes: list[Any]) -> list[Any]:
    """In one order, and each once: the real server repeats some."""
    ordered = sorted(causes, key=_cause_order)
    return [cause for index, cause in enumerate(ordered) if index == 0 or cause != ordered[index - 1]]


def _at(items: list[Any], index: int) -> Any:
    return items[index] if index < len(items) else ABSENT


def _cause_order(cause: dict[str, Any]) -> tuple[str, str, str]:
    return str(cause.get("field")), str(cause.get("reason")), str(cause.get("message"))


def _same_saying(path: str, real: Any, ours: Any) -> bool:
    return (
        path.endswith("message") and isinstance(real, str) and isinstance(ours, str)
        and bool(ours) and GO_TEXT.search(real) is not None
    )  # fmt: skip


def ignored(path: str, patterns: tuple[str, ...]) -> bool:
    """`*` stands for one part of a path; a pattern covers everything below it."""
    parts = path.split(".")
    for pattern in patterns:
        wanted = pattern.split(".")
        if len(parts) >= len(wanted) and all(fnmatch.fnmatchcase(p, w) for p, w in zip(parts, wanted)):
            return True
    return False


def without_ignored(value: Any, patterns: tuple[str, ...], path: str = "") -> Any:
    """The value without the fields that are not compared: an identity that nobody looks at is not numbered either."""
    if isinstance(value, list):
        return [without_ignored(item, patterns, f"{path}.{index}".strip(".")) for index, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    below = {key: f"{path}.{key}".strip(".") for key in value}
    return {k: without_ignored(v, patterns, below[k]) for k, v in value.items() if not ignored(below[k], patterns)}


@dataclass
class KnownDifference:
    """A difference that is meant, with the reason that docs/kube-comparison.md gives for it."""

    cases: str
    path: str
    reason: str
    used: bool = False

    def covers(self, title: str, difference: Difference) -> bool:
        if not fnmatch.fnmatchcase(title, self.cases.replace("[", "[[]")):
            return False
        covered = ignored(difference.path, (self.path,)) or self.path == "*"
        self.used = self.used or covered
        return covered


def load_known(path: Path) -> list[KnownDifference]:
    return [KnownDifference(**entry) for entry in yaml.safe_load(path.read_text())["differences"]]
