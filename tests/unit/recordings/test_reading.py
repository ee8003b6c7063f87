"""What --from reads: every form by its content, every machine that we have, and no crash on anything else."""

import bz2
import gzip
import io
import lzma
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seatrial.driver.facts_reading import read_earlier, read_recording
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.recordings.recording import (
    GATHER_FILE,
    Form,
    Gathered,
    contents,
    form_of,
    gathered_text,
    read_gathered,
    unpacked,
)
from seatrial.recordings.tarballs import unpack_ttar
from seatrial.recordings.trees import TreeWriter
from tests.support.builders import Cluster, names, record, sail
from tests.support.properties import examples

CLUSTER = Cluster(nodes=names(3))
SYSINFO = '{"n1": {"hostname": "n1", "cpu": {"CPU(s)": "4", "Model name": "Test", "NUMA node0 CPU(s)": "0-3"}}}'
XML = (
    '<?xml version="1.0"?><topology version="2.0"><object type="Machine" os_index="0">'
    '<info name="HostName" value="n1"/><object type="Package" os_index="0"><object type="Core" os_index="0">'
    '<object type="PU" os_index="0"/></object></object></object></topology>'
)
TTAR = """\
# Archive created by ttar -c -f it.ttar sys
Directory: sys
Mode: 755
# ttar - - -
Path: sys/class/net/eth0
SymlinkTo: ../../devices/eth0
# ttar - - -
Path: sys/devices/eth0/mtu
Lines: 1
9000
Mode: 644
# ttar - - -
Path: sys/devices/eth0/odd
Lines: 3
aNULLBYTEb
\\NULLBYTE \\EOF
the last EOF
Mode: 444
# ttar - - -
Path: proc/sys/kernel/hostname
Lines: 1
n9EOF
Mode: 444
"""


def tree(folder: Path, hostname: str = "") -> Path:
    (folder / "sys/devices/eth0").mkdir(parents=True)
    (folder / "sys/class/net").mkdir(parents=True)
    (folder / "sys/class/net/eth0").symlink_to("../../devices/eth0")
    (folder / "sys/devices/eth0/mtu").write_text("9000\n")
    if hostname:
        (folder / "proc/sys/kernel").mkdir(parents=True)
        (folder / "proc/sys/kernel/hostname").write_text(hostname + "\n")
    return folder


def tarball(path: Path, folder: Path, mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        archive.add(folder, arcname=folder.name)
    return path


def test_ttar_comes_out_as_it_was(tmp_path: Path) -> None:
    writer = TreeWriter(tmp_path)
    unpack_ttar(TTAR.encode(), writer)
    writer.finish()
    assert (tmp_path / "sys/class/net/eth0/mtu").read_bytes() == b"9000\n"
    assert (tmp_path / "sys/devices/eth0/odd").read_bytes() == b"a\0b\nNULLBYTE EOF\nthe last "
    assert (tmp_path / "proc/sys/kernel/hostname").read_bytes() == b"n9"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("Hello", "Line 20 of the ttar archive is 'Hello'"),
        ("Lines: many", "Lines: many"),
        ("Path: /etc/x\nLines: 0", "/etc/x"),
    ],
)
def test_ttar_with_strange_lines_is_refused(line: str, shown: str) -> None:
    with pytest.raises(UsageError) as refusal:
        unpack_ttar("\n".join([*TTAR.split("\n")[:19], line]).encode(), TreeWriter(Path("/nowhere"), most_members=0))
    assert shown in str(refusal.value) or "members" in str(refusal.value)


def test_ttar_that_is_cut_short_gives_what_there_is(tmp_path: Path) -> None:
    writer = TreeWriter(tmp_path)
    unpack_ttar(TTAR.partition("\n\\NULL")[0].encode(), writer)
    writer.finish()
    assert (tmp_path / "sys/devices/eth0/odd").read_bytes() == b"a\0b\n"


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (CLUSTER.facts_text("n1"), Form.STREAM),
        (SYSINFO, Form.JSON),
        (XML, Form.XML),
        ("\ufeff" + XML, Form.XML),
        (TTAR, Form.TTAR),
        (TTAR.partition("\n")[2], Form.TTAR),
    ],
)
@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_every_form_is_told_by_its_content(
    tmp_path: Path, content: str, form: Form, compress: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "anything"
    path.write_bytes(compress(content.encode()))
    assert form_of(path) is form
    read = read_recording(path)
    assert len(read.facts) == 1


@pytest.mark.parametrize("content", [b"", b"hello\n", b"\x7fELF\x02\x01", b"[1, 2]", b"#!/bin/sh\n", bytes(4096)])
def test_anything_else_is_refused_and_told_what_was_expected(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "it"
    path.write_bytes(content)
    with pytest.raises(UsageError) as refusal:
        read_recording(path)
    assert str(path) in str(refusal.value)
    assert "NODE.facts" in refusal.value.remedy


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("CA 'mlx5_0'\n\tCA type: MT4123\n", "ibstat"),
        ("08:00.0 Ethernet controller: QLogic Corp.\n", "lspci"),
        ("n1: available: 8 nodes (0-7)\nn2: available: 8 nodes (0-7)\n", "numactl"),
        ("> available: 8 nodes (0-7)\n> node 0 cpus: 0 1\n", "numactl"),
        ('{"card0": {"Card Series": "AMD Instinct MI250X"}}', "rocm-smi"),
        ("# OSU MPI Bandwidth Test v5.6\n# Size      Bandwidth (MB/s)\n1    1.75\n", ""),
    ],
)
def test_what_describes_a_machine_and_is_not_read_is_refused_by_its_name(
    tmp_path: Path, content: str, named: str
) -> None:
    (tmp_path / "it").write_text(content)
    with pytest.raises(SeatrialError) as refusal:
        read_recording(tmp_path / "it")
    assert named in str(refusal.value)
    assert ("NODE.facts" in refusal.value.remedy) is not bool(named)


