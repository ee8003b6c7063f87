"""Without DuckDB: what compares runs says so before it asks for nodes, or changes a setting."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from seatrial.archive.samples import NotInstalled
from seatrial.commands.check.run import run_check
from seatrial.model.settings import CheckSettings
from tests.support.builders import Cluster, names
from tests.support.command_line import Seatrial
from tests.support.paths import ROOT
from tests.support.run_archives import healthy_run
from tests.support.scripted import ScriptedLauncher


class CountingLauncher(ScriptedLauncher):
    """How often nodes were asked for."""

    asked = 0

    def allocate(self, nodes: Sequence[str], seconds: float) -> None:
        self.asked += 1


def test_a_check_against_a_baseline_asks_for_no_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(nodes=names(4))
    settings = CheckSettings(archive=tmp_path, node_trials=False, loaded=False, run="before")
    run_check(settings, launcher=CountingLauncher(cluster))
    monkeypatch.setitem(sys.modules, "duckdb", None)
    launcher = CountingLauncher(cluster)
    with pytest.raises(NotInstalled, match="needs DuckDB") as caught:
        run_check(replace(settings, run="now", baseline="before"), launcher=launcher)
    assert "pip install duckdb" in caught.value.remedy
    assert launcher.asked == 0
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("now")]
    assert run_check(replace(settings, run="alone"), launcher=launcher).judgement.complete


def test_a_toggled_setting_is_not_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seatrial: Seatrial) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    setter = f"{sys.executable} -c 'import pathlib; pathlib.Path(\"{tmp_path}/changed\").touch()'"
    words = ["compare", "--toggle", setter, setter, "--archive", str(tmp_path / "archive"), "--", "echo", "seconds 1"]
    assert "needs DuckDB" in seatrial(*words, code=2).err
    assert not (tmp_path / "changed").exists()


def test_a_site_says_on_the_pages_that_need_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seatrial: Seatrial
) -> None:
    for number in (1, 2):
        healthy_run(tmp_path / "archive", number, nodes=3)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    seatrial("site", tmp_path / "site", "--archive", tmp_path / "archive")
    for page in ("over-time", "compare"):
        assert "needs DuckDB" in (tmp_path / "site" / f"{page}.html").read_text()
    assert "link" in (tmp_path / "site" / "runs" / "h2.html").read_text()


def test_what_the_readme_installs_can_compare_runs() -> None:
    readme = (ROOT / "README.md").read_text()
    lines = [line for line in readme.splitlines() if re.search(r"bin/pip install", line)]
    assert len(lines) == 2
    assert all("[samples]'" in line for line in lines)
