#!/usr/bin/python3
"""Compares Gangway with the real Kubernetes control plane.

    run.py                         everything
    run.py --part cases --filter 'patch'      the cases whose title matches a regular expression
    run.py --case 'patches: a merge patch …'  one case by its exact title
    run.py --part manager          `gangway manager` on the real kube-apiserver, as its own account
    run.py --subject real          a second real server in Gangway's place: has to pass, else the tests are wrong
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from e2e.session import difference, sections, transcript
from kube.comparison.cases import Case, load_cases
from kube.comparison.difference import KnownDifference, load_known
from kube.comparison.runner import Comparison, Tally
from kube.harness.gangway import GangwayCluster
from kube.harness.http import Client, serve_definition
from kube.harness.processes import exit_on_sigterm
from kube.harness.real import SHARED_CONTROLLERS, ACTING_CONTROLLERS, RealCluster, ensure_built
from kube.managed_fields.fragments import WIDGETS
from kube.managed_fields.sequences import all_sequences
from kube.manager.runner import run_checks
from kube.schema_fields import compare_schemas
from kube.situations.runner import Playing
from kube.situations.sides import OurSide, RealSide
from kube.situations.situation import Situation, load_situations

Subject = RealCluster | GangwayCluster
HERE = Path(__file__).resolve().parent


Titled = TypeVar("Titled", Case, Situation)


def chosen(cases: list[Titled], options: argparse.Namespace) -> list[Titled]:
    if options.case:
        cases = [case for case in cases if case.title == options.case]
    if options.filter:
        cases = [case for case in cases if re.search(options.filter, case.title)]
    return cases


def compare(real: RealCluster, subject: Subject, cases: list[Case], options: argparse.Namespace) -> Tally:
    known = load_known(HERE / "differences.yaml") if subject.name == "gangway" else []
    comparison = Comparison(real, subject, known, options.patience, options.quiet)
    tally = comparison.run(chosen(cases, options))
    report_unused(known, cases, options)
    return tally


def report_unused(known: list[KnownDifference], cases: Sequence[Case | Situation], options: argparse.Namespace) -> None:
    if options.case or options.filter:
        return
    # Each part uses only the entries of its own titles, which begin alike.
    themes = {case.title.split(":")[0] for case in cases}
    for entry in known:
        if not entry.used and entry.cases.split(":")[0] in themes:
            print(f"NOTE differences.yaml: nothing differs any more at {entry.path} of {entry.cases!r}")


def run_cases(real: RealCluster, subject: Subject, options: argparse.Namespace) -> Tally:
    return compare(real, subject, load_cases(), options)


def run_managed_fields(real: RealCluster, subject: Subject, options: argparse.Namespace) -> Tally:
    for server in (real, subject):
        serve_definition(Client(server.endpoint), WIDGETS)
    return compare(real, subject, all_sequences(), options)


def run_schemas(real: RealCluster, subject: Subject, options: argparse.Namespace) -> Tally:
    return compare_schemas(real, subject)


def run_kubectl(real: RealCluster, subject: Subject, options: argparse.Namespace) -> Tally:
    """The scripted session, live on both sides with one kubectl."""
    tally = Tally()
    kubectl = ensure_built("kubectl") / "kubectl"
    for section in sections():
        if options.filter and not re.search(options.filter, section.name):
            continue
        with ThreadPoolExecutor(max_workers=2) as pool:
            configs = (real.kubeconfig, subject.kubeconfig)
            expected, found = pool.map(lambda config: transcript(kubectl, config, section), configs)
        for wanted, got in zip(expected, found, strict=True):
            tally.passed += wanted == got
            tally.failed += wanted != got
            if wanted != got:
                print(f"FAIL kubectl {section.name}\n{difference(wanted, got)}", flush=True)
    return tally


def run_scheduling(options: argparse.Namespace) -> int:
    """Each situation has a cluster of its own, so that this part starts both sides itself."""
    started = time.monotonic()
    situations = load_situations()
    second = options.subject == "real"
    known = [] if second else load_known(HERE / "differences.yaml")
    with ExitStack() as stack:
        sides = []
        for side in (RealSide, RealSide if second else OurSide):
            sides.append(side(SCHEDULING_PATIENCE))
            stack.callback(sides[-1].stop)
        tally = Playing(*sides, known, options.quiet).run(chosen(situations, options))
    report_unused(known, situations, options)
    print(f"scheduling: {tally} ({time.monotonic() - started:.0f} s)", flush=True)
    return tally.failed


def run_manager(options: argparse.Namespace) -> int:
    """Nothing is compared: our scheduler on the real server has to do what it does on its own."""
    started = time.monotonic()
    tally = run_checks(options.quiet)
    print(f"manager: {tally} ({time.monotonic() - started:.0f} s)", flush=True)
    return tally.failed


PARTS: dict[str, Callable[[RealCluster, Subject, argparse.Namespace], Tally]] = {
    "cases": run_cases,
    "managed-fields": run_managed_fields,
    "schemas": run_schemas,
    "kubectl": run_kubectl,
}


# What single requests do is compared without the controllers that would answer them; a session has them.
SINGLE_REQUESTS = ("cases", "managed-fields", "schemas")
SCHEDULING = "scheduling"
MANAGER = "manager"
OWN_CLUSTERS = (SCHEDULING, MANAGER)  # parts that start what they need themselves
# For a scheduler to come to rest. Rest is waited for, so that only what never comes to it waits so long.
SCHEDULING_PATIENCE = 120.0


def ours_of(without: tuple[str, ...]) -> tuple[str, ...]:
    """What to leave out of Gangway. The real side has no scheduler either: pods stay where requests put them."""
    names = {
        "node-lifecycle-controller": "node-controller",
        "endpoints-controller": "endpoint-controller",
        "pod-garbage-collector-controller": "pod-garbage-collector",
        "persistentvolume-binder-controller": "persistent-volume-binder",
    }
    return (*(names.get(name, name) for name in without), "default-scheduler")


def run_parts(parts: list[str], without: tuple[str, ...], options: argparse.Namespace) -> int:
    """Starts both sides and returns how many comparisons failed."""
    if not parts:
        return 0
    controllers = [name for name in SHARED_CONTROLLERS if name not in without]
    failed = 0
    with ExitStack() as stack:
        real = stack.enter_context(RealCluster(controllers))
        second = options.subject == "real"
        subject: Subject = RealCluster(controllers) if second else GangwayCluster(without=ours_of(without))
        stack.enter_context(subject)
        for part in parts:
            started = time.monotonic()
            tally = PARTS[part](real, subject, options)
            print(f"{part}: {tally} ({time.monotonic() - started:.0f} s)", flush=True)
            failed += tally.failed
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--subject", choices=["gangway", "real"], default="gangway")
    parser.add_argument("--part", choices=[*PARTS, *OWN_CLUSTERS], action="append", help="only this part (may be repeated)")
    parser.add_argument("--filter", help="a regular expression on titles")
    parser.add_argument("--case", help="the exact title of one case")
    parser.add_argument("--list", action="store_true", help="print the titles and stop")
    parser.add_argument("--patience", type=float, default=15, help="seconds to wait for what a server does later")
    parser.add_argument("--quiet", action="store_true", help="print only what failed")
    options = parser.parse_args()
    if options.list:
        cases = [*load_cases(), *all_sequences(), *load_situations()]
        print("\n".join(case.title for case in chosen(cases, options)))
        return 0
    exit_on_sigterm()
    wanted = list(options.part or [*PARTS, *OWN_CLUSTERS])
    failed = run_parts([part for part in wanted if part in SINGLE_REQUESTS], ACTING_CONTROLLERS, options)
    failed += run_parts([part for part in wanted if part not in (*SINGLE_REQUESTS, *OWN_CLUSTERS)], (), options)
    if SCHEDULING in wanted:
        failed += run_scheduling(options)
    if MANAGER in wanted:
        failed += run_manager(options)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
