"""Where storage is tried: which folders are refused, and on what they lie."""

from pathlib import Path

import pytest

from seatrial.driver.node_trials import check_name, free_bytes, kind_of, make_storage_folder
from seatrial.model.errors import UsageError


@pytest.mark.parametrize("name", ["a\\b", 'a"b', "é", "a\nb", "x" * 401])
def test_a_path_that_the_protocol_cannot_carry_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="ASCII"):
        check_name(Path("/") / name)


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        make_storage_folder(tmp_path / "none")
    with pytest.raises(UsageError, match="No such file"):
        free_bytes(tmp_path / "none")


def test_the_kind_of_a_file_system_is_that_of_the_innermost_mount() -> None:
    mounts = (
        "/dev/vda / ext4 rw 0 0\nserver:/w /shared nfs4 rw 0 0\ntmpfs /shared/ram tmpfs rw 0 0\n"
        "none /a\\040b lustre rw 0 0\nx /shared overlay rw 0 0\nbroken\n"
    )
    kinds = {
        path: kind_of(Path(path), mounts) for path in ("/home", "/shared/x", "/shared/ram/x", "/a b/c", "/sharedx")
    }
    assert kinds == {"/home": "ext4", "/shared/x": "overlay", "/shared/ram/x": "tmpfs", "/a b/c": "lustre",
                     "/sharedx": "ext4"}  # fmt: skip
