#!/usr/bin/python3
"""kill -9 in the middle of concurrent writers: nothing acknowledged is lost, nothing is half-done.

After each restart: every acknowledged write is there, a write without an answer happened wholly or not at all, revisions
never go back, and watches go on where they were or are told that they expired (410).

    crash_test.py [--rounds N] [--seed S] [--subject gangway|real]
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from random import Random
from typing import Protocol

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from e2e.crash_model import GONE, LISTING, Ledger, Mirror, Writer, number_of
from kube.harness.endpoint import Endpoint
from kube.harness.gangway import GangwayCluster
from kube.harness.http import Client
from kube.harness.processes import exit_on_sigterm
from kube.harness.real import RealCluster

WRITERS = 8
SECONDS = 60.0


class Crashable(Protocol):
    endpoint: Endpoint

    def kill(self) -> None: ...

    def start(self) -> None: ...


class CrashableReal(RealCluster):
    """The real API server, killed in front of an etcd that stays: what the test itself is tried on."""

    def __init__(self) -> None:
        super().__init__(controllers=())

    def kill(self) -> None:
        self.kill_apiserver()

    def start(self) -> None:
        self.start_apiserver()


def play(server: Crashable, rounds: int, seed: int) -> str:
    """Runs the rounds and says in a line what happened; the first violation is an AssertionError."""
    Client(server.endpoint).must("POST", "/api/v1/namespaces", {"metadata": {"name": "crash"}})
    ledger = Ledger()
    mirror = Mirror(server.endpoint)
    mirror.start()
    try:
        for number in range(rounds):
            crash_while_writing(server, ledger, f"{seed}/{number}")
            server.start()
            check_after_restart(server, ledger, mirror, number)
    finally:
        mirror.stop()
    return (
        f"{rounds} crashes, {ledger.acknowledged} acknowledged writes kept, "
        f"{mirror.resumed} watches resumed, {mirror.expired} expired"
    )


def crash_while_writing(server: Crashable, ledger: Ledger, seed: str) -> None:
    wanted = ledger.acknowledged + Random(seed).randint(20, 200)
    writers = [Writer(server.endpoint, ledger, number, seed) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    reached = ledger.wait_for_count(wanted, SECONDS)
    server.kill()
    for writer in writers:
        writer.join(SECONDS)
        assert not writer.is_alive(), "a writer still waits for an answer of a server that is dead"
    failures = [writer.failure for writer in writers if writer.failure]
    assert not failures, f"refused writes: {failures}"
    assert reached, f"only {ledger.acknowledged} of {wanted} writes were acknowledged within {SECONDS:g} s"


def check_after_restart(server: Crashable, ledger: Ledger, mirror: Mirror, number: int) -> None:
    listing = Client(server.endpoint).must("GET", LISTING)
    found = {item["metadata"]["name"]: number_of(item) for item in listing["items"]}
    assert found.keys() <= ledger.keys.keys(), f"round {number}: nobody wrote {found.keys() - ledger.keys.keys()}"
    for name, key in ledger.keys.items():
        state = found.get(name, GONE)
        assert key.allows(state), (
            f"round {number}: {name} is {state}, acknowledged was {key.acknowledged}, without answer {key.attempted}"
        )
        key.settle(state)
    revision = int(listing["metadata"]["resourceVersion"])
    assert revision >= ledger.highest_revision, (
        f"round {number}: revision {revision} after the restart, {ledger.highest_revision} was acknowledged before"
    )
    caught_up = mirror.wait_until(lambda state: state == found, SECONDS)
    assert mirror.failure is None, f"round {number}: {mirror.failure}"
    assert caught_up, f"round {number}: the watch never showed what the list shows"


def replay_command(rounds: int, seed: int) -> str:
    return f"{Path(__file__).resolve()} --rounds {rounds} --seed {seed}"


def test_crashes() -> None:
    rounds = int(os.environ.get("GANGWAY_CRASH_ROUNDS", "5"))
    seed = int(os.environ.get("GANGWAY_CRASH_SEED", "1"))
    print("replay:", replay_command(rounds, seed))
    with GangwayCluster() as server:
        print(play(server, rounds, seed))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--subject", choices=["gangway", "real"], default="gangway")
    options = parser.parse_args()
    exit_on_sigterm()
    print("replay:", replay_command(options.rounds, options.seed), flush=True)
    server: CrashableReal | GangwayCluster = CrashableReal() if options.subject == "real" else GangwayCluster()
    with server:
        print(play(server, options.rounds, options.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
