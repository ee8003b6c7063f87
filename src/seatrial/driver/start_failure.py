"""A start that fails while nodes' MPI is set differently: what is wrong is in the facts, and they are judged."""

from collections.abc import Mapping

from seatrial.model.errors import LaunchError
from seatrial.model.facts import NodeFacts
from seatrial.rules.base import Readings, findings_of, one_place_per_host
from seatrial.rules.software import MPI_SETTINGS


class ToldByFacts(LaunchError):
    """A start that failed for what the nodes' facts show: there are findings, though nothing could be measured."""


def with_settings(error: LaunchError, facts: Mapping[str, NodeFacts]) -> LaunchError:
    """The same error; as ToldByFacts where a node has other MPI settings than its peers."""
    if not findings_of(MPI_SETTINGS, one_place_per_host(Readings(facts=facts))):
        return error
    return ToldByFacts(error.what, error.remedy, passing=error.passing)
