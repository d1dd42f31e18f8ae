#!/usr/bin/python3
"""The scripted kubectl session gives what a real cluster gives.

Under pytest it runs against Gangway and compares with the recorded transcripts in expected/. As a program:
    kubectl_session_test.py --record      plays it on the real control plane and writes expected/
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import pytest

from e2e.session import Cluster, Section, difference, expected_entries, expected_path, sections
from kube.harness.gangway import GangwayCluster


@pytest.mark.parametrize("section", sections(), ids=lambda section: section.name)
def test_session(section: Section, gangway: GangwayCluster, kubectl: Path) -> None:
    problems = []
    with Cluster(kubectl, gangway.kubeconfig) as cluster:
        for expected, found in zip(expected_entries(section), cluster.play(section), strict=True):
            if expected.rstrip() != found.rstrip():
                problems.append(difference(expected, found))
    assert not problems, f"{len(problems)} steps differ\n" + "\n\n".join(problems)


def test_session_is_long_enough() -> None:
    assert sum(len(section.steps) for section in sections()) >= 60


def record() -> None:
    from kube.harness.real import RealCluster, ensure_built

    kubectl = ensure_built("kubectl") / "kubectl"
    with RealCluster() as real:
        for section in sections():
            with Cluster(kubectl, real.kubeconfig) as cluster:
                transcript = "\n".join(cluster.play(section))
            expected_path(section).write_text(transcript)
            print(f"recorded {expected_path(section).name}: {len(section.steps)} steps")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", required=True)
    parser.parse_args()
    record()
    return 0


if __name__ == "__main__":
    sys.exit(main())
