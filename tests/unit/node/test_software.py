"""Slurm, MPI and transport libraries: from recorded words, and from stand-ins for the commands."""

import os
from pathlib import Path

import pytest

from seatrial.model.system import Library, SoftwareFacts
from seatrial.model.words import Unknown
from seatrial.node.frame import CommandOutput, Frame
from seatrial.node.node import node_facts, read_kernel, read_software
from tests.support.collecting import SHELLS, collect, program, write
from tests.support.paths import ROOT
from tests.support.processor_time import within

DOCS = ROOT / "docs"


def software_of(said: dict[str, tuple[str, ...]]) -> tuple[SoftwareFacts, dict[str, str]]:
    """Command -> the lines it prints."""
    commands = {command: CommandOutput(status=0, lines=lines) for command, lines in said.items()}
    return read_software(Frame(hostname="n1", complete=True, commands=commands))


def test_client_and_daemon_apart() -> None:
    facts, absent = software_of({"sinfo --version": ("slurm 23.11.4",), "slurmd -V": ("slurm-wlm 22.05.8",)})
    assert (facts.slurm_client, facts.slurm_daemon) == ("23.11.4", "22.05.8")
    assert not {"software.slurm_client", "software.slurm_daemon"} & set(absent)
    facts, absent = software_of({"slurmd -V": ("slurm 23.11.4",)})
    assert facts.slurm_client == ""
    assert "srun --version" in absent["software.slurm_client"]


def test_the_configure_line_and_the_transports_that_it_asks_for_in_vain() -> None:
    line = "config:cli: '--prefix=/opt' '--with-psm=/usr' '--with-ucx' '--with-ofi=no' '--without-verbs' '--with-zlib'"
    facts, _ = software_of({
        "ompi_info --version": ("Open MPI v1.8.1",),
        "ompi_info --parsable": ("mca:pml:ucx", "mca:btl:tcp", line),
        "mpichversion": ("MPICH Version: 4.0.2", "MPICH Device: ch4:ucx", "MPICH configure: --with-libfabric"),
    })  # fmt: skip
    open_mpi, mpich = facts.libraries
    assert isinstance(open_mpi, Library)
    assert isinstance(mpich, Library)
    assert open_mpi.configure == "--prefix=/opt --with-psm=/usr --with-ucx --with-ofi=no --without-verbs --with-zlib"
    assert (open_mpi.lacks, mpich.lacks) == (("psm",), ("libfabric",))
    unread, _ = software_of({"ompi_info --version": ("Open MPI v4.1.4",), "ompi_info --parsable": (line,)})
    assert isinstance(unread.libraries[0], Library)
    assert unread.libraries[0].lacks == (), "without components nothing is known to be lacking"


def test_components_are_sorted_and_named_once() -> None:
    facts, absent = software_of({
        "ompi_info --version": ("Open MPI v4.1.4", "", "http://www.open-mpi.org/community/help/"),
        "ompi_info --parsable": ("mca:btl:vader", "mca:btl:self", "mca:pml:ucx", "mca:btl:self", "no component"),
        "mpichversion": ("MPICH Version:    \t4.0.2", "MPICH Device:    \tch4:ofi"),
        "ucx_info -v": ("# Library version: 1.17.0",),
        "ucx_info -d": ("#      Transport: tcp", "#         Device: eth0", "#      Transport: rc_mlx5",
                        "#         Device: mlx5_0:1", "#      Transport: tcp", "#         Device: lo"),
        "fi_info --version": ("fi_info: 1.22.0", "libfabric: 1.22.0", "libfabric api: 1.22"),
        "fi_info -l": ("verbs:", "tcp:", "shm:"),
    })  # fmt: skip
    assert facts.libraries == (
        Library(name="Open MPI", version="4.1.4", components={"btl": ("self", "vader"), "pml": ("ucx",)}),
        Library(name="MPICH", version="4.0.2", components={"device": ("ch4:ofi",)}),
        Library(
            name="UCX",
            version="1.17.0",
            components={"devices": ("eth0", "lo", "mlx5_0:1"), "transports": ("rc_mlx5", "tcp")},
        ),
        Library(name="libfabric", version="1.22.0", components={"providers": ("shm", "tcp", "verbs")}),
    )
    assert "software.libraries" not in absent


@pytest.mark.parametrize(
    ("command", "line", "library"),
    [
        ("mpirun --version", "Intel(R) MPI Library for Linux* OS, Version 2021.9 Build 20230307",
         Library(name="Intel MPI", version="2021.9")),
        ("mpichversion", "MVAPICH2 Version:     \t2.3.7", Library(name="MVAPICH", version="2.3.7")),
        ("mpirun --version", "Some Vendor MPI 1.2", Unknown(word="Some Vendor MPI 1.2")),
        ("ucx_info -v", "# UCT version=1.13.1 revision 09f27c0", Library(name="UCX", version="1.13.1")),
        ("ucx_info -v", "UCX of tomorrow", Unknown(word="UCX of tomorrow")),
        ("fi_info --version", "fabric 9", Unknown(word="fabric 9")),
    ],
)  # fmt: skip
def test_versions_known_and_unknown(command: str, line: str, library: Library | Unknown) -> None:
    assert software_of({command: (line,)})[0].libraries == (library,)


def test_a_launcher_is_no_library() -> None:
    facts, _ = software_of({"mpiexec --version": ("HYDRA build details:", "    Version:           4.1.1")})
    assert facts.libraries == ()


