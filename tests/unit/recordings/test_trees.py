"""Strangers' archives: what they hold comes out, and nothing of it leads or is written outside."""

import bz2
import gzip
import io
import lzma
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from seatrial.model.errors import UsageError
from seatrial.recordings import tarballs
from seatrial.recordings.tarballs import beginning, is_tar, unpack_tar
from seatrial.recordings.trees import MOST_HOPS, TreeWriter, leads_inside, plain_name

Add = Callable[[tarfile.TarFile], None]


def entry(name: str, kind: bytes = tarfile.REGTYPE, target: str = "", content: bytes = b"") -> Add:
    def add(archive: tarfile.TarFile) -> None:
        member = tarfile.TarInfo(name)
        member.type, member.linkname, member.size = kind, target, len(content)
        archive.addfile(member, io.BytesIO(content))

    return add


def tar(path: Path, *entries: Add, form: int = tarfile.GNU_FORMAT) -> Path:
    with tarfile.open(path, "w", format=form) as archive:
        for add in entries:
            add(archive)
    return path


def unpack(folder: Path, *entries: Add, **caps: int) -> tuple[Path, TreeWriter]:
    root = folder / "tree"
    root.mkdir()
    writer = TreeWriter(root, **caps)
    unpack_tar(tar(folder / "it.tar", *entries), writer)
    writer.finish()
    return root, writer


