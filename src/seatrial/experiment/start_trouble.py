"""A start that fails while nodes' MPI is set differently: the error names them."""

from collections.abc import Mapping

from seatrial.diagnosis.rules import mpi_settings_differ
from seatrial.diagnosis.rules.base import Readings, findings_of, one_place_per_host
from seatrial.launch.contract import LaunchError
from seatrial.model.facts import NodeFacts


def with_settings(error: LaunchError, facts: Mapping[str, NodeFacts]) -> LaunchError:
    """The same error, and which nodes have other MPI settings than their peers; unchanged where none has."""
    found = findings_of(mpi_settings_differ.RULE, one_place_per_host(Readings(facts=facts)))
    if not found:
        return error
    said = " ".join(finding.statement for finding in found)
    return LaunchError(f"{error.what.rstrip('.')}. {said}", found[0].remedy, passing=error.passing)
