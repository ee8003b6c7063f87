"""Why a host cannot be reached, from what OpenSSH 9.2 and both MPIs wrote when that was arranged."""

import pytest

from seatrial.failures.start_failure import explain, why_unreachable
from tests.support.paths import DATA


def said(name: str) -> str:
    return (DATA / "launch" / f"{name}.txt").read_text(encoding="utf-8")


def why(text: str, *, timed_out: bool = False) -> str:
    return why_unreachable("n2", text, timed_out=timed_out, limit_s=20)


@pytest.mark.parametrize(
    ("name", "meaning", "remedy"),
    [
        ("ssh-host-key-unknown", "the host key of the host is unknown", "(ssh n2)"),
        ("ssh-host-key-unknown-strict", "is unknown (No ED25519 host key is known for", "known_hosts"),
        ("ssh-host-key-changed", "is not the one in known_hosts (/tmp/hx/bad_known:3)", "ssh-keygen -R n2"),
        ("ssh-password", "without a password (Permission denied (publickey))", "ssh-copy-id n2"),
        ("ssh-refused", "no sshd listens on 127.0.0.1 port 2299", "Port"),
        ("ssh-no-name", "the name nosuchhost.invalid cannot be resolved", "/etc/hosts"),
        ("ssh-hangs", "127.0.0.1 does not answer (Connection timed out during banner exchange)", "firewall"),
        ("ssh-bad-config", "ssh cannot read its configuration (Bad configuration option: nonsense)", "config"),
    ],
)
def test_what_ssh_reported_becomes_one_sentence_with_a_remedy(name: str, meaning: str, remedy: str) -> None:
    sentence = why(said(name))
    assert meaning in sentence
    assert remedy in sentence
    assert "\n" not in sentence
    assert not sentence.endswith(".")


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("ssh: connect to host n2 port 22: No route to host", "n2 cannot be reached (No route to host)"),
        ("ssh: connect to host n2 port 22: Connection timed out", "n2 does not answer"),
        ("kex_exchange_identification: read: Connection reset by peer\nConnection reset by 10.0.0.2 port 22",
         "sshd of 10.0.0.2 closed the connection"),
        ("Access denied by pam_slurm_adopt: you have no active jobs on this node\nConnection closed by n2 port 22",
         "admit only users with a job"),
        ('"System is booting up. Unprivileged users are not permitted to log in yet."\nConnection closed by n2 port 22',
         "admit no users now"),
        ("Received disconnect from n2 port 22:2: Too many authentication failures", "offered too many keys"),
        ("joe@n2: Permission denied (gssapi-with-mic,password).", "(gssapi-with-mic,password)"),
    ],
)  # fmt: skip
def test_other_sentences_of_openssh_and_pam(text: str, meaning: str) -> None:
    assert meaning in why(text)


def test_what_is_not_known_is_quoted_and_silence_is_named() -> None:
    assert why("Unheard of.\n") == "ssh failed (Unheard of.)"
    assert why("") == "ssh ended without an answer"
    assert why("", timed_out=True) == "it did not answer over ssh within 20 s"


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("openmpi-ssh-host-key", "is not the one in known_hosts (/tmp/hx/bad_known:3)"),
        ("openmpi-ssh-password", "without a password (Permission denied (publickey))"),
        ("mpich-ssh-host-key", "is not the one in known_hosts (/tmp/hx/bad_known:3)"),
        ("mpich-ssh-password", "without a password (Permission denied (publickey))"),
        ("mpich-ssh-refused", "no sshd listens on 127.0.0.1 port 2299"),
        ("openmpi-ssh-probe-missing", "/nowhere/seatrial-probe does not exist on n2"),
        ("mpich-ssh-probe-missing", "/nowhere/seatrial-probe does not exist on n2, n1"),
    ],
)
def test_mpirun_that_cannot_log_in_or_finds_no_program_is_explained(name: str, meaning: str) -> None:
    assert meaning in explain(said(name)).meaning
