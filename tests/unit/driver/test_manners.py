"""Rounds in another manner: what fails in it alone is a remark, and the end of the job ends the run."""

from typing import cast

import pytest

from seatrial.driver.manners import run_in
from seatrial.driver.measurer import Measurer
from seatrial.launch.contract import PLAIN, StartManner
from seatrial.model.errors import JobOver, LaunchError, SeatrialError


class Unstarted:
    """What `run_in` needs of a measurer whose starts fail."""

    def __init__(self, error: SeatrialError) -> None:
        self.error, self.hung, self.remarks = error, list[object](), list[str]()

    def begin(self, manner: StartManner) -> None:
        raise self.error


def test_a_manner_that_does_not_start_is_a_remark_but_the_end_of_the_job_is_no_fault_of_the_manner() -> None:
    failing = Unstarted(LaunchError("No route to host."))
    assert not run_in(cast("Measurer", failing), PLAIN, (), 1.0, "Over eth1 alone")
    assert failing.remarks == ["Over eth1 alone nothing could be measured: No route to host."]
    over = Unstarted(JobOver("Job 7 is over."))
    with pytest.raises(JobOver):
        run_in(cast("Measurer", over), PLAIN, (), 1.0, "Over eth1 alone")
    assert not over.remarks
