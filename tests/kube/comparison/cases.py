"""The case files: what they may say, and their expansion over the sample kinds.

A file has a `theme` and `cases`. A case has a `name`, `steps`, and optionally
  for_each    true, or a filter {only: [...], except: [...], has: field}: the case is repeated for each sample kind,
              with the sample's fields as variables
  accounts    names of service accounts that steps may act `as`
  cleanup     steps that run in the end, uncompared
A step has one upper-case key, the method (or WATCH) and its path, and optionally the fields of Step.
`${name}` anywhere in a step is a variable: ns (a namespace of the case's own), id (unique to the case), a field of the
sample, or what an earlier step saved. A string that is nothing but a variable takes the variable's value as it is.
"""

from __future__ import annotations

import copy
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

CASES = Path(__file__).resolve().parent.parent / "cases"
METHODS = {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "WATCH"}
VARIABLE = re.compile(r"\$\{([a-z_]+)\}")


class CaseError(Exception):
    """A case file says something that it may not say."""


@dataclass(frozen=True)
class Step:
    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    # A merge patch on the body, for "the sample, but …".
    with_: Mapping[str, Any] | str | None = None
    # The body as it is, where JSON written by us could not say it.
    text: str | None = None
    # A patch type (json, merge, strategic, apply) or a whole media type.
    type: str | None = None
    accept: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    as_: str | None = None
    # What the real server has to answer: the guard against a case that no longer tests what its name says.
    expect: int | None = None
    save: Mapping[str, str] = field(default_factory=dict)
    # Repeat until these hold: `status` is the code, `absent` a path that is not there, any other key a path in the body.
    until: Mapping[str, Any] | None = None
    # Paths that are not compared, `*` for any one part.
    ignore: tuple[str, ...] = ()
    compare: bool = True
    # For WATCH: how many events to read, and how long to wait for them.
    events: int = 0
    seconds: float = 10.0
    bookmarks: bool = False
    # Compare only what both servers are meant to serve.
    discovery: bool = False


@dataclass(frozen=True)
class Case:
    theme: str
    name: str
    steps: tuple[Step, ...]
    cleanup: tuple[Step, ...]
    accounts: tuple[str, ...]
    variables: Mapping[str, Any]
    needs_namespace: bool
    skip: str | None = None

    @property
    def title(self) -> str:
        return f"{self.theme}: {self.name}"

    @property
    def id(self) -> str:
        """Equal on both servers and in every run, and different from every other case's."""
        return "c" + hashlib.sha256(self.title.encode()).hexdigest()[:8]


_STEP_KEYS = {f.name.rstrip("_") for f in fields(Step)} - {"method", "path"}
_CASE_KEYS = {"name", "steps", "cleanup", "accounts", "for_each", "skip"}


def _step(raw: dict[str, Any], where: str) -> Step:
    methods = [key for key in raw if key in METHODS]
    unknown = set(raw) - METHODS - _STEP_KEYS
    if len(methods) != 1 or unknown:
        raise CaseError(f"{where}: a step needs one method and known keys (methods {methods}, unknown {unknown})")
    options = {("as_" if k == "as" else "with_" if k == "with" else k): v for k, v in raw.items() if k not in METHODS}
    if "ignore" in options:
        options["ignore"] = tuple(options["ignore"])
    return Step(method=methods[0], path=raw[methods[0]], **options)


def _wanted(sample: Mapping[str, Any], chosen: Any) -> bool:
    if chosen is True:
        return True
    if unknown := set(chosen) - {"only", "except", "has"}:
        raise CaseError(f"for_each: unknown keys {unknown}")
    if "only" in chosen and sample["kind"] not in chosen["only"]:
        return False
    return sample["kind"] not in chosen.get("except", []) and ("has" not in chosen or chosen["has"] in sample)


def _expand(theme: str, raw: dict[str, Any], samples: list[dict[str, Any]]) -> Iterator[Case]:
    if unknown := set(raw) - _CASE_KEYS:
        raise CaseError(f"{theme}: {raw.get('name')}: unknown keys {unknown}")
    where = f"{theme}: {raw['name']}"
    steps = tuple(_step(step, where) for step in raw["steps"])
    cleanup = tuple(_step(step, where) for step in raw.get("cleanup", []))
    chosen = raw.get("for_each")
    variants: list[Mapping[str, Any]] = [s for s in samples if _wanted(s, chosen)] if chosen else [{}]
    for variables in variants:
        name = f"{raw['name']} [{variables['kind']}]" if variables else raw["name"]
        needs = "${ns}" in repr((raw, dict(variables))) or bool(raw.get("accounts"))
        accounts = tuple(raw.get("accounts", []))
        yield Case(theme, name, steps, cleanup, accounts, variables, needs, raw.get("skip"))


def load_cases(folder: Path = CASES) -> list[Case]:
    samples = yaml.safe_load((folder / "samples.yaml").read_text())["samples"]
    samples = [{"name": "${id}"} | sample for sample in samples]
    cases: list[Case] = []
    for path in sorted(folder.glob("*.yaml")):
        if path.name == "samples.yaml":
            continue
        document = yaml.safe_load(path.read_text())
        for raw in document["cases"]:
            cases.extend(_expand(document["theme"], raw, samples))
    titles = [case.title for case in cases]
    if doubled := {title for title in titles if titles.count(title) > 1}:
        raise CaseError(f"two cases have the same name: {sorted(doubled)}")
    return cases


def substitute(value: Any, variables: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        return {substitute(k, variables): substitute(v, variables) for k, v in value.items()}
    if isinstance(value, list):
        return [substitute(item, variables) for item in value]
    if not isinstance(value, str):
        return value
    if (whole := VARIABLE.fullmatch(value)) and whole[1] in variables:
        return substitute(copy.deepcopy(variables[whole[1]]), variables)

    def text_of(match: re.Match[str]) -> str:
        if match[1] not in variables:
            raise CaseError(f"no variable {match[1]} for {value!r}")
        return str(substitute(variables[match[1]], variables))

    return VARIABLE.sub(text_of, value)


def merge(target: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


def at_path(value: Any, path: str) -> Any:
    """The value at a dotted path, or None; the empty path is the whole value."""
    for part in path.split(".") if path else []:
        if isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        elif isinstance(value, dict) and part in value:
            value = value[part]
        else:
            return None
    return value
