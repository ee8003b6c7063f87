"""What is tried on the nodes before the probe is started, and how the facts explain a start that failed."""

from collections.abc import Mapping

from seatrial.driver.measurer import Measurer
from seatrial.driver.progress import Progress
from seatrial.launch.contract import Launcher
from seatrial.launch.environments.judge import check_environment, has_environment, refuse_fatal
from seatrial.model.errors import LaunchError
from seatrial.model.facts import NodeFacts
from seatrial.model.words import count
from seatrial.rules.base import Readings, findings_of, one_place_per_host
from seatrial.rules.software import MPI_SETTINGS


class ExplainedByFacts(LaunchError):
    """A failed start whose cause is in the nodes' facts: there are findings, though nothing could be measured."""


def explained_by_facts(error: LaunchError, facts: Mapping[str, NodeFacts]) -> LaunchError:
    """The error; ExplainedByFacts if a node has other MPI settings than its peers."""
    if not findings_of(MPI_SETTINGS, one_place_per_host(Readings(facts=facts))):
        return error
    return ExplainedByFacts(error.what, error.remedy, transient=error.transient)


def preflight(launcher: Launcher, measurer: Measurer, progress: Progress) -> None:
    """Try the launcher's environment on the nodes that answer; what prevents no start becomes a remark of the run.

    Then the probe is started, and stays: only a start shows whether its ranks form one world. Raises LaunchError with
    what was observed of the environment.
    """
    if not has_environment(launcher) or not measurer.nodes:
        return
    progress.stage(f"Trying the environment on {count(len(measurer.nodes), 'node')}")
    faults = check_environment(launcher, measurer.nodes)
    refuse_fatal(faults)
    try:
        measurer.start()
    except LaunchError as error:
        if not faults:
            raise
        seen = " ".join(fault.what for fault in faults)
        remedies = " ".join(dict.fromkeys(fault.remedy for fault in faults))
        raise LaunchError(f"{error.what} What is wrong with the environment: {seen}", remedies) from error
    measurer.remarks.extend(f"{fault.what} {fault.remedy}" for fault in faults)
