"""Runs cases on the real server and on the subject, side by side, and reports what differs."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Protocol

from ..harness.endpoint import Endpoint
from ..harness.http import Client
from ..served import restrict
from .cases import Case, Step
from .difference import Difference, KnownDifference, differences, ignored, without_ignored
from .execution import Answer, Run
from .normalise import Normaliser

DIFFERENCES_SHOWN = 12


class Server(Protocol):
    endpoint: Endpoint


@dataclass
class Verdict:
    """Passed when there is nothing to say."""

    case: Case
    complaints: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return not self.complaints


@dataclass
class Tally:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


class Comparison:
    def __init__(
        self,
        real: Server,
        subject: Server,
        known: list[KnownDifference],
        patience: float,
        quiet: bool,
    ) -> None:
        self._sides = [(server.endpoint, Client(server.endpoint)) for server in (real, subject)]
        self._known = known
        self._patience = patience
        self._quiet = quiet

    def run(self, cases: Iterable[Case]) -> Tally:
        tally = Tally()
        with ThreadPoolExecutor(max_workers=2) as pool:
            for case in cases:
                if case.skip:
                    tally.skipped += 1
                    print(f"SKIP {case.title}: {case.skip}", flush=True)
                    continue
                verdict = self._compare(case, pool)
                tally.passed += verdict.passed
                tally.failed += not verdict.passed
                self._report(verdict)
        return tally

    def _report(self, verdict: Verdict) -> None:
        if verdict.passed:
            if not self._quiet:
                print(f"ok   {verdict.case.title}", flush=True)
            return
        print(f"FAIL {verdict.case.title}")
        for line in verdict.complaints[:DIFFERENCES_SHOWN]:
            print(f"    {line}")
        if (more := len(verdict.complaints) - DIFFERENCES_SHOWN) > 0:
            print(f"    … and {more} more")
        print(end="", flush=True)

    def _compare(self, case: Case, pool: ThreadPoolExecutor) -> Verdict:
        verdict = Verdict(case)
        runs = [Run(case, endpoint, admin, self._patience) for endpoint, admin in self._sides]
        errors = list(pool.map(_perform, runs))
        for side, error in zip(("real", "ours"), errors):
            if error:
                verdict.complaints.append(f"{side}: {error}")
        normalisers = [Normaliser(), Normaliser()]
        for number, step in enumerate(case.steps):
            answers = [run.answers[number] for run in runs if number < len(run.answers)]
            if len(answers) == 2:
                verdict.complaints.extend(self._complaints(case, number, step, answers, normalisers))
        return verdict

    def _complaints(
        self, case: Case, number: int, step: Step, answers: list[Answer], normalisers: list[Normaliser]
    ) -> list[str]:
        where = f"step {number + 1} {step.method} {step.path}"
        real = answers[0]
        found = []
        if step.expect is not None and real.status != step.expect:
            found.append(f"{where}: the case expects {step.expect}, the real server says {real.status}: {real.body}")
        if step.discovery:
            answers = [replace(answer, body=restrict(answer.body)) for answer in answers]
        answers = [replace(answer, body=without_ignored(answer.body, step.ignore)) for answer in answers]
        theirs, ours = (n.answer(a) for n, a in zip(normalisers, answers))
        if step.compare:
            found.extend(f"{where}: {d}" for d in differences(theirs, ours) if self._matters(case, step, d))
        return found

    def _matters(self, case: Case, step: Step, difference: Difference) -> bool:
        if ignored(difference.path, tuple(f"body.{path}" for path in step.ignore)):
            return False
        return not any(known.covers(case.title, difference) for known in self._known)


def _perform(run: Run) -> str | None:
    try:
        run.prepare()
        for step in run.case.steps:
            run.do(step)
    except Exception as error:  # a broken case or server must not end the whole table
        return f"{type(error).__name__} after {len(run.answers)} steps: {error}"
    finally:
        try:
            run.clean_up()
        except OSError:
            pass  # already reported by the step that met it
    return None