def test_nodes_are_in_natural_order(tmp_path: Path) -> None:
    for node in ("n2", "n10", "n1"):
        (tmp_path / f"{node}.facts").write_text(CLUSTER.facts_text("n1"))
    assert list(read_recording(tmp_path).facts) == ["n1", "n2", "n10"]


@pytest.mark.parametrize("content", ["{}", '{"a": 1}', '{"nodes": {}}', "{", '{"a": {"cpu": 3}}'])
def test_json_that_describes_no_node_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "it.json").write_text(content)
    with pytest.raises(SeatrialError, match="JSON"):
        read_recording(tmp_path / "it.json")


def test_a_name_that_is_not_there_is_shown(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"There is no recording '.*nothing'"):
        read_recording(tmp_path / "nothing")


def test_an_empty_folder_holds_no_recording(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="contains no recording"):
        read_recording(tmp_path)


def test_the_running_machine_is_no_recording() -> None:
    with pytest.raises(UsageError, match="/ is this machine itself"):
        read_recording(Path("/"))


def test_a_tree_is_read_in_place_and_from_every_kind_of_tar(tmp_path: Path) -> None:
    folder = tree(tmp_path / "machine", "n7")
    found = [read_recording(folder)]
    found += [read_recording(tarball(tmp_path / f"it-{end}", folder, f"w:{end}")) for end in ("", "gz", "bz2", "xz")]
    for read in found:
        assert list(read.facts) == ["n7"]
        assert [each.mtu_bytes for each in read.facts["n7"].interfaces] == [9000]


def test_a_tree_without_a_name_gets_that_of_its_folder_or_archive(tmp_path: Path) -> None:
    folder = tree(tmp_path / "machine")
    assert list(read_recording(folder).facts) == ["machine"]
    (facts,) = read_recording(tarball(tmp_path / "node-3.tar.gz", folder)).facts.values()
    assert facts.hostname == "node-3"


@pytest.mark.parametrize("place", ["sos_commands/host/hostname", "hostname", "etc/hostname"])
def test_a_sosreport_has_the_name_of_its_host(place: str, tmp_path: Path) -> None:
    folder = tree(tmp_path / "sosreport-a-2026-11-30-xyz")
    (folder / place).parent.mkdir(parents=True, exist_ok=True)
    (folder / place).write_text("node17.cluster\n")
    (facts,) = read_recording(tarball(tmp_path / "sosreport-a.tar.xz", folder, "w:xz")).facts.values()
    assert facts.hostname == "node17.cluster"


def test_several_trees_are_a_cluster(tmp_path: Path) -> None:
    for name, hostname in (("a", "n1"), ("b", ""), ("c", "n1")):
        tree(tmp_path / "all" / name, hostname)
    read = read_recording(tarball(tmp_path / "all.tar.gz", tmp_path / "all"))
    assert {name: facts.hostname for name, facts in read.facts.items()} == {"n1": "n1", "b": "b", "c": "c"}


def test_a_tree_whose_path_holds_a_colon_is_read(tmp_path: Path) -> None:
    assert list(read_recording(tree(tmp_path / "10:30:00", "n1")).facts) == ["n1"]


def test_what_was_unpacked_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    read_recording(tarball(tmp_path / "it.tar.gz", tree(tmp_path / "machine", "n1")))
    with pytest.raises(UsageError), unpacked(tarball(tmp_path / "2.tar.gz", tmp_path / "machine"), Form.TAR) as folder:
        assert folder.is_dir()
        contents(folder / "machine/sys/class", "it")
    assert list(scratch.iterdir()) == []


def test_without_a_shell_the_sentence_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SeatrialError, match="POSIX shell"):
        read_recording(tree(tmp_path / "machine"))


