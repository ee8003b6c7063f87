"""Hands numbers over: in the text format of Prometheus, or to Graphite, both by prometheus-client."""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.bridge.graphite import GraphiteBridge
from prometheus_client.core import GaugeMetricFamily

from seatrial.commands.metrics.figures import Figure
from seatrial.files.writing import replace_file
from seatrial.model.errors import ErrorKind, SeatrialError
from seatrial.model.monitoring import Target
from seatrial.render.escape import clean

CONNECT_S = 10.0


def exposition(figures: Iterable[Figure]) -> bytes:
    """The text that Prometheus reads; prometheus-client escapes labels."""
    return generate_latest(_registry(figures))


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
            GraphiteBridge(target.graphite, registry=_registry(figures), timeout_seconds=CONNECT_S).push()
        except OSError as error:
            what = f"Graphite at {host}:{port} takes nothing: {error.strerror or error}."
            raise Undelivered(what, "Name the port of its plaintext protocol, usually 2003.") from error


class Undelivered(SeatrialError):
    """Numbers could not be handed over."""

    kind = ErrorKind.UNWRITTEN


class _Figures:
    """A collector, as prometheus-client calls what it asks for families."""

    def __init__(self, figures: Iterable[Figure]) -> None:
        self._figures = [*figures]

    def collect(self) -> Iterable[Metric]:
        """The families in their order."""
        for figure in self._figures:
            family = GaugeMetricFamily(figure.name, figure.help, labels=figure.labels)
            values: dict[tuple[str, ...], float] = {}
            for labels, value in figure.rows:
                cleaned = tuple(map(clean, labels))
                values[cleaned] = values.get(cleaned, 0.0) + value  # one series twice makes Prometheus refuse them all
            for cleaned, value in values.items():
                family.add_metric(cleaned, value)
            yield family


def _registry(figures: Iterable[Figure]) -> CollectorRegistry:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Figures(figures))
    return registry
