"""Plays the checks one after the other. The later ones need what the earlier ones have set up: the first that fails ends it."""

from __future__ import annotations

import time

from ..comparison.runner import Tally
from .checks import CHECKS
from .cluster import ManagedCluster


def run_checks(quiet: bool) -> Tally:
    tally = Tally()
    with ManagedCluster() as cluster:
        cluster.prepare()
        for check in CHECKS:
            title = check.__name__.replace("_", " ")
            started = time.monotonic()
            try:
                check(cluster)
                cluster.clears()
            except Exception as error:  # the others are not worth playing, and the cluster has to be ended
                tally.failed += 1
                print(f"FAIL manager: {title}\n    {type(error).__name__}: {error}", flush=True)
                return tally
            tally.passed += 1
            if not quiet:
                print(f"ok   manager: {title} ({time.monotonic() - started:.1f} s)", flush=True)
    return tally
