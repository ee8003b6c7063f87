"""An import that was killed and then recovered: its files are imported again, and no other run is touched."""

from pathlib import Path

import pytest

from seatrial.archive.journal import ValuesImported, of_type
from seatrial.archive.reader import read_entries
from seatrial.archive.recovery import recover_runs
from seatrial.archive.writer import RunWriter, ended
from seatrial.frame.command_line import run
from seatrial.model.imported import Source
from seatrial.model.run import Ending, RunKind
from tests.support.builders import Cluster, info_of

TABLE = "node,run,triad\n" + "".join(f"n{node},1,{100 + node}\n" for node in range(1, 6))


@pytest.mark.parametrize("change", ["half", "other", "whole"])
def test_half_of_an_import_that_was_recovered_is_imported_again(tmp_path: Path, change: str) -> None:
    """`other`: it has other values; `whole`: an import that was not killed has as few."""
    archive = tmp_path / "archive"
    table = tmp_path / "stream.csv"
    table.write_text(TABLE)
    info = info_of(Cluster(nodes=("n1",)), run="old-0001", kind=RunKind.IMPORT, ending=Ending.RUNNING)
    writer = RunWriter(archive, info)
    if change == "other":
        source = Source(file="x.csv", sha256="0" * 64, file_bytes=1, form="", in_folder=False)
        writer.append(ValuesImported(source=source, label="", values=()))
    if change == "whole":
        writer.close(ended(info, Ending.COMPLETE, info.started))
    else:
        assert recover_runs(archive, "old-0001", force=True).recovered[0].run == "old-0001"
    assert run(["import", str(table), "--name", "old", "--archive", str(archive)]) == (0 if change == "half" else 64)
    values = of_type(read_entries(archive / "old-0001"), ValuesImported)
    assert [len(one.values) for one in values] == {"half": [5], "other": [0], "whole": []}[change]
