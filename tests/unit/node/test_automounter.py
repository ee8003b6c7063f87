"""Entries of the automounter in their order, and the one that takes a path from another."""

import os
from pathlib import Path

import pytest

from seatrial.node.frame import Frame
from seatrial.node.mounts import (
    LONGEST_PATH,
    MASTER,
    MOST_KEYS,
    MOST_PATHS,
    entries_of,
    obstacle_of,
    read_automounts,
    read_paths,
)
from seatrial.node.system import read_system
from tests.support.collecting import SHELLS, collect, program, write
from tests.support.command_line import Seatrial

MAPS = {
    "etc/auto.master": "# of the site\n/home/group\t/etc/auto.group --timeout=60\n"
    "/home/group/geog file:/etc/auto.geog\n"
    "/- /etc/auto.direct\n/net -hosts\n",
    "etc/auto.group": "math -rw server1.example.org:/export/math\n",
    "etc/auto.geog": "unit -rw,hard 10.1.2.3:/export/unit\n",
    "etc/auto.direct": "/data/x srv:/x\n",
    "etc/auto.master.d/more.autofs": "/scratch /etc/auto.scratch\n",
    "etc/auto.scratch": "* srv:/scratch/&\n",
    "proc/mounts": "auto.group /home/group autofs rw 0 0\n",
}


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    for path, content in MAPS.items():
        write(tmp_path, path, content)
    return tmp_path


@pytest.mark.parametrize("shell", SHELLS)
def test_entries_are_read_in_their_order(machine: Path, shell: str) -> None:
    keys = read_automounts(collect(str(machine), shell))
    assert [(key.path, key.map, key.location) for key in keys] == [
        ("/home/group", "/etc/auto.group", ""),
        ("/home/group/math", "/etc/auto.group", "server1.example.org:/export/math"),
        ("/home/group/geog", "/etc/auto.geog", ""),
        ("/home/group/geog/unit", "/etc/auto.geog", "ADDRESS:/export/unit"),
        ("/data/x", "/etc/auto.direct", "srv:/x"),
        ("/net", "-hosts", ""),
        ("/scratch", "/etc/auto.scratch", ""),
        ("/scratch", "/etc/auto.scratch", "srv:/scratch/&"),
    ]


@pytest.mark.parametrize(
    ("path", "brief"),
    [
        ("/home/group/geog/unit", "/home/group of /etc/auto.group takes it first"),
        ("/home/group/phys/x", "/etc/auto.group has no key phys"),
        ("/home/group/math/x", ""),
        ("/home/group", ""),
        ("/home/groupers", ""),
        ("/scratch/me", ""),
        ("/data/x/y", ""),
        ("/elsewhere", ""),
    ],
)
def test_what_prevents_a_path(machine: Path, path: str, brief: str) -> None:
    keys = read_automounts(collect(str(machine)))
    obstacle = obstacle_of(path, keys)
    assert (obstacle.brief if obstacle else "") == brief
    assert bool(entries_of(path, keys)) == path.startswith(("/home/group", "/scratch", "/data/x")) - (
        path == "/home/groupers"
    )


def test_maps_are_read_only_where_paths_are_asked_for_on_a_live_machine(machine: Path) -> None:
    root = f"{machine}:/"
    assert read_system(collect(root))[0].automounts == ()
    assert len(read_system(collect(root, SEATRIAL_PATHS="/home/group/geog/unit"))[0].automounts) == 8


@pytest.mark.parametrize("shell", SHELLS)
def test_maps_without_a_path_are_files_in_etc_or_maps_of_nis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: str
) -> None:
    write(tmp_path, "etc/auto.master", "/home auto.home\n/jobs yp:auto.work -rw\n+auto.master\n/late auto.none\n")
    write(tmp_path, "etc/auto.home", "ann srv:/ann\n+auto.users\n")
    program(
        tmp_path / "bin",
        "ypcat",
        'case "$2" in auto.users) echo "bob srv:/bob"; echo "eve srv:/eve" ;;\n'
        '    auto.work) echo "geog 10.1.2.3:/geog" ;;\n'
        '    auto.master) echo "/data auto.data" ;; auto.data) echo "x srv:/x" ;; *) exit 1 ;; esac',
    )
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    keys = read_automounts(collect(f"{tmp_path}:/", shell, SEATRIAL_PATHS="/jobs/geog:/home/bob:/data/x"))
    assert [(key.path, key.map, key.location) for key in keys if not key.whole] == [
        ("/home/ann", "auto.home", "srv:/ann"),
        ("/home/bob", "auto.home", "srv:/bob"),
        ("/jobs/geog", "auto.work", "ADDRESS:/geog"),
        ("/data/x", "auto.data", "srv:/x"),
    ]
    assert [key.path for key in keys if key.whole] == ["/home", "/jobs", "/data", "/late"]
    obstacle = obstacle_of("/jobs/math", keys)
    assert obstacle and obstacle.brief == "auto.work has no key math"


def test_the_first_line_names_the_cause(machine: Path, monkeypatch: pytest.MonkeyPatch, seatrial: Seatrial) -> None:
    monkeypatch.setenv("SEATRIAL_SYSROOT", f"{machine}:/")
    monkeypatch.setenv("SEATRIAL_PATHS", "")
    headline = seatrial("facts", "--path", "/home/group/geog/unit", "--json", code=1).object["headline"]
    assert headline.endswith("/home/group/geog/unit: /home/group of /etc/auto.group takes it first")


def test_a_path_that_is_there(monkeypatch: pytest.MonkeyPatch, seatrial: Seatrial) -> None:
    monkeypatch.setenv("SEATRIAL_PATHS", "")
    headline = seatrial("facts", "--path", "/", "--json", code=None).object["headline"]
    assert "/ answers on 1 node" in headline


@pytest.mark.parametrize("path", ["home", "/a:b", ""])
def test_what_cannot_be_asked_for_is_refused(path: str, seatrial: Seatrial) -> None:
    assert "--path" in seatrial("facts", "--path", path, code=64).err


def test_a_map_of_many_mount_points_is_read_once_and_has_a_limited_number_of_keys() -> None:
    """Otherwise some kB of maps are millions of keys, and a long location is in memory once for each of them."""
    location = "x" * 1_000_000
    frame = Frame(
        hostname="n1",
        complete=True,
        files={
            MASTER: ("/" + "p/" * 3000 + " /etc/auto.x", *(f"/m{number} /etc/auto.x" for number in range(2000))),
            "/etc/auto.x": (f"k0 srv:{location}", *(f"k{number} srv:/x" for number in range(1, 2000))),
        },
    )
    keys = read_automounts(frame)
    assert len(keys) == MOST_KEYS
    assert max(len(key.path) for key in keys) < LONGEST_PATH
    assert len({id(key.location) for key in keys if len(key.location) > 100}) == 1


def test_paths_are_asked_for_in_any_number_and_read_in_a_limited_one() -> None:
    frame = Frame(hostname="n1", complete=True, values={f"reach /{number}": "no" for number in range(1000)})
    assert len(read_paths(frame)) == MOST_PATHS
