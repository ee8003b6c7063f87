"""The configuration of the lab's sshd: keys of the lab alone, and nothing of Slurm in a login."""

from seatrial.lab.cluster.plan import make_plan
from seatrial.lab.cluster.ssh import client_config, known_hosts, server_config
from seatrial.lab.cluster.start import overlay
from seatrial.lab.cluster.state import folder

PLAN = make_plan(name="p", nodes=2, ssh=True)


def test_only_the_key_of_the_lab_logs_in() -> None:
    lines = server_config(["SEATRIAL_LAB=p"]).splitlines()
    assert {"PasswordAuthentication no", "PermitRootLogin prohibit-password", "UsePAM no"} <= set(lines)
    assert "AuthorizedKeysFile /etc/ssh/user.pub" in lines
    assert 'SetEnv "SEATRIAL_LAB=p"' in lines
    assert "SetEnv" not in server_config([])
    assert "IdentityFile /etc/ssh/user" in client_config()


def test_nodes_are_known_by_name_and_address() -> None:
    text = known_hosts(PLAN, {"n1": "ssh-ed25519 AAA lab-p-n1\n", "n2": "ssh-ed25519 BBB lab-p-n2\n"})
    assert text.splitlines() == ["n1,10.77.1.1 ssh-ed25519 AAA lab-p-n1", "n2,10.77.1.2 ssh-ed25519 BBB lab-p-n2"]


def test_the_folder_of_ssh_is_replaced_only_where_the_lab_has_sshd() -> None:
    home = folder("p")
    assert overlay(home, "n1", ssh=True)["/etc/ssh"] == str(home / "ssh")
    assert "/etc/ssh" not in overlay(home, "n1")
