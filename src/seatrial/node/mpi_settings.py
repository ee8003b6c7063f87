"""What MPIs and their transports are told on a node, by files and by the environment of a job there, from a frame."""

from collections.abc import Iterator

from seatrial.node.frame import Frame

SYSTEM_FILE = "openmpi-mca-params.conf"
USER_FILE = "~/.openmpi/mca-params.conf"
NAMED = "mca_base_param_files "
"""Before each file that the variable of this name gives Open MPI instead of the system's and the user's."""
UCX_FILE = "ucx.conf"
ENVIRONMENT = "environment of an MPI"
OVERRIDE = "openmpi-mca-params-override.conf"
"""Of the system: what it sets wins over the environment."""
MCA = "OMPI_MCA_"
NOTHING_SET = "no file of settings sets anything"


def read_mpi_settings(frame: Frame) -> dict[str, str]:
    """Name -> value: Open MPI's parameters by their names, all else as environment variables.

    The last line of a name counts; the user's own file wins over the system's, the environment over these, and the
    system's override over all, as in Open MPI.
    """
    found: dict[str, str] = {}
    for path in _ordered(frame):
        for line in frame.files[path]:
            name, equals, value = line.partition("=")
            if equals and name.strip():
                found[name.strip().removeprefix(MCA)] = value.strip()
    return dict(sorted(found.items()))


def is_variable(name: str) -> bool:
    """Whether it is an environment variable (UCX_TLS); Open MPI's parameters (btl) are in small letters."""
    return name.isupper()


def why_no_settings(frame: Frame) -> str:
    """NOTHING_SET where files were looked for and set nothing; else why they were not looked for."""
    looked = list(_ordered(frame)) or frame.reason(SYSTEM_FILE).endswith("no such file")
    return NOTHING_SET if looked else frame.reason(SYSTEM_FILE)


def _ordered(frame: Frame) -> Iterator[str]:
    """What stands in a later one counts."""
    files = sorted(frame.files)
    named = [path for path in frame.files if path.startswith(NAMED)]
    usual = [path for path in files if _name(path) == SYSTEM_FILE and path not in named]
    yield from (path for path in files if _name(path) == UCX_FILE and path not in named)
    yield from reversed(named) if named else (*usual, *(path for path in files if path == USER_FILE))
    yield from (path for path in files if path == ENVIRONMENT)
    yield from (path for path in files if _name(path) == OVERRIDE and path not in named)


def _name(path: str) -> str:
    return path.rpartition("/")[2]
