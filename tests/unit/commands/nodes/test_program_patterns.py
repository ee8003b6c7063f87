"""A program of the site on each node, whose output is read by patterns of the site: they have limited time."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from seatrial.commands.nodes import program_judge
from seatrial.commands.nodes.program_run import node_program, run_program
from seatrial.model.errors import UsageError
from seatrial.model.settings import NodesSettings, SiteSettings
from tests.support.builders import Cluster, names
from tests.support.launchers import use_launcher
from tests.support.node_programs import NodeProgramLauncher, prints

NESTED = """
name = 'own'
[metrics.rate]
pattern = '(?:a+)+b([0-9]+)'
unit = 'B/s'
[run]
command = ['own']
mpi = false
"""
"""The time doubles with each letter a that no b follows."""


@pytest.mark.usefixtures("without_keeper")
@pytest.mark.parametrize(("letters", "ends"), [(4, False), (60, True)])
def test_patterns_have_limited_time(tmp_path: Path, letters: int, ends: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_judge, "PARSE_S", 0.5)
    (tmp_path / "own.toml").write_text(NESTED)
    use_launcher(NodeProgramLauncher(Cluster(nodes=names(3)), lambda *_: prints("a" * letters + "\n")))
    site = SiteSettings(archive=tmp_path / "archive", run="kept", budget_s=60.0)
    settings = NodesSettings(site=site, program=node_program(f"{tmp_path}/own.toml"))
    with pytest.raises(UsageError, match=r"took more than 0\.5 s") if ends else nullcontext():
        run_program(settings)
    assert (tmp_path / "archive" / "kept" / "run.json").exists()
