"""One list of passing mounts: rules and comparisons pass over the same ones."""

import pytest

from seatrial.drift.expected_differences import excused_between_nodes, excused_over_time
from seatrial.node.transient_mounts import is_passing


@pytest.mark.parametrize(
    ("path", "passing"),
    [
        ("/", False),
        ("/home", False),
        ("/bootstrap", False),
        ("/run", True),
        ("/running", False),
        ("/run/user/1000", True),
        ("/boot", True),
        ("/boot/efi", True),
        ("/media/stick", True),
        ("/dev/shm", False),
        ("/dev/hugepages", False),
        ("/dev/hugepages-1G", True),
        ("/dev/mqueue", True),
        ("/var/lib", False),
        ("/var/lib/docker/overlay2/x/merged", True),
        ("/var/spool/mail", False),
        ("/var/spool/slurmd.n1/job1", True),
    ],
)
def test_both_pass_over_the_same(path: str, passing: bool) -> None:
    assert is_passing(path) is passing
    for fact in (f"system.mounts.{path}", f"system.mounts.{path}.options"):
        assert excused_between_nodes(fact) is passing
        assert excused_over_time(fact) is passing
