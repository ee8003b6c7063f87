"""Open MPI's parameters from its files of settings, from a frame."""

from seatrial.facts.frame import Frame

SYSTEM_FILE = "openmpi-mca-params.conf"
USER_FILE = "~/.openmpi/mca-params.conf"
NOTHING_SET = "no file of settings sets anything"


def read_mpi_settings(frame: Frame) -> dict[str, str]:
    """Name -> value. The last line of a name counts, and the user's own file over the system's, as in Open MPI."""
    found: dict[str, str] = {}
    for path in _files(frame):
        for line in frame.files[path]:
            name, equals, value = line.partition("=")
            if equals and name.strip():
                found[name.strip()] = value.strip()
    return dict(sorted(found.items()))


def why_no_settings(frame: Frame) -> str:
    """NOTHING_SET where files were looked for and set nothing; else why they were not looked for."""
    looked = _files(frame) or frame.reason(SYSTEM_FILE).endswith("no such file")
    return NOTHING_SET if looked else frame.reason(SYSTEM_FILE)


def _files(frame: Frame) -> list[str]:
    return sorted(
        (path for path in frame.files if path.rpartition("/")[2] == SYSTEM_FILE or path == USER_FILE),
        key=lambda path: path == USER_FILE,
    )
