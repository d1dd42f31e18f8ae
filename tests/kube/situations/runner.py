"""Plays situations on both sides and reports how their ends differ."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..comparison.difference import KnownDifference, differences
from ..comparison.runner import Tally
from .outcome import ending
from .sides import Side
from .situation import Situation


def complaints(
    situation: Situation, real: dict[str, Any], subject: dict[str, Any], known: list[KnownDifference]
) -> list[str]:
    """What is wrong with the two outcomes. Where ours is meant to differ, it has to differ as the situation says."""
    found = [f"with kube-scheduler it does not end as the situation says: {d}"
             for d in differences(ending(real), situation.ends)]  # fmt: skip
    found += [str(d) for d in differences(real, subject) if not any(k.covers(situation.title, d) for k in known)]
    if known and situation.ours is not None:
        found += [f"with ours it does not end as the situation says: {d}"
                  for d in differences(situation.ours, ending(subject))]  # fmt: skip
    return found


class Playing:
    """Each side plays all situations in its own time, in threads of its own that outlive what they start."""

    def __init__(self, real: Side, subject: Side, known: list[KnownDifference], quiet: bool) -> None:
        self._sides = (real, subject)
        self._known = known
        self._quiet = quiet

    def run(self, situations: Sequence[Situation]) -> Tally:
        tally = Tally()
        pools = [ThreadPoolExecutor(max_workers=side.at_once) for side in self._sides]
        try:
            played = [[pool.submit(_attempt, side, situation) for situation in situations]
                      for pool, side in zip(pools, self._sides)]  # fmt: skip
            for situation, *outcomes in zip(situations, *played):
                said = self._compare(situation, [outcome.result() for outcome in outcomes])
                tally.passed += not said
                tally.failed += bool(said)
                if said or not self._quiet:
                    print(f"{'FAIL' if said else 'ok  '} {situation.title}", flush=True)
                for line in said:
                    print(f"    {line}", flush=True)
        finally:
            for pool in pools:
                pool.shutdown(cancel_futures=True)
        return tally

    def _compare(self, situation: Situation, outcomes: list[dict[str, Any] | str]) -> list[str]:
        real, subject = outcomes
        if isinstance(real, str) or isinstance(subject, str):
            return [f"{name}: {found}" for name, found in (("real", real), ("ours", subject)) if isinstance(found, str)]
        return complaints(situation, real, subject, self._known)


def _attempt(side: Side, situation: Situation) -> dict[str, Any] | str:
    try:
        return side.play(situation)
    except Exception as error:  # one situation must not end the whole table
        return f"{type(error).__name__}: {error}"
