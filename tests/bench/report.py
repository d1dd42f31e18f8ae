"""From figures to tables: median and spread of the rounds, the ratio of the servers, and the aim it is held against."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .rounds import Figures

Rounds = dict[str, list[Figures]]  # by server

BEGIN = "<!-- figures: written by tests/bench/run.py --docs -->"
END = "<!-- end of figures -->"


@dataclass(frozen=True)
class Metric:
    title: str
    operation: str
    figure: str
    unit: str
    at_least: float | None = None  # the ratio gangway / real that is aimed at
    at_most: float | None = None
    ceiling: float | None = None  # of Gangway's own figure

    def aim(self) -> str:
        if self.at_least is not None:
            return f"≥ {self.at_least:g} ×"
        if self.at_most is not None:
            return f"≤ 1/{1 / self.at_most:g}"
        return f"≤ {self.ceiling:g} {self.unit}" if self.ceiling is not None else ""

    def is_met(self, real: float, gangway: float) -> bool | None:
        if self.ceiling is not None:
            return gangway <= self.ceiling
        if real == 0 or (self.at_least is None and self.at_most is None):
            return None
        ratio = gangway / real
        return ratio >= self.at_least if self.at_least is not None else ratio <= (self.at_most or 0)


def _cpu(title: str, operation: str) -> Metric:
    return Metric(f"CPU of the server per {title}", operation, "server_cpu_ms", "ms", at_most=1 / 10)


METRICS = (
    Metric("creates, 1 connection", "create_1", "per_second", "/s", at_least=10),
    Metric("creates, 64 connections", "create", "per_second", "/s", at_least=10),
    _cpu("create", "create"),
    Metric("gets", "get", "per_second", "/s"),
    _cpu("get", "get"),
    Metric("status patches", "patch", "per_second", "/s", at_least=10),
    _cpu("status patch", "patch"),
    Metric("list of all pods", "list", "p50_ms", "ms", at_most=1 / 20),
    _cpu("list", "list"),
    Metric("label-selected list", "select", "p50_ms", "ms", at_most=1 / 20),
    _cpu("selected list", "select"),
    Metric("watch deliveries to 100 watchers", "watch", "per_second", "/s", at_least=5),
    _cpu("delivery", "watch"),
    Metric("deletes", "delete", "per_second", "/s", at_least=10),
    _cpu("delete", "delete"),
    Metric("memory, empty", "memory", "empty", "MB", ceiling=30),
    Metric("memory, with the pods", "memory", "pods", "MB", ceiling=100),
    Metric("memory, after everything", "memory", "after", "MB"),
    Metric("ready after its start", "start", "seconds", "s", ceiling=0.3),
)

OPERATIONS = ("create_1", "create", "get", "patch", "list", "select", "watch", "delete")


def number(value: float) -> str:
    """Three significant digits, thousands apart."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _series(rounds: list[Figures], operation: str, figure: str) -> list[float]:
    return [figures[operation][figure] for figures in rounds]


def _with_spread(values: Sequence[float]) -> str:
    middle = number(statistics.median(values))
    return middle if len(values) == 1 else f"{middle} ({number(min(values))}–{number(max(values))})"


def comparison_rows(rounds: Rounds) -> Iterator[tuple[str, ...]]:
    yield ("", "unit", "kube-apiserver + etcd", "gangway", "gangway / real", "aim", "met")
    for metric in METRICS:
        real = _series(rounds["real"], metric.operation, metric.figure)
        gangway = _series(rounds["gangway"], metric.operation, metric.figure)
        middle, base = statistics.median(gangway), statistics.median(real)
        met = metric.is_met(base, middle)
        yield (
            metric.title, metric.unit, _with_spread(real), _with_spread(gangway),
            number(middle / base) if base else "—", metric.aim(), {True: "yes", False: "no", None: ""}[met],
        )  # fmt: skip


def latency_rows(rounds: Rounds) -> Iterator[tuple[str, ...]]:
    """What each request took, and what it cost the client, which shares the machine with the server."""
    heads = ("p50 ms", "p99 ms", "client CPU ms")
    yield ("", *(f"{server}: {head}" for server in ("real", "gangway") for head in heads))
    for operation in OPERATIONS:
        cells = [operation]
        for server in ("real", "gangway"):
            for figure in ("p50_ms", "p99_ms", "client_cpu_ms"):
                value = statistics.median(_series(rounds[server], operation, figure))
                cells.append(number(value) if value else "—")
        yield tuple(cells)


def as_text(rows: Iterator[tuple[str, ...]]) -> str:
    table = list(rows)
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in table)


def as_markdown(rows: Iterator[tuple[str, ...]]) -> str:
    table = list(rows)
    lines = ["| " + " | ".join(row) + " |" for row in table]
    lines.insert(1, "|" + "---|" * len(table[0]))
    return "\n".join(lines)


def write_docs(path: Path, machine: dict[str, str], rounds: Rounds) -> None:
    """Replaces what stands between the two markers."""
    text = path.read_text()
    before, found, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        raise ValueError(f"{path}: the markers of the figures are missing")
    about = "\n".join(f"- {name}: {value}" for name, value in machine.items())
    tables = as_markdown(comparison_rows(rounds)) + "\n\n" + as_markdown(latency_rows(rounds))
    path.write_text(f"{before}{BEGIN}\n\n{about}\n\n{tables}\n\n{END}{after}")
