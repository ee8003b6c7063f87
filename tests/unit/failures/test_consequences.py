"""Complaints that only say that something failed, beside those that say why."""

import pytest

from seatrial.failures.start_failure import explain
from tests.support.failure_texts import explained

RULE = "-" * 74
UCX_LIMIT = (
    "[1.2] [n12:18:0] ib_md.c:281 UCX  ERROR ibv_reg_mr(address=0x7) failed: Cannot allocate memory : "
    "Please set max locked memory (ulimit -l) to 'unlimited' (current: 64 kbytes)\n"
)
BOX_LIMIT = f"{RULE}\nThe memlock limits are set too\nlow here.\n  Local host:    n12\n{RULE}\n"
PSM_LIMIT = "n12.4213hfi_userinit: mmap of status page failed: Resource temporarily unavailable\n"
ALONE = f"{RULE}\nMPI_INIT has failed because at least one MPI process is unreachable\nfrom another.\n{RULE}\n"
PAIR = (
    f"{RULE}\nAt least one pair of MPI processes are unable to reach each other for\nMPI communications.\n"
    f"  Process 2 ([[1,1],1]) is on host: n13\n  BTLs attempted: self vader\n{RULE}\n"
)
UCX_NONE = (
    "[1.2] [n12:18:0] select.c:1 UCX  ERROR no remote registered memory access transport to n13: Unsupported operation"
    "\n"
)
PROXY = "[mpiexec@l1] check_exit_codes (x.c:1): unable to run bstrap_proxy on c4 (pid 7, exit code 65280)\n"


@pytest.mark.parametrize("reason", [UCX_LIMIT, BOX_LIMIT, PSM_LIMIT])
@pytest.mark.parametrize("consequence", [ALONE, PAIR, UCX_NONE])
def test_the_limit_of_locked_memory_is_named_before_what_follows_from_it(reason: str, consequence: str) -> None:
    failure = explained(reason + consequence)
    assert failure.meaning.startswith("the limit of locked memory (ulimit -l) is too low")
    assert "n12" in failure.meaning
    assert "(ulimit -l) is too low" in explain(reason + consequence).meaning


@pytest.mark.parametrize(
    ("words", "meaning"),
    [
        ("Host key verification failed.", "the host key of the nodes is unknown"),
        ("u@c4: Permission denied (publickey,password).", "ssh cannot log in to c4 without a password"),
        ("ssh: connect to host c4 port 22: No route to host", "c4 cannot be reached"),
    ],
)
def test_what_ssh_says_is_named_before_the_daemon_that_did_not_start(words: str, meaning: str) -> None:
    for text in (f"{PROXY}{words}\n", f"{words}\n{PROXY}"):
        failure = explained(text)
        assert failure.meaning.startswith(meaning)
        assert explain(text).meaning.startswith(meaning)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        (ALONE, "no transport that Open MPI was allowed reaches"),
        (PAIR, "no transport that Open MPI was allowed reaches from one rank to the other (it tried self vader)"),
        (UCX_NONE, "UCX has no permitted transport that reaches"),
        (PROXY, "Intel MPI's mpirun cannot start its own daemon on c4"),
    ],
)
def test_what_only_says_that_it_failed_is_named_where_nothing_says_why(text: str, meaning: str) -> None:
    assert explained(text).meaning.startswith(meaning)