def everything(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*")}


def test_files_folders_and_links_come_out(tmp_path: Path) -> None:
    root, writer = unpack(
        tmp_path,
        entry("./n1/sys/class/net/eth0", tarfile.SYMTYPE, "../../devices/pci0000:00/net/eth0"),
        entry("./n1/sys/devices/pci0000:00/net/eth0/", tarfile.DIRTYPE),
        entry("./n1/sys/devices/pci0000:00/net/eth0/mtu", content=b"9000\n"),
        entry("./n1/sys/devices/pci0000:00/net/eth0/subsystem", tarfile.SYMTYPE, "../../../../class/net"),
    )
    assert (root / "n1/sys/class/net/eth0/mtu").read_text() == "9000\n"
    assert (root / "n1/sys/class/net/eth0/subsystem/eth0/mtu").read_text() == "9000\n"
    assert writer.dropped == 0


def test_of_two_files_with_one_name_the_later_one_stays(tmp_path: Path) -> None:
    root, writer = unpack(tmp_path, entry("sys/mtu", content=b"1500\n" * 9), entry("sys/mtu", content=b"9000\n"))
    assert (root / "sys/mtu").read_text() == "9000\n"
    assert writer.dropped == 0


def test_a_link_outside_is_left_out_and_nothing_is_written_through_it(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    root, writer = unpack(
        tmp_path,
        entry("sys/passwd", tarfile.SYMTYPE, "/etc/passwd"),
        entry("sys/up", tarfile.SYMTYPE, "../../outside"),
        entry("sys/up/file", content=b"written"),
        entry("sys/down", tarfile.SYMTYPE, str(outside)),
    )
    assert list(outside.iterdir()) == []
    assert not (root / "sys/passwd").is_symlink()
    assert (root / "sys/up/file").read_text() == "written"
    assert writer.dropped == 3
    assert not any(path.is_symlink() for path in root.rglob("*"))


@pytest.mark.parametrize("order", [1, -1])
def test_links_that_only_together_lead_outside_are_left_out(tmp_path: Path, order: int) -> None:
    links = [
        entry("a/b/root", tarfile.SYMTYPE, "../.."),
        entry("a/b/above", tarfile.SYMTYPE, "root/.."),
        entry("c", tarfile.SYMTYPE, "a/b/above/etc"),
    ][::order]
    root, _ = unpack(tmp_path, *links)
    for path in root.rglob("*"):
        assert str(path.resolve()).startswith(str(root.resolve()))
    assert (root / "a/b/root").is_symlink()


def test_a_link_whose_name_is_taken_by_a_folder_misleads_nobody(tmp_path: Path) -> None:
    root, _ = unpack(
        tmp_path,
        entry("deep", tarfile.SYMTYPE, "x/y/z"),
        entry("x/y/z/file", content=b"1"),
        entry("deep/file", content=b"2"),
        entry("out", tarfile.SYMTYPE, "deep/../../.."),
    )
    assert (root / "deep/file").read_text() == "2"
    assert not (root / "out").is_symlink()


def test_links_below_links_and_loops_do_no_harm(tmp_path: Path) -> None:
    root, _ = unpack(
        tmp_path,
        entry("a/x", tarfile.SYMTYPE, "../../.."),
        entry("a", tarfile.SYMTYPE, "b"),
        entry("loop", tarfile.SYMTYPE, "loop"),
        entry("one", tarfile.SYMTYPE, "two/three"),
        entry("two", tarfile.SYMTYPE, "one"),
        *(entry(f"chain{number}", tarfile.SYMTYPE, f"chain{number + 1}") for number in range(2000)),
    )
    assert not any(".." in str(path.readlink()) for path in root.rglob("*") if path.is_symlink())
    assert not (root / "loop").exists()


def test_a_chain_of_links_ends_where_the_kernel_would_end_it() -> None:
    links = {f"l{number}": f"l{number + 1}" for number in range(100)}
    assert leads_inside(f"l{100 - MOST_HOPS}", links)
    assert not leads_inside(f"l{99 - MOST_HOPS}", links)


@pytest.mark.parametrize("name", ["/etc/passwd", "../up", "sys/../../up", "..", "sys/.."])
def test_names_that_climb_are_refused_and_shown(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="would be outside") as refusal:
        unpack(tmp_path, entry(name, content=b"x"))
    assert repr(name) in str(refusal.value)
    assert not (tmp_path / "up").exists()


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_devices_are_left_out(tmp_path: Path, kind: bytes) -> None:
    root, writer = unpack(tmp_path, entry("dev/null", kind), entry("sys/file", content=b"x"))
    assert everything(root) == {"sys", "sys/file"}
    assert writer.dropped == 1


def test_hard_links_are_copies_of_what_was_there_and_lead_nowhere_else(tmp_path: Path) -> None:
    root, writer = unpack(
        tmp_path,
        entry("a", content=b"a"),
        entry("b", tarfile.LNKTYPE, "a"),
        entry("c", tarfile.LNKTYPE, "nothing"),
        entry("d", tarfile.LNKTYPE, "d"),
        entry("a", content=b"new"),
    )
    assert (root / "a").read_text() == "new"
    assert (root / "b").read_text() == "a"
    assert (everything(root), writer.dropped) == ({"a", "b"}, 2)


@pytest.mark.parametrize("target", ["/etc/passwd", "../../etc/passwd"])
def test_hard_links_outside_are_refused(tmp_path: Path, target: str) -> None:
    with pytest.raises(UsageError, match="would be outside"):
        unpack(tmp_path, entry("sys/passwd", tarfile.LNKTYPE, target))


def test_names_that_sysfs_does_not_have_are_left_out(tmp_path: Path) -> None:
    root, writer = unpack(
        tmp_path,
        entry("sys/a\n@value /x|1", content=b"x"),
        entry("sys/\x1b[31m", tarfile.DIRTYPE),
        entry("sys/" + "x" * 300, content=b"x"),
        entry("/".join("d" * 200), content=b"x"),
        entry("sys/l", tarfile.SYMTYPE, "a\nb"),
        entry("sys/good", content=b"x"),
    )
    assert everything(root) == {"sys", "sys/good"}
    assert writer.dropped == 5
    assert plain_name("a//./b/") == "a/b"


def test_a_file_in_a_folders_place_and_the_reverse(tmp_path: Path) -> None:
    root, writer = unpack(
        tmp_path,
        entry("a", content=b"1"),
        entry("a/b", content=b"2"),
        entry("c/d", content=b"3"),
        entry("c", content=b"4"),
    )
    assert everything(root) == {"a", "c", "c/d"}
    assert writer.dropped == 2


def test_more_than_the_cap_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="more than 1 MiB"):
        unpack(tmp_path, entry("a", content=bytes(1 << 20)), entry("b", content=b"x"), largest_bytes=1 << 20)


def test_too_many_members_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="more than 3 members"):
        unpack(tmp_path, *(entry(f"f{number}") for number in range(4)), most_members=3)


