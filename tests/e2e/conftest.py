"""Fixtures of the end-to-end tests: one Gangway for all tests that do not kill it, and a kubectl."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kube.harness.gangway import GangwayCluster
from kube.harness.real import SETUP


@pytest.fixture(scope="session")
def gangway() -> Iterator[GangwayCluster]:
    with GangwayCluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def kubectl() -> Path:
    found = subprocess.run([SETUP, "--kubectl"], check=True, capture_output=True, text=True)
    return Path(found.stdout.strip())
