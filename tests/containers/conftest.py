"""Fixtures of the tests with real containers: one cluster for all that do not break it, a namespace for each test."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from containers.cluster import ContainerCluster, Namespace, missing_parts
from kube.harness.processes import exit_on_sigterm


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ours = [item for item in items if "containers" in item.path.parts]
    if ours and (missing := missing_parts()):
        for item in ours:
            item.add_marker(pytest.mark.skip(reason=f"containers cannot run here: {missing}"))


@pytest.fixture(scope="session")
def containers() -> Iterator[ContainerCluster]:
    exit_on_sigterm()
    with ContainerCluster() as cluster:
        yield cluster


@pytest.fixture
def space(containers: ContainerCluster, request: pytest.FixtureRequest) -> Iterator[Namespace]:
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[-50:].strip("-")
    with Namespace(containers, name) as namespace:
        yield namespace