def test_a_bomb_is_refused_before_it_fills_the_disk(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.tar.gz"
    member = tarfile.TarInfo("sys/big")
    member.size = 1 << 40
    with gzip.open(bomb, "wb") as stream:
        stream.write(member.tobuf())
        stream.write(bytes(32 << 20))
    writer = TreeWriter(tmp_path, largest_bytes=1 << 20)
    with pytest.raises(UsageError, match="more than 1 MiB"):
        unpack_tar(bomb, writer)
    assert (tmp_path / "sys/big").stat().st_size <= 1 << 20


@pytest.mark.parametrize("kind", [b"x", b"L"])
def test_a_header_that_would_fill_the_memory_is_refused(tmp_path: Path, kind: bytes) -> None:
    bomb = tmp_path / "bomb.tar.gz"
    member = tarfile.TarInfo("x")
    member.type, member.size = kind, 4 << 30
    with gzip.open(bomb, "wb", compresslevel=1) as stream:
        stream.write(member.tobuf(tarfile.GNU_FORMAT))
        for _ in range(80):
            stream.write(bytes(1 << 20))
    with pytest.raises(UsageError, match="more than 64 MiB"):
        unpack_tar(bomb, TreeWriter(tmp_path))


def test_a_member_that_is_skipped_is_not_unpacked_without_end(tmp_path: Path) -> None:
    member = tarfile.TarInfo("dev/x")
    member.type, member.size = b"Z", 1 << 40
    plain = tmp_path / "it.tar"
    plain.write_bytes(member.tobuf(tarfile.GNU_FORMAT) + bytes(4096))
    (tmp_path / "tree").mkdir()
    with pytest.raises(UsageError, match="more than"):
        unpack_tar(plain, TreeWriter(tmp_path / "tree"))


def test_a_negative_size_is_no_endless_loop(tmp_path: Path) -> None:
    member = tarfile.TarInfo("sys/x")
    member.pax_headers = {"size": "-1024"}
    path = tmp_path / "it.tar"
    path.write_bytes(member.tobuf(tarfile.PAX_FORMAT) * 3 + bytes(2048))
    (tmp_path / "tree").mkdir()
    writer = TreeWriter(tmp_path / "tree", most_members=1000)
    try:
        unpack_tar(path, writer)
    except UsageError as error:
        assert "members" not in str(error)


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_every_compression_is_told_by_content(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    plain = tar(tmp_path / "plain", entry("sys/file", content=b"x")).read_bytes()
    packed = tmp_path / "no-suffix"
    packed.write_bytes(compress(plain))
    assert is_tar(beginning(packed))
    (tmp_path / "tree").mkdir()
    writer = TreeWriter(tmp_path / "tree")
    unpack_tar(packed, writer)
    assert (tmp_path / "tree/sys/file").read_bytes() == b"x"


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_what_is_cut_short_is_damaged(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    content = os.urandom(100_000)
    plain = tar(tmp_path / "plain", entry("sys/file", content=content)).read_bytes()
    packed = tmp_path / "cut"
    packed.write_bytes(compress(plain)[:60_000])
    (tmp_path / "tree").mkdir()
    with pytest.raises(UsageError, match="is damaged"):
        unpack_tar(packed, TreeWriter(tmp_path / "tree"))


def test_reading_stops_at_the_largest_stream(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(bytes(5000))
    with path.open("rb") as stream:
        capped = tarballs.Capped(stream, largest=4096)
        assert len(capped.read(4096)) == 4096
        with pytest.raises(UsageError, match="more than"):
            capped.read(512)
        with pytest.raises(UsageError, match="more than"):
            capped.seek(1 << 40)
