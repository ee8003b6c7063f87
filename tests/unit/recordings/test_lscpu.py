"""Outputs of lscpu of several types of cores, and in other languages than English."""

from pathlib import Path

import pytest

from seatrial.benchmarks.catalogue import recognised
from seatrial.frame.command_line import run
from seatrial.node.frame import FactsFormatError
from seatrial.recordings.command_text import facts_from_text, is_translated
from seatrial.rules.base import Readings
from seatrial.rules.catalogue import fact_findings
from tests.support.command_line import Seatrial, Text

HEAD = """\
Architecture:                aarch64
  CPU op-mode(s):            64-bit
  Byte Order:                Little Endian
CPU(s):                      {count}
  On-line CPU(s) list:       0-{last}
Vendor ID:                   ARM
"""
SECTION = """\
  Model name:                {name}
    Model:                   1
    Thread(s) per core:      {threads}
    Core(s) per {part}:      {cores}
    {parts}:               {count}
    CPU max MHz:             {mhz}.0000
"""
TAIL = "NUMA:\n  NUMA node(s):              1\n  NUMA node0 CPU(s):         0-{last}\n"
Section = dict[str, object]


def section(name: str, cores: int, mhz: int, threads: int = 1, *, clusters: int = 0) -> Section:
    parts = {"part": "cluster", "parts": "Cluster(s)"} if clusters else {"part": "socket", "parts": "Socket(s)"}
    return {"name": name, "cores": cores, "mhz": mhz, "threads": threads, "count": clusters or 1, **parts}


def text(count: int, *sections: Section) -> str:
    parts = [HEAD.format(count=count, last=count - 1), *(SECTION.format(**one) for one in sections)]
    return "".join([*parts, TAIL.format(last=count - 1)])


@pytest.mark.parametrize(
    ("sections", "processors", "cores", "name"),
    [
        ([section("X9", 12, 3900), section("A7", 8, 2800)], 20, 20, "X9 (12 cores) + A7 (8 cores)"),
        ([section("A76", 2, 2400), section("A55", 6, 1800)], 8, 8, "A76 (2 cores) + A55 (6 cores)"),
        ([section("P", 8, 5000, threads=2), section("E", 16, 3800)], 32, 24, "P (8 cores) + E (16 cores)"),
        (
            [section("X1", 1, 3000), section("A78", 3, 2500), section("A55", 4, 1800)],
            8,
            8,
            "X1 (1 cores) + A78 (3 cores) + A55 (4 cores)",
        ),
        (
            [section("A7", 4, 1400, clusters=1), section("A15", 4, 2000, clusters=1)],
            8,
            8,
            "A7 (4 cores) + A15 (4 cores)",
        ),
        ([section("-", 4, 2000), section("-", 4, 1500)], 8, 8, "- (4 cores) + - (4 cores)"),
    ],
)
def test_several_types_of_cores(sections: list[Section], processors: int, cores: int, name: str) -> None:
    facts = facts_from_text(text(processors, *sections), "n1")
    assert (facts.processors, facts.cores, facts.sockets, facts.cpu_model) == (
        processors,
        cores,
        None if "cluster" in str(sections[0]) else 1,
        name,
    )
    assert facts.processor.smt_active is any(one["threads"] == 2 for one in sections)
    assert len(facts.processor.hardware_maximum_hz) == processors
    mhz = {float(str(one["mhz"])) * 1e6 for one in sections}
    assert set(facts.processor.hardware_maximum_hz) == mhz


def test_one_type_and_two_outputs_in_one_file() -> None:
    one = text(12, section("X9", 12, 3900))
    for output in (one, one + one):
        facts = facts_from_text(output, "n1")
        assert (facts.cpu_model, facts.cores, facts.processors) == ("X9", 12, 12)