def test_streams_of_a_folder_and_of_a_tar(tmp_path: Path) -> None:
    folder = tmp_path / "recording"
    folder.mkdir()
    for node in ("n1", "a/b.c"):
        (folder / f"{node.replace('/', '%2F').replace('.', '%2E')}.facts").write_text(CLUSTER.facts_text(node))
    (folder / "bad.facts").write_text("#seatrial-facts 7 bad\n")
    (folder / "other.txt").write_text("no stream")
    for read in (read_recording(folder), read_recording(tarball(tmp_path / "x", folder))):
        assert set(read.facts) == {"n1", "a/b.c"}
        assert "version '7'" in read.silent["bad"]


def test_a_folder_of_bad_streams_alone_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.facts").write_text("#seatrial-facts 7 bad\n")
    with pytest.raises(SeatrialError, match=r"The machine in .* cannot be read"):
        read_recording(tmp_path)


def test_a_run_is_a_recording_with_two_readings(tmp_path: Path) -> None:
    recorded = sail(CLUSTER)
    folder = record(CLUSTER, tmp_path / "archive", recorded=recorded, features={"n1": ("ib", "gpu")})
    for path in (folder, folder / "facts", tarball(tmp_path / "run.tar.gz", folder)):
        read = read_recording(path)
        assert set(read.facts) == set(read.after) == set(CLUSTER.nodes)
    assert read_recording(folder).features == {"n1": ("ib", "gpu")}
    assert read_recording(folder).facts["n1"] == recorded.facts["n1"]


def test_earlier_is_a_recording_or_a_run_of_the_archive(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    folder = record(CLUSTER, archive, "20261121T100000Z-check-aaaa")
    for name in ("last", "20261121", str(folder), str(folder / "facts")):
        assert set(read_earlier(name, archive).facts) == set(CLUSTER.nodes)
    with pytest.raises(UsageError, match="Nor is there a recording of that name"):
        read_earlier("nothing", archive)
    shutil.rmtree(folder / "facts")
    with pytest.raises(UsageError, match="has no facts"):
        read_earlier("last", archive)


def samples() -> dict[str, bytes]:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in (("m/sys/a", b"1\n"), ("m/proc/sys/kernel/hostname", b"n1\n"), ("m/sys/b", b"x" * 900)):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        link = tarfile.TarInfo("m/sys/l")
        link.type, link.linkname = tarfile.SYMTYPE, "../proc"
        archive.addfile(link)
    return {
        "tar": buffer.getvalue(),
        "pax": pax(),
        "tar.gz": gzip.compress(buffer.getvalue()),
        "tar.bz2": bz2.compress(buffer.getvalue()),
        "tar.xz": lzma.compress(buffer.getvalue()),
        "ttar": TTAR.encode(),
        "XML": XML.encode(),
        "JSON": SYSINFO.encode(),
        "stream": CLUSTER.facts_text("n1").encode(),
    }


def pax() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        member = tarfile.TarInfo("m/sys/" + "é" * 60)
        member.pax_headers = {
            "size": "3",
            "GNU.sparse.major": "1",
            "GNU.sparse.minor": "0",
            "GNU.sparse.name": "m/sys/x",
        }
        member.size = 3
        archive.addfile(member, io.BytesIO(b"abc"))
    return buffer.getvalue()


SAMPLES = samples()
edits = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.integers(0, 60),
        st.one_of(
            st.binary(max_size=12),
            st.sampled_from(
                [b"", b"\n", b"../", b"\0" * 512, b"9" * 11, b"\xff" * 12, b"Lines: 9\n", b"</object>", b'"']
            ),
        ),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(sorted(SAMPLES)), changes=edits, cut=st.floats(0, 1) | st.none())
def test_mangled_recordings_give_facts_or_a_sentence(
    tmp_path: Path, name: str, changes: list[tuple[float, int, bytes]], cut: float | None
) -> None:
    data = bytearray(SAMPLES[name])
    for place, removed, put in changes:
        start = int(place * len(data))
        data[start : start + removed] = put
    path = tmp_path / "it"
    path.write_bytes(bytes(data if cut is None else data[: int(cut * len(data))]))
    try:
        form = form_of(path)
        if form in (Form.TAR, Form.TTAR):  # without the collector, which takes too long for so many
            with unpacked(path, form) as folder:
                stay_inside(folder)
                contents(folder, path)
        else:
            assert read_recording(path).facts
    except SeatrialError as error:
        assert str(error).endswith(".") or "NODE.facts" in str(error)


def stay_inside(folder: Path) -> None:
    for path in folder.rglob("*"):
        assert path.resolve().is_relative_to(folder.resolve())


def test_a_recordings_own_description_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    assert read_gathered(tmp_path) is None
    for content in (b"{", b"\xff\xfe", b'{"nodes": 3}'):
        (tmp_path / GATHER_FILE).write_bytes(content)
        assert read_gathered(tmp_path) is None
    (tmp_path / GATHER_FILE).write_text(gathered_text(Gathered(cluster="c")))
    assert read_gathered(tmp_path) == Gathered(cluster="c")
