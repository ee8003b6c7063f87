"""The gallery: each of its pictures is drawn by its command, and has the verdict that the command prints."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.gallery.__main__ import PAGE, commands_of, prepare, sections_of
from tests.support.command_line import Seatrial

TEXT = PAGE.read_text()
WANTED = ("all pairs", "matrix", "1, 2, 4 and 8 ranks", "two, and four networks", "drive a port", "Clocks of the cores",
          "HPL before and after", "with and without the lost patches", "128 nodes", "identical jobs", "gateways",
          "state of the cluster")  # fmt: skip
"""What sections are about: the pictures of the field reports."""
SVG = "{http://www.w3.org/2000/svg}"
SHOWN = {
    "maps.svg": {"Bandwidth in % of the limit", "One-way latency in µs", "leaf1", "leaf4", "sends", "receives", "S"},
    "spectrum.svg": {
        "Latency of pairs of ranks, by ranks per node",
        *(f"{ranks} ranks per node" for ranks in (2, 4, 8)),
    },
    "rails.svg": {"FDR dual", "FDR single", "FDR10 single", "QDR single", "limit of FDR dual 13.6 GB/s", "16 KiB"},
    "plateau.svg": {"limit 6.81 GB/s", "message size"},
    "clocks.svg": {"hardware's most 3.00 GHz", "n1", "n2", "processor, n = 8"},
    "hpl.svg": {"after over before", "20.1 % lower (95 % CI -20.4 to -19.9 %)"},
    "openfoam.svg": {"whole", "lost", "100 %: in proportion to nodes, from 1 on", "50 %"},
    "weak.svg": {"128", "efficiency, weak scaling; n = 1 run"},
    "gateways.svg": {"one", "two", "four", "2.00 GB/s", "write; n = 3 runs, bars: range"},
    "fabric.svg": {"leaf2 M", "spine1 M", "leaf1", "M MISCONFIGURED: 2", "PASS: 36"},
    "series.svg": {"changed", "values in their order, n = 60"},
}
"""Words that must be in a picture."""


def test_every_picture_of_the_reports_has_a_section_with_a_command() -> None:
    titles = sections_of(TEXT)
    assert [wanted for wanted in WANTED if not any(wanted in title for title in titles)] == []
    for title in titles:
        part = TEXT.split(f"\n## {title}\n")[1].split("\n## ")[0]
        assert any(drawn.file for drawn in commands_of(part)), title


def test_each_command_draws_its_picture_below_the_line_that_it_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seatrial: Seatrial
) -> None:
    folder = tmp_path / "gallery"
    monkeypatch.setenv("SEATRIAL_ARCHIVE", prepare(folder)["SEATRIAL_ARCHIVE"])
    monkeypatch.chdir(folder)
    files = set()
    for drawn in commands_of(TEXT):
        ran = seatrial(*drawn.words[1:], code=None)
        if not drawn.file:
            assert ran.code == 0, ran.err
            continue
        assert drawn.file not in files
        files.add(drawn.file)
        words = ["".join(one.itertext()).strip() for one in ElementTree.parse(drawn.file).iter(f"{SVG}text")]  # noqa: S314
        first = ran.out.splitlines()[0]
        assert words[0].startswith(first[:60]), drawn.file
        assert SHOWN.get(drawn.file, set()) - set(words) == set(), (drawn.file, words)
    assert set(SHOWN) <= files