LANGUAGES = {
    "German": "Architektur:  x86_64\nCPU Operationsmodus:  64-bit\nByte-Reihenfolge:  Little Endian\nCPU(s):  8\n",
    "French": "Architecture :   x86_64\nBoutisme :      Little Endian\nProcesseur(s) : 8\n",
    "French, part of it": "Architecture :   x86_64\nProcesseur(s) : 8\n",
    "French, no-break spaces": "Architecture\u00a0:   x86_64\nProcesseur(s)\u00a0: 8\n",
    "Spanish": "Arquitectura:  x86_64\nOrden de los bytes:  Little Endian\nCPU(s):  8\n",
    "Chinese": "架构：          x86_64\n字节序：        Little Endian\nCPU:           8\n",
    "Polish": "Architektura:  aarch64\nKolejność bajtów:  Little Endian\nCPU:  4\n",
    "Ukrainian": "Архітектура:  ppc64le\nПорядок байтів:  Little Endian\nCPU:  160\n",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_another_language_is_refused_as_that(language: str, seatrial: Seatrial) -> None:
    said = seatrial("facts", "--from", Text(LANGUAGES[language], "n1.txt"), code=64).err
    assert "another language than English" in said and "Run it with LC_ALL=C." in said


def test_another_language_beside_other_outputs_is_refused_too() -> None:
    with pytest.raises(FactsFormatError, match="another language"):
        facts_from_text(LANGUAGES["German"] + "# dmidecode 3.3\nMemory Device\n\tSize: 32 GB\n", "n1")


def test_a_folder_with_one_of_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "n1.txt").write_text(LANGUAGES["Spanish"])
    (tmp_path / "n2.txt").write_text(text(12, section("X9", 12, 3900)))
    assert run(["facts", "--from", str(tmp_path)]) != 0
    assert "LC_ALL=C" in "".join(capsys.readouterr())


TWO_SOCKETS = """\
Architecture:        x86_64
CPU(s):              32
Thread(s) per core:  1
Core(s) per socket:  16
Socket(s):           2
NUMA node(s):        {nodes}
Vendor ID:           {vendor}
CPU family:          {family}
Model:               {model}
"""


@pytest.mark.parametrize(
    ("vendor", "family", "model", "lists", "mode"),
    [
        ("GenuineIntel", 6, 85, ["0-31"], "interleaved"),
        ("GenuineIntel", 6, 26, ["0-31"], "interleaved"),
        ("GenuineIntel", 6, 23, ["0-31"], ""),  # one controller for all sockets
        ("GenuineIntel", 6, 85, ["0-15", "16-31"], ""),
        ("GenuineIntel", 6, 143, ["0-7", "8-15", "16-23", "24-31"], "snc2"),
        ("AuthenticAMD", 25, 1, ["0-31"], "nps0"),
        ("AuthenticAMD", 25, 1, ["0-15", "16-31"], "nps1"),
        ("AuthenticAMD", 25, 1, ["0-15", "16-31", ""], ""),  # memory alone, or cut off
        ("AuthenticAMD", 25, 1, ["0-9", "10-20", "21-31"], ""),
    ],
)
def test_the_numa_mode_of_two_sockets(vendor: str, family: int, model: int, lists: list[str], mode: str) -> None:
    head = TWO_SOCKETS.format(nodes=len(lists), vendor=vendor, family=family, model=model)
    rows = [f"NUMA node{number} CPU(s):   {cpus}\n" for number, cpus in enumerate(lists)]
    facts = facts_from_text(head + "".join(rows), "n1")
    assert facts.system.firmware.cluster_mode == mode
    named = [finding.subject.name for finding in fact_findings(Readings(facts={"n1": facts}))]
    assert named == (["n1"] if mode in ("interleaved", "nps0") else [])
    for part in ("".join([head, *rows[1:]]), "".join([head, *rows, "Hypervisor vendor:   KVM\n"])):
        assert facts_from_text(part, "n1").system.firmware.cluster_mode == ""


def test_english_and_other_texts_are_not_taken_for_translations() -> None:
    assert not is_translated("path: /usr/lib/x86_64\nByte Order: Little Endian\n")
    assert not is_translated("machine: x86_64\n")
    assert not is_translated("Architecture: x86_64\nCPU(s): 8\n")


@pytest.mark.parametrize("language", ["German", "French", "French, part of it", "Chinese"])
def test_judge_calls_another_language_a_description_of_a_machine(language: str) -> None:
    output = recognised(LANGUAGES[language])
    assert output is not None and output.name == "a description of a machine (lscpu or dmidecode)"
