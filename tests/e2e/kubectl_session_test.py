#!/usr/bin/python3
"""The scripted kubectl session gives what a real cluster gives.

Under pytest it runs against Gangway and compares with the recorded transcripts in expected/. As a program:
    kubectl_session_test.py --record [SECTION...]   plays it on the real control plane and writes expected/
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import pytest

from e2e.session import Section, difference, expected_entries, expected_path, sections, transcript
from kube.harness.gangway import GangwayCluster


@pytest.mark.parametrize("section", sections(), ids=lambda section: section.name)
def test_session(section: Section, gangway: GangwayCluster, kubectl: Path) -> None:
    entries = zip(expected_entries(section), transcript(kubectl, gangway.kubeconfig, section), strict=True)
    problems = [difference(expected, found) for expected, found in entries if expected.rstrip() != found.rstrip()]
    assert not problems, f"{len(problems)} steps differ\n" + "\n\n".join(problems)


def test_session_is_long_enough() -> None:
    assert sum(len(section.steps) for section in sections()) >= 60


def record(names: list[str]) -> None:
    from kube.harness.real import RealCluster, ensure_built

    kubectl = ensure_built("kubectl") / "kubectl"
    with RealCluster() as real:
        for section in [s for s in sections() if not names or s.name in names]:
            expected_path(section).write_text("\n".join(transcript(kubectl, real.kubeconfig, section)))
            print(f"recorded {expected_path(section).name}: {len(section.steps)} steps")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", nargs="*", metavar="SECTION", required=True)
    record(parser.parse_args().record)
    return 0


if __name__ == "__main__":
    sys.exit(main())
