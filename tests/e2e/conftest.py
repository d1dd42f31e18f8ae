"""Fixtures of the end-to-end tests: one cluster for all tests that do not kill it, and a kubectl.

GANGWAY_E2E_SUBJECT=real puts the real control plane in Gangway's place: the tests themselves are tried that way.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kube.harness.gangway import GangwayCluster
from kube.harness.processes import exit_on_sigterm
from kube.harness.real import SETUP, RealCluster


@pytest.fixture(scope="session")
def gangway() -> Iterator[GangwayCluster | RealCluster]:
    exit_on_sigterm()
    real = os.environ.get("GANGWAY_E2E_SUBJECT") == "real"
    with RealCluster() if real else GangwayCluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def kubectl() -> Path:
    """KUBECTL, or what the set-up finds or builds."""
    if chosen := os.environ.get("KUBECTL"):
        return Path(chosen)
    found = subprocess.run([SETUP, "--kubectl"], check=True, stdout=subprocess.PIPE, text=True)
    return Path(found.stdout.strip())
