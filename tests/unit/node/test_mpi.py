"""The files that MPI is made of: collected, parsed, compared, and named where they are another build."""

import os
from pathlib import Path

import msgspec
import pytest

from seatrial.commands.link.transports.ablation import own_settings
from seatrial.model.system import MpiFile, SoftwareFacts
from seatrial.model.verdict import FindingKind
from seatrial.node.frame import parse_frame
from seatrial.node.mpi import builds, parse_file, read_mpi_files, read_mpi_settings, told, told_apart
from seatrial.node.node import parse_facts
from seatrial.rules.base import Readings
from seatrial.rules.catalogue import fact_findings
from seatrial.rules.software import MPI_SETTINGS
from tests.support.collecting import SHELLS, collect, facts_text, program
from tests.support.facts_examples import cluster
from tests.support.rule_cases import mpi

ONE = MpiFile(name="libmpi", path="/a/libmpi.so.40", size_bytes=10, checksum=1)
OTHER = msgspec.structs.replace(ONE, checksum=2)
MOVED = msgspec.structs.replace(ONE, path="/b/libmpi.so.40")
UNSUMMED = msgspec.structs.replace(ONE, checksum=None)


def stand_in(folder: Path, *, large: bool = False) -> dict[str, str]:
    """An environment with an MPI of our own: its linker's words are a program's, since env does not trace those."""
    library = folder / "lib dir" / "libmpi.so.40"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"123456789")
    if large:
        with library.open("r+b") as file:
            file.truncate((64 << 20) + 1)
    (library.parent / "libucp.so.0").write_bytes(b"")
    program(folder, "mpirun", "echo 'mpirun (Open MPI) 4.1.4'")
    program(folder, "ompi_info", "echo 'Open MPI v4.1.4'")
    program(folder, "env", f"printf '\\tlibc.so.6 => /lib/c (0x1)\\n\\tlibmpi.so.40 => {library} (0x00007f)\\n'")
    program(folder, "ldconfig", f"printf '1 libs\\n\\tlibpmix.so.2 (libc6,x86-64) => {library}\\n'")
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


@pytest.mark.parametrize("shell", SHELLS)
def test_linked_loaded_and_cached_files_are_told(tmp_path: Path, shell: str) -> None:
    files = {one.name: one for one in read_mpi_files(collect("/", shell, **stand_in(tmp_path)))}
    library = f"{tmp_path}/lib dir/libmpi.so.40"
    assert files["libmpi"] == MpiFile(name="libmpi", path=library, size_bytes=9, checksum=930766865)
    assert files["libucp"].path == f"{tmp_path}/lib dir/libucp.so.0"
    assert (files["libucp"].size_bytes, files["libucp"].checksum) == (0, 4294967295)
    assert (files["libpmix"].path, files["libpmix"].checksum) == (library, 930766865)
    assert files["mpirun"].path == f"{tmp_path}/mpirun"


def test_a_large_file_is_told_by_its_size_and_an_overlay_wins(tmp_path: Path) -> None:
    environment = stand_in(tmp_path, large=True)
    files = {one.name: one for one in read_mpi_files(collect("/", **environment))}
    assert (files["libmpi"].size_bytes, files["libmpi"].checksum) == ((64 << 20) + 1, None)
    overlay = tmp_path / "overlay"
    laid_over = overlay / str(tmp_path).lstrip("/") / "lib dir" / "libmpi.so.40"
    laid_over.parent.mkdir(parents=True)
    laid_over.write_bytes(b"12345678")
    files = {one.name: one for one in read_mpi_files(collect(f"{overlay}:/", **environment))}
    assert (files["libmpi"].size_bytes, files["libmpi"].path) == (8, f"{tmp_path}/lib dir/libmpi.so.40")


def test_a_recorded_machine_and_one_without_mpi_say_so(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    assert collect(str(tmp_path)).absent["mpi-files"] == "recorded machine"


def test_builds_are_told_apart_by_content_and_by_size_alone_where_one_has_no_checksum() -> None:
    assert list(told_apart({"n1": ONE, "n2": OTHER, "n3": MOVED}).values()) == [["n1", "n3"], ["n2"]]
    assert len(told_apart({"n1": ONE, "n2": OTHER, "n3": UNSUMMED})) == 1
    assert builds({"n1": msgspec.structs.replace(ONE, size_bytes=None)}) == {}
    assert told(ONE) == "/a/libmpi.so.40 (10 bytes, checksum 1)"
    assert parse_file("unknown /a/b c") == MpiFile(name="", path="/a/b c")


def found(every: SoftwareFacts, odd: SoftwareFacts) -> list[str]:
    readings = Readings(facts=cluster(every={"software": every}, odd={"software": odd}))
    return [one.statement for one in fact_findings(readings) if one.kind is FindingKind.MPI_BUILD_DIFFERS]


def test_the_sentence_has_both_builds_and_other_versions_are_not_its_affair() -> None:
    (sentence,) = found(mpi(1), mpi(2))
    assert sentence == (
        "Node n2: its libmpi is /opt/lib/libmpi.so.40 (1229432 bytes, checksum 2), "
        "where most of its peers have /opt/lib/libmpi.so.40 (1229432 bytes, checksum 1)."
    )
    assert len(found(mpi(1, version="1.13"), mpi(2, version="1.13"))) == 1
    assert found(mpi(1, version="1.13"), mpi(2, version="1.14")) == []
    assert found(mpi(1), mpi(None)) == []


def test_nodes_of_another_make_are_not_compared_and_two_are_at_odds() -> None:
    facts = cluster(every={"software": mpi(1)}, odd={"software": mpi(2), "cpu_model": "another"})
    assert not [one for one in fact_findings(Readings(facts=facts)) if one.kind is FindingKind.MPI_BUILD_DIFFERS]
    two = {name: one for name, one in cluster(every={"software": mpi(1)}, odd={"software": mpi(2)}).items()
           if name in ("n1", "n2")}  # fmt: skip
    (finding,) = [one for one in fact_findings(Readings(facts=two)) if one.kind is FindingKind.MPI_BUILD_DIFFERS]
    assert finding.statement.startswith("The nodes differ: its libmpi is /opt/lib")
    assert "do not prove" in finding.remedy


# Settings of an MPI on a node: which files and variables are read, and which of them counts.

SYSTEM = "@file /etc/openmpi/openmpi-mca-params.conf"
OVERRIDE = "@file /etc/openmpi/openmpi-mca-params-override.conf"


def settings_of(*lines: str) -> dict[str, str]:
    return read_mpi_settings(parse_frame(facts_text(*lines)))


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


def test_a_job_that_is_told_to_read_no_file_has_only_its_environment(tmp_path: Path) -> None:
    (tmp_path / ".openmpi").mkdir()
    (tmp_path / ".openmpi" / "mca-params.conf").write_text("btl = sm\n")
    job = {"OMPI_MCA_mca_base_param_files": "/dev/null", "OMPI_MCA_pml": "ob1"}
    settings = read_mpi_settings(collect("/", HOME=str(tmp_path), **job))
    assert (settings.get("btl"), settings["pml"]) == (None, "ob1")


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
        name: parse_facts(facts_text(*lines, host=name))
        for name, lines in {"n1": (SYSTEM, "@end"), "n2": (SYSTEM, "@end", *odd), "n3": (SYSTEM, "@end")}.items()
    }
    (violation,) = MPI_SETTINGS.look(Readings(facts=facts, groups=(tuple(facts),)))
    assert violation.node == "n2" and "its MPI setting UCX_TLS is tcp,self" in violation.clause
