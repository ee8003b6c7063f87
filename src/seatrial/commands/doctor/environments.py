"""What the environment does to a launch, as the doctor says it; pure."""

from seatrial.launch.environments.judge import Tried, judge_environment
from seatrial.model.launching import Obstacle, Remark, blocked, fine, noted, untried

STEP = "environment"


def judge_tried(tried: Tried) -> list[Remark]:
    """A remark for each fault; one that all is well where there is none, or that nothing ran outside of it either."""
    spec = tried.environment.spec
    if not tried.plain:
        says = f"What {spec} does to a launch was not seen: outside of it nothing started either."
        return [untried(STEP, Obstacle.ENVIRONMENT, says)]
    faults = judge_environment(tried)
    if not faults:
        return [fine(STEP, f"{spec} is entered on the nodes, and hides nothing from the launch.")]
    return [
        (blocked if fault.fatal else noted)(STEP, Obstacle.ENVIRONMENT, fault.what, fault.remedy) for fault in faults
    ]
