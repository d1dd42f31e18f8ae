#!/usr/bin/python3
"""Measures kube-apiserver with etcd and Gangway in one run, alternating, with the same client on the same disk.

    run.py                    5,000 pods, three rounds each
    run.py --quick            500 pods, one round: to try things
    run.py --docs             also writes the tables into docs/benchmarks.md
    run.py --json FILE        also keeps every figure of every round
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import machine, report
from bench.rounds import Size, run_round
from bench.subjects import SUBJECTS
from kube.harness.processes import exit_on_sigterm
from kube.harness.real import REPOSITORY

DOCS = REPOSITORY / "docs" / "benchmarks.md"
BUSY = 0.5


def load_client() -> Path:
    """LOAD_CLIENT, or the one of this clone's build."""
    path = Path(os.environ.get("LOAD_CLIENT", REPOSITORY / "build" / "bin" / "load_client")).resolve()
    if not path.is_file():
        sys.exit(f"{path} does not exist: run `make bench`, or set LOAD_CLIENT")
    return path


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pods", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--folder", type=Path, help="where both servers keep their data (default: the temporary folder)")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--docs", action="store_true")
    options = parser.parse_args()
    if options.quick:
        options.pods, options.rounds = 500, 1
    if options.pods < 20 or options.rounds < 1:
        parser.error("at least 20 pods and one round are needed")
    return options


def main() -> int:
    options = arguments()
    exit_on_sigterm()
    if options.folder:
        tempfile.tempdir = str(options.folder)
    folder = Path(tempfile.gettempdir())
    if machine.file_system(folder) == "tmpfs":
        sys.exit(f"{folder} is in memory, where an fsync costs nothing: name a folder on a disk with --folder")
    about = machine.describe(folder)
    about["size"] = f"{options.pods:,} pods, {options.rounds} round(s) a server"
    for name, value in about.items():
        print(f"{name}: {value}")
    if os.getloadavg()[0] > BUSY:
        print("NOTE other programs are busy on this machine: only compare, do not record")

    program = load_client()
    rounds: report.Rounds = {name: [] for name in SUBJECTS}
    for turn in range(options.rounds):
        for name, start in SUBJECTS.items():
            print(f"round {turn + 1} of {options.rounds}: {name}", flush=True)
            subject = start()
            try:
                rounds[name].append(run_round(program, subject, Size(options.pods)))
            finally:
                subject.stop()

    print("\n" + report.as_text(report.comparison_rows(rounds)))
    print("\n" + report.as_text(report.latency_rows(rounds)))
    if options.json:
        options.json.write_text(json.dumps({"machine": about, "rounds": rounds}, indent=1) + "\n")
    if options.docs:
        report.write_docs(DOCS, about, rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
