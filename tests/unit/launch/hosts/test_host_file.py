"""Host files of Open MPI and MPICH become hosts; what cannot be used is refused with its line."""

import pytest

from seatrial.launch.hosts.host_file import is_address, is_name, parse_host_file

OPEN_MPI = """\
# This is an example hostfile.  Comments begin with #
#
foo.example.com
bar.example.com slots=2
yow.example.com slots=4 max-slots=4
zot slots = 8 max_slots= 16   # a comment
"""
"""The first lines are the example of mpirun(1) of Open MPI 4.1."""
MPICH = """\
# This is a sample host file
donner:2     # The first 2 procs are scheduled to run here
foo:3 binding=user:0,1 ifname=eth1
shakey:2
"""


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        (OPEN_MPI, ("foo.example.com", "bar.example.com", "yow.example.com", "zot")),
        (MPICH, ("donner", "foo", "shakey")),
        ("n1\nn1\nn2\nn1\n", ("n1", "n2")),
        ("n[1-3]:2\nlogin\n", ("n1", "n2", "n3", "login")),
        ("n1 slots=0\nn2 slots=2\n", ("n2",)),
        ("n1\nn2\nn1 slots=0\n", ("n2",)),
        ("10.0.0.1\nfe80::1\n[fe80::2]:4\n[::1]\n", ("10.0.0.1", "fe80::1", "fe80::2", "::1")),
        ("\r\nn1\r\n\tn2 \r\n", ("n1", "n2")),
        ("", ()),
    ],
)
def test_hosts_come_once_in_their_order(text: str, hosts: tuple[str, ...]) -> None:
    assert parse_host_file(text) == hosts


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("n1\nn2 slot=2\n", "line 2 ('n2 slot=2'): 'slot' is unknown"),
        ("n1 slots=many", "slots=many is not a number"),
        ("n1 2", "'2' is not of the form name=value"),
        ("joe@n1", "set User in ~/.ssh/config"),
        ("n1 user=joe", "set User in ~/.ssh/config"),
        ("^n1", "'^' before a name"),
        ("+n0", "'+' before a name"),
        ("-oProxyCommand=x", "is not a valid host name"),
        ("n1;reboot", "is not a valid host name"),
        ("n1:two", "is not a valid host name"),
        ("n[1-99999999]", "more than 65,536"),
    ],
)
def test_a_line_that_cannot_be_used_is_shown(text: str, says: str) -> None:
    with pytest.raises(ValueError, match="line") as refusal:
        parse_host_file(text)
    assert says in str(refusal.value)


def test_what_ssh_would_take_for_an_option_or_mpirun_for_a_list_is_no_name() -> None:
    assert all(map(is_name, ("n1", "node-1.site.org", "10.0.0.1", "_n")))
    assert not any(map(is_name, ("", "-oProxyCommand=x", "n1,n2", "n1:4", "a b", "n1\n", "fe80::1", "n" * 254)))
    assert is_address("fe80::1")
    assert not is_address("n1")
