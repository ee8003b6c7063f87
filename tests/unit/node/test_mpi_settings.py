"""Settings of an MPI on a node: which files and variables are read, and which of them counts."""

from pathlib import Path

import pytest

from seatrial.commands.transports.catalogue import own_settings
from seatrial.node.frame import parse_frame
from seatrial.node.mpi_settings import read_mpi_settings
from seatrial.node.node import parse_facts
from seatrial.rules.base import Readings
from seatrial.rules.mpi_settings_differ import look
from tests.support.collecting import SHELLS, collect

SYSTEM = "@file /etc/openmpi/openmpi-mca-params.conf"
OVERRIDE = "@file /etc/openmpi/openmpi-mca-params-override.conf"


def settings_of(*lines: str) -> dict[str, str]:
    return read_mpi_settings(parse_frame("\n".join(["#seatrial-facts 1 n1", *lines, "#end n1", ""])))


def test_the_user_wins_over_the_system_the_environment_over_both_and_the_override_over_all() -> None:
    system = (SYSTEM, "|pml = ucx", "|btl=tcp,self", "|mtl=ofi", "@end")
    user = ("@file ~/.openmpi/mca-params.conf", "|btl=vader,self", "@end")
    variables = ("@file environment of an MPI", "|OMPI_MCA_pml=ob1", "|UCX_TLS=tcp,self", "@end")
    over = (OVERRIDE, "|pml=cm", "@end")
    assert settings_of(*over, *system, *user) == {"pml": "cm", "btl": "vader,self", "mtl": "ofi"}
    known = settings_of(*variables, *user, *system)
    assert known == {"pml": "ob1", "btl": "vader,self", "mtl": "ofi", "UCX_TLS": "tcp,self"}
    assert own_settings({"OMPI_MCA_pml": "ucx", "FI_PROVIDER": "tcp"}, known) == {
        "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "vader,self", "OMPI_MCA_mtl": "ofi", "UCX_TLS": "tcp,self",
        "FI_PROVIDER": "tcp",
    }  # fmt: skip


def test_files_named_by_the_variable_stand_instead_of_the_usual_ones_the_first_before_all() -> None:
    named = ("@file mca_base_param_files /a/one", "|btl=tcp,self", "@end")
    more = ("@file mca_base_param_files /a/openmpi-mca-params.conf", "|btl=sm,self", "|pml=ob1", "@end")
    assert settings_of(SYSTEM, "|mtl=ofi", "@end", *named, *more) == {"btl": "tcp,self", "pml": "ob1"}


@pytest.mark.parametrize("shell", SHELLS)
def test_lines_are_read_as_open_mpi_reads_them(shell: str, tmp_path: Path) -> None:
    """Tried with ompi_info of 4.1: no comment behind a value, and -mca as on a command line."""
    home = tmp_path / ".openmpi"
    home.mkdir()
    (home / "mca-params.conf").write_text("  # btl=no\n-mca btl tcp,self # all\n-x A=1\n pml\t= ob1\nnothing\n")
    facts = collect(
        "/", shell, HOME=str(tmp_path), UCX_TLS="tcp", OMPI_MCA_mtl="^ofi", FIREFOX="1", OMPI_MCA_orte_tmp="2"
    )
    found = read_mpi_settings(facts)
    assert (found["btl"], found["pml"], found["mtl"], found["UCX_TLS"]) == ("tcp,self # all", "ob1", "^ofi", "tcp")
    assert not {"A", "FIREFOX", "orte_tmp", "-x A"} & set(found)


def test_a_variable_that_one_node_sets_for_its_jobs_is_named() -> None:
    """As by Slurm's TaskProlog: export UCX_TLS=tcp,self."""
    odd = ("@file environment of an MPI", "|UCX_TLS=tcp,self", "@end")
    facts = {
        name: parse_facts("\n".join([f"#seatrial-facts 1 {name}", *lines, f"#end {name}", ""]))
        for name, lines in {"n1": (SYSTEM, "@end"), "n2": (SYSTEM, "@end", *odd), "n3": (SYSTEM, "@end")}.items()
    }
    (violation,) = look(Readings(facts=facts, groups=(tuple(facts),)))
    assert violation.node == "n2" and "its MPI setting UCX_TLS is tcp,self" in violation.says
