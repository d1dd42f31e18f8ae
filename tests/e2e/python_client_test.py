"""The Python `kubernetes` client's watch, patch and dynamic client work against Gangway."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kube.harness.gangway import GangwayCluster
from kube.harness.real import REPOSITORY

SETUP = REPOSITORY / "tools" / "setup" / "python_client.sh"
SCENARIO = Path(__file__).resolve().parent / "python_client" / "scenario.py"


def run_scenario(kubeconfig: Path) -> subprocess.CompletedProcess[str]:
    setup = subprocess.run([SETUP], capture_output=True, text=True)
    if setup.returncode != 0:
        pytest.skip(f"the kubernetes client cannot be installed here: {setup.stderr.strip().splitlines()[-1]}")
    command = [setup.stdout.strip(), str(SCENARIO), str(kubeconfig)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_python_client(gangway: GangwayCluster) -> None:
    done = run_scenario(gangway.kubeconfig)
    assert done.returncode == 0, done.stdout + done.stderr
