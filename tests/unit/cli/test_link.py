"""seatrial link: which options go with what is measured, and what each of them measures."""

from pathlib import Path

import pytest

from tests.support.builders import Cluster, names
from tests.support.command_line import Seatrial
from tests.support.launchers import use_launcher
from tests.support.rail_cluster import Railed, RailedLauncher
from tests.support.scripted import ScriptedLauncher
from tests.support.transport_launcher import two_rails

SHORT = ("--budget", "2s", "--json")


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        ("--starts 5", "--starts does not go with the curve over message sizes, only with --transports."),
        ("--within n1", "--within does not go with the curve over message sizes, only with --transports."),
        ("--rails auto --starts 5", "--starts does not go with the curve over message sizes, only with --transports."),
        ("--transports --max-size 1MiB", "--max-size does not go with --transports, only with the curve over message"),
        ("--transports --per-octave 1", "--per-octave does not go with --transports, only with the curve over"),
        ("--ranks-per-node 1,2 --max-size 1MiB", "--max-size does not go with --ranks-per-node, only with the curve"),
        ("--ranks-per-node auto --rails auto", "--rails does not go with --ranks-per-node, only with the curve over"),
        ("--ranks-per-node auto --launcher local", "--launcher does not go with --ranks-per-node, only with the curve"),
        ("--ranks-per-node auto --starts 4", "--starts does not go with --ranks-per-node, only with --transports."),
        ("--transports --ranks-per-node auto", "--ranks-per-node does not go with --transports."),
    ],
)
def test_an_option_of_another_measurement_is_refused(seatrial: Seatrial, words: str, refused: str) -> None:
    error = " ".join(seatrial("link", "n1", "n2", *words.split(), code=64).err.split())
    assert refused in error
    assert error.endswith("Leave it out.")


def test_what_the_file_of_the_site_says_is_not_refused(
    seatrial: Seatrial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site.toml"
    site.write_text('launcher = "local"\n')
    monkeypatch.setenv("SEATRIAL_SITE", str(site))
    use_launcher(ScriptedLauncher(Cluster(nodes=names(2))))
    asked = ("link", "--ranks-per-node", "1,2", "--archive", str(tmp_path / "runs"))
    assert seatrial(*asked, *SHORT, code=None).object["kind"] == "saturate"


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("", "curve"),
        ("--rails auto", "rails"),
        ("--ranks-per-node 1,2", "saturate"),
        ("--transports --starts 3", "transports"),
        ("--transports --starts 3 --rails auto", "transports"),
    ],
)
def test_each_measurement_has_its_kind(seatrial: Seatrial, tmp_path: Path, words: str, kind: str) -> None:
    use_launcher(two_rails() if kind == "transports" else RailedLauncher(Railed(nodes=names(2))))
    printed = seatrial("link", "n1", "n2", *words.split(), "--archive", tmp_path, *SHORT, code=None)
    assert printed.object["kind"] == kind
    assert (printed.data["source"], printed.data["target"]) == ("n1", "n2")


def test_a_node_within_which_to_measure_and_a_pair_are_two_things(seatrial: Seatrial, tmp_path: Path) -> None:
    use_launcher(two_rails())
    words = ("--transports", "--within", "n1", "--archive", str(tmp_path))
    assert "--within and two nodes cannot be given together." in seatrial("link", "n1", "n2", *words, code=64).err


def test_the_first_run_says_where_runs_are_kept(
    seatrial: Seatrial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SEATRIAL_ARCHIVE", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    use_launcher(RailedLauncher(Railed(nodes=names(2))))
    assert f"Runs are kept in {tmp_path}" in seatrial("link", "n1", "n2", *SHORT, code=None).err
