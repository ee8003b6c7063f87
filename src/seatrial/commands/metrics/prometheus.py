"""Hands numbers over: in the text format of Prometheus, or to Graphite, both by prometheus-client."""

import re
from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.bridge.graphite import GraphiteBridge
from prometheus_client.core import GaugeMetricFamily

from seatrial.commands.metrics.figures import Figure
from seatrial.files.writing import replace_file
from seatrial.model.errors import ErrorKind, SeatrialError
from seatrial.model.monitoring import Target
from seatrial.render.escape import clean

CONNECT_S = 10.0
NO_PATH = re.compile(r"[^a-zA-Z0-9_-]")
"""Characters that prometheus-client replaces in what becomes part of a path of Graphite."""


def exposition(figures: Iterable[Figure]) -> bytes:
    """The text that Prometheus reads; prometheus-client escapes labels."""
    return generate_latest(_registry(figures, clean))


def deliver(figures: Iterable[Figure], target: Target) -> None:
    """Hand the numbers over. Raises SeatrialError where that fails; a file is written whole or not at all."""
    if target.textfile is not None:
        try:
            replace_file(target.textfile, exposition(figures))
        except OSError as error:
            what = f"{target.textfile} cannot be written: {error.strerror or error}."
            raise Undelivered(what, "Name a file in a folder of yours.") from error
    elif target.graphite is not None:
        host, port = target.graphite
        try:
            registry = _registry(figures, lambda label: NO_PATH.sub("_", clean(label)))
            GraphiteBridge(target.graphite, registry=registry, timeout_seconds=CONNECT_S).push()
        except OSError as error:
            what = f"Graphite at {host}:{port} takes nothing: {error.strerror or error}."
            raise Undelivered(what, "Name the port of its plaintext protocol, usually 2003.") from error


class Undelivered(SeatrialError):
    """Numbers could not be handed over."""

    kind = ErrorKind.UNWRITTEN


class _Figures:
    """A collector, as prometheus-client calls what it asks for families. `spelled`: a label as the store takes it."""

    def __init__(self, figures: Iterable[Figure], spelled: Callable[[str], str]) -> None:
        self._figures, self._spelled = [*figures], spelled

    def collect(self) -> Iterable[Metric]:
        """The families in their order; labels that are spelled alike are one series, and their numbers are added."""
        for figure in self._figures:
            family = GaugeMetricFamily(figure.name, figure.help, labels=figure.labels)
            values: dict[tuple[str, ...], float] = {}
            for labels, value in figure.rows:
                spelled = tuple(map(self._spelled, labels))
                values[spelled] = values.get(spelled, 0.0) + value  # one series twice makes Prometheus refuse them all
            for spelled, value in values.items():
                family.add_metric(spelled, value)
            yield family


def _registry(figures: Iterable[Figure], spelled: Callable[[str], str]) -> CollectorRegistry:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Figures(figures, spelled))
    return registry