@pytest.mark.parametrize("shell", SHELLS)
def test_commands_by_stand_ins(tmp_path: Path, shell: str) -> None:
    program(
        tmp_path,
        "ompi_info",
        """case $1 in
--version) echo 'Open MPI v4.1.4' ;;
*) cat <<'END'
package:Open MPI somebody@somewhere Distribution
path:prefix:/home/somebody/openmpi
mca:btl:tcp:version:"mca:2.1.0"
mca:btl:tcp:version:"component:4.1.4"
mca:pml:ucx:version:"component:4.1.4"
mca:dl:dlopen:version:"component:4.1.4"
END
esac""",
    )
    program(tmp_path, "mpirun", "exit 1")
    program(tmp_path, "mpichversion", "exit 1")
    program(tmp_path, "mpiexec", "exit 1")
    program(
        tmp_path,
        "ucx_info",
        """case $1 in
-v) echo '# Library version: 1.16.0'; echo '# Configured with: --prefix=/home/somebody' ;;
*) echo '#      Transport: tcp'; echo '#         Device: eth0'; echo '#   bandwidth: 1.00 MB/sec' ;;
esac""",
    )
    program(
        tmp_path,
        "fi_info",
        """case $1 in
-l) printf 'tcp:\\n    version: 113.0\\nverbs:\\n    version: 113.0\\n' ;;
*) echo 'fi_info: 1.15.1'; echo 'libfabric: 1.15.1' ;;
esac""",
    )
    program(tmp_path, "modulecmd.tcl", "echo 'Modules Release 5.2.0 (2022-11-08)' >&2")
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "MODULES_CMD": f"{tmp_path}/modulecmd.tcl",
                   "LMOD_VERSION": ""}  # fmt: skip
    frame = collect("/", shell, SEATRIAL_FACTS="full", **environment)
    facts, _ = read_software(frame)
    assert facts.libraries == (
        Library(name="Open MPI", version="4.1.4", components={"btl": ("tcp",), "pml": ("ucx",)}),
        Library(name="UCX", version="1.16.0", components={"devices": ("eth0",), "transports": ("tcp",)}),
        Library(name="libfabric", version="1.15.1", components={"providers": ("tcp", "verbs")}),
    )
    assert facts.modules_system == "Environment Modules 5.2.0"
    assert "somebody" not in repr(frame)


def test_lmod_by_its_variable_on_a_live_machine_only(tmp_path: Path) -> None:
    write(tmp_path, "/proc/sys/kernel/hostname", "n1\n")
    live, recorded = collect("/", LMOD_VERSION="8.7.37"), collect(str(tmp_path), LMOD_VERSION="8.7.37")
    assert read_software(live)[0].modules_system == "Lmod 8.7.37"
    facts, absent = read_software(recorded)
    assert (facts.modules_system, absent["software.modules_system"]) == ("", "LMOD_VERSION: recorded machine")


def test_in_haste_the_long_commands_are_left_out(tmp_path: Path) -> None:
    for name in ("ompi_info", "ucx_info", "fi_info", "chronyc", "ntpq", "timedatectl"):
        program(tmp_path, name, f'[ "$1" = --version ] || printf "%s\\n" "$*" >>{tmp_path}/ran; echo 1')
    path = f"{tmp_path}:{os.environ['PATH']}"
    frame = collect("/", PATH=path, SEATRIAL_FACTS="quick")
    assert (tmp_path / "ran").read_text().splitlines() == ["-n tracking"]  # the clock's daemon answers at once
    (tmp_path / "ran").unlink()
    assert frame.absent["ompi_info --parsable"] == "not asked"
    assert "ucx_info -v: not asked" in read_software(frame)[1]["software.libraries"]
    collect("/", PATH=path, SEATRIAL_FACTS="")
    ran = (tmp_path / "ran").read_text().splitlines()
    assert ran == ["-n tracking", "--parsable", "-v", "-d", "-l"]  # whoever answers first tells the time


def make_big_node(root: Path) -> None:
    """Two sockets with 56 cores' sensors, 200 modules, 60 mounts."""
    names = [f"{'drm' if number % 5 else 'mlx5'}_{number}" for number in range(200)]
    write(root, "/proc/modules", "".join(f"{name} 1 0 - Live 0x0\n" for name in names))
    write(root, "/proc/mounts", "".join(f"/dev/sd{number} /m{number} ext4 rw 0 0\n" for number in range(60)))
    for number in range(0, 200, 5):
        write(root, f"/sys/module/mlx5_{number}/version", "5.0-0\n")
    for chip in range(2):
        write(root, f"/sys/class/hwmon/hwmon{chip}/name", "coretemp\n")
        for core in range(57):
            for item, content in (("input", "40000"), ("crit", "100000"), ("label", f"Core {core}")):
                write(root, f"/sys/class/hwmon/hwmon{chip}/temp{core}_{item}", f"{content}\n")


def test_a_big_node_takes_less_than_a_second(tmp_path: Path) -> None:
    make_big_node(tmp_path)
    with within(1.0):  # 0.35 s on the machine it was written on
        frame = collect(f"{tmp_path}:/", SEATRIAL_FACTS="full")
    facts = node_facts(frame)
    assert (len(facts.system.sensors), len(facts.settings.modules), len(facts.system.mounts)) == (114, 200, 60)
    assert facts.settings.modules["mlx5_195"] == "5.0-0"


def test_every_fact_is_there_or_its_absence_is_explained() -> None:
    facts, absent = read_software(Frame(hostname="n1", complete=True))
    assert set(absent) == {f"software.{name}" for name in facts.__struct_fields__}


def test_every_setting_that_is_collected_is_documented() -> None:
    documented = (DOCS / "facts-system.md").read_text()
    frame = collect("/")
    assert [name for name in read_kernel(frame)[0].sysctls if f"`{name}`" not in documented] == []
    assert "`SEATRIAL_PATHS`" in documented and "`SEATRIAL_FACTS`" in documented
