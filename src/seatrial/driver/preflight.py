"""Before the probe is started: what the environment that it is started in does to it is tried on the nodes."""

from seatrial.driver.measurer import Measurer
from seatrial.driver.progress import Progress
from seatrial.launch.contract import Launcher
from seatrial.launch.environments.trial import check_environment, has_environment, refuse_fatal
from seatrial.model.errors import LaunchError


def preflight(launcher: Launcher, measurer: Measurer, progress: Progress) -> None:
    """Try the launcher's environment on the nodes that answer; what is no obstacle becomes a remark of the run.

    At last the probe itself is started, and stays: whether it comes up as one world is what no variable tells. Raises
    LaunchError, with what was seen of the environment.
    """
    if not has_environment(launcher) or not measurer.nodes:
        return
    progress.stage(f"Trying the environment on {len(measurer.nodes)} nodes")
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
