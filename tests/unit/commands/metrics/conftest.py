"""A Prometheus and a Graphite for the tests of one process."""

from collections.abc import Iterator

import pytest

from tests.support.stores import MISSING, Graphite, Prometheus, graphite, prometheus


@pytest.fixture(scope="session")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """node_exporter's textfile collector, scraped by Prometheus."""
    if MISSING:
        pytest.skip(f"no {' '.join(MISSING)}")
    with prometheus(tmp_path_factory.mktemp("prometheus")) as store:
        yield store


@pytest.fixture
def carbon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graphite]:
    """A Graphite that holds nothing yet."""
    if MISSING:
        pytest.skip(f"no {' '.join(MISSING)}")
    with graphite(tmp_path_factory.mktemp("graphite")) as store:
        yield store
