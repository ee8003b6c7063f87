"""seatrial facts and limits: over recordings, on this machine, and with scripts in Slurm's place."""

import json
import os
import tarfile
from pathlib import Path

import pytest

from seatrial.commands.facts import record as run
from seatrial.model import formats
from seatrial.recordings.recording import GATHER_FILE, Gathered
from tests.support.builders import Cluster, names, record, sail
from tests.support.command_line import Seatrial, Text
from tests.support.slurm_scripts import GRANTS

SINFO = """\
#!/bin/sh
case "$*" in
  *%D*) echo 4 ;;
  *%f*) for node in n1 n2 n3 n4; do echo "$node|ib"; done ;;
  *) for node in n1 n2 n3; do echo "$node|idle|normal*|none"; done; echo 'n4|down|normal*|fan broken' ;;
esac
"""
SCONTROL = """\
#!/bin/sh
case "$*" in
  *topology*) echo 'SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[1-4]' ;;
  *) echo 'ClusterName = demo' ;;
esac
"""


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder to work in, no scheduler, and an archive of our own."""
    for name in ("SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SEATRIAL_DEBUG", "SEATRIAL_SYSROOT"):
        monkeypatch.delenv(name, raising=False)
    shells = tmp_path / "shells"
    shells.mkdir()
    for program in ("sh", "cat", "sed", "grep", "od", "uname", "head", "env"):
        found = next(
            (Path(folder) / program for folder in ("/bin", "/usr/bin") if Path(folder, program).exists()), None
        )
        if found is not None:
            (shells / program).symlink_to(found)
    monkeypatch.setenv("PATH", str(shells))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("SEATRIAL_ARCHIVE", str(tmp_path / "archive"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """A recording of four nodes; n3 has another MTU."""
    return write_cluster(tmp_path / "cluster", odd="n3")


def write_cluster(folder: Path, odd: str = "", megabits: int = 1000) -> Path:
    folder.mkdir()
    made = Cluster(nodes=names(4), megabits=megabits)
    for node in made.nodes:
        text = made.facts_text(node)
        (folder / f"{node}.facts").write_text(text.replace("mtu|1500", "mtu|9000") if node == odd else text)
    return folder


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """n1 to n3 are idle, n4 is down; n3 answers nothing."""
    folder = tmp_path / "slurm"
    folder.mkdir()
    made = Cluster(nodes=names(2))
    answers = [
        f"{place}: {line}\n" for place, node in enumerate(made.nodes) for line in made.facts_text(node).splitlines()
    ]
    (folder / "answers").write_text("".join(answers))
    scripts = {
        "sinfo": SINFO,
        "salloc": f"#!/bin/sh\n{GRANTS}: >{folder}/given-back\n",
        "scontrol": SCONTROL,
        "squeue": "#!/bin/sh\necho '42|RUNNING|1000|n[1-3]'\n",
        "scancel": f'#!/bin/sh\necho "$@" >> {folder}/cancelled\n',
        "srun": f"#!/bin/sh\ncat > /dev/null\ncat {folder}/answers\n",
    }
    for name, text in scripts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


class TestFacts:
    def test_of_this_machine(self, seatrial: Seatrial) -> None:
        ran = seatrial("facts", "--json")
        (node,) = ran.data["nodes"].values()
        assert node["complete"] and node["processors"] >= 1
        assert seatrial("facts").out.startswith(f"MEASURED  facts of {node['hostname']}: ")

    def test_without_a_shell_there_is_a_sentence(self, seatrial: Seatrial, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "")
        ran = seatrial("facts", code=2)
        assert ran.out == ""
        assert "The collector does not run here" in ran.err

    def test_of_a_recording_and_of_some_of_its_nodes(self, seatrial: Seatrial, cluster: Path) -> None:
        ran = seatrial("facts", "--from", cluster, "--json")
        assert sorted(ran.data["nodes"]) == ["n1", "n2", "n3", "n4"]
        ran = seatrial("facts", "n[2-3]", "--from", cluster, "--json")
        assert sorted(ran.data["nodes"]) == ["n2", "n3"]

    def test_pages_of_a_recording(self, seatrial: Seatrial, cluster: Path) -> None:
        for words in (["facts"], ["facts", "--drift"], ["limits"]):
            seatrial(*words, "--from", cluster, "--html", "page.html", code=int("--drift" in words))
            page = Path("page.html").read_text()
            assert page.startswith("<!doctype html>")
            assert ("Everything: " in page) == (words == ["facts"])
            assert ("n3" if words == ["facts", "--drift"] else "n[") in page

    def test_a_node_that_cannot_be_read_is_named_and_the_code_is_2(self, seatrial: Seatrial, cluster: Path) -> None:
        (cluster / "n2.facts").write_text("#seatrial-facts 99 n2\n")
        (cluster / "n4.facts").write_text((cluster / "n1.facts").read_text().partition("@list")[0])
        ran = seatrial("facts", "--from", cluster, code=2)
        assert "n2 gave no facts: The facts of n2 are of version '99'" in ran.err
        assert ran.out.startswith("INCOMPLETE  ")
        assert "those of n4 broke off before their end" in ran.out

    @pytest.mark.parametrize(
        ("arguments", "shown"),
        [
            (["facts", "n[1-"], "NODES 'n[1-'"),
            (["facts", "n1"], "NODES n1 needs Slurm"),
            (["facts", "n[1-60000]"], "NODES n[1-20] and 59,980 more needs Slurm"),
            (["facts", "--from", "nowhere"], "'nowhere'"),
            (["facts", "--partition", "p"], "--partition"),
            (["facts", "--wait", "soon"], "--wait 'soon'"),
            (["facts", "--with-login"], "--with-login"),
            (["facts", "--since", "nothing"], "'nothing'"),
            (["limits", "--pair", "a", "a"], "--pair a a"),
            (["limits", "--pair", "a", "b"], "NODES a,b needs Slurm"),
            (["limits", "n1"], "NODES n1 needs Slurm"),
            (["facts", "n1", "--output", "x"], "NODES n1 needs Slurm"),
            (["facts", "--launcher", "moon", "--output", "x"], "--launcher moon"),
            (["facts", "--launcher", "slurm", "--output", "x"], "--launcher slurm needs Slurm"),
            (["facts", "n1", "--launcher", "local", "--output", "x"], "--launcher local"),
        ],
    )
    def test_wrong_use_exits_64_and_shows_the_value(self, seatrial: Seatrial, arguments: list[str], shown: str) -> None:
        ran = seatrial(*arguments, code=64)
        assert ran.out == ""
        assert shown in ran.err

    def test_a_node_that_the_recording_has_not(self, seatrial: Seatrial, cluster: Path) -> None:
        ran = seatrial("facts", "n9", "--from", cluster, code=64)
        assert "has no node 'n9'. It has n[1-4]." in ran.err


class TestDrift:
    def test_findings_exit_1(self, seatrial: Seatrial, cluster: Path) -> None:
        ran = seatrial("facts", "--from", cluster, "--drift", "--json", code=1)
        report = ran.data
        assert report["exit_code"] == 1
        assert [finding["subject"] for finding in report["findings"]] == ["node:n3"]
        assert [each["odd"] for each in report["differences"]] == [["n3"]]
        text = seatrial("facts", "--from", cluster, "--drift", code=1).out
        assert "n3" in text and "9000" in text

    def test_nodes_that_are_alike_exit_0(self, seatrial: Seatrial, tmp_path: Path) -> None:
        ran = seatrial("facts", "--from", str(write_cluster(tmp_path / "same")), "--drift", "--json")
        report = ran.data
        assert (report["findings"], report["differences"]) == ([], [])

    def test_a_missing_node_without_findings_exits_2(self, seatrial: Seatrial, tmp_path: Path) -> None:
        folder = write_cluster(tmp_path / "same")
        (folder / "n4.facts").write_text("#seatrial-facts 99 n4\n")
        seatrial("facts", "--from", folder, "--drift", code=2)

    def test_since_a_recording_and_since_a_run(self, seatrial: Seatrial, cluster: Path, tmp_path: Path) -> None:
        made = Cluster(nodes=names(4))
        record(made, tmp_path / "archive", "before", sail(made))
        for since in ("before", "last", str(write_cluster(tmp_path / "earlier"))):
            ran = seatrial("facts", "--from", cluster, "--since", since, "--json", code=1)
            changes = ran.data["changes"]
            assert [(each["nodes"], each["before"], each["after"]) for each in changes] == [(["n3"], 1500, 9000)]

    def test_counters_that_rose_since_are_a_finding(self, seatrial: Seatrial, tmp_path: Path) -> None:
        folders = [write_cluster(tmp_path / name) for name in ("then", "now")]
        for folder, count in zip(folders, (3, 9), strict=True):
            for path in folder.glob("*.facts"):
                line = (
                    f"@value /sys/class/net/eth0/statistics/rx_errors|{count if path.name == 'n2.facts' else 0}\n#end"
                )
                path.write_text(path.read_text().replace("#end", line))
        ran = seatrial("facts", "--from", str(folders[1]), "--since", str(folders[0]), "--json", code=1)
        assert [(each["kind"], each["subject"]) for each in ran.data["findings"]] == [
            ("error-counters-rising", "node:n2")
        ]

    def test_since_a_reading_of_other_nodes_is_refused(self, seatrial: Seatrial, cluster: Path, tmp_path: Path) -> None:
        other = tmp_path / "other"
        other.mkdir()
        (other / "x1.facts").write_text(Cluster(nodes=("x1",)).facts_text("x1"))
        ran = seatrial("facts", "--from", cluster, "--since", str(other), code=64)
        assert "it has x1" in ran.err

    def test_since_finds_places_of_a_run_by_their_host(self, seatrial: Seatrial, tmp_path: Path) -> None:
        made = Cluster(nodes=("n1", "n2"))
        for name, renamed in (("then", "{}:0"), ("now", "{}")):
            (tmp_path / name).mkdir()
            for node in made.nodes:
                (tmp_path / name / f"{renamed.format(node)}.facts").write_text(made.facts_text(node))
        ran = seatrial("facts", "--from", tmp_path / "now", "--since", tmp_path / "then", "--json")
        assert ran.data["changes"] == []

    def test_with_login_holds_this_machine_against_the_nodes(self, seatrial: Seatrial, cluster: Path) -> None:
        for path in cluster.glob("*.facts"):
            path.write_text(path.read_text().replace("#end", "@value /proc/sys/kernel/osrelease|0.1\n#end"))
        ran = seatrial("facts", "--from", cluster, "--with-login", "--json", code=1)
        assert "kernel" in [each["fact"] for each in ran.data["against"]]


class TestLimits:
    def test_between_the_nodes_of_a_recording(self, seatrial: Seatrial, tmp_path: Path) -> None:
        ran = seatrial("limits", "--from", str(write_cluster(tmp_path / "same")), "--json")
        limits = {each["path"]: each for each in ran.data["limits"]}
        (path,) = [path for path in limits if ">" in path and "more" in path]
        assert path == "n1>n2 and 11 pairs more, from n[1-4] to n[1-4]"
        assert limits[path]["limit_bytes_per_s"] == pytest.approx(117.67e6, rel=1e-3)
        assert {"name", "bytes_per_s", "inputs", "source", "formula"} <= set(limits[path]["terms"][0])

    def test_classes_of_equal_limits_are_a_line_each(self, seatrial: Seatrial, tmp_path: Path) -> None:
        folder = write_cluster(tmp_path / "mixed")
        fast = Cluster(nodes=("n4",), megabits=10_000)
        (folder / "n4.facts").write_text(fast.facts_text("n4"))
        (folder / "n5.facts").write_text(Cluster(nodes=("n5",), megabits=10_000).facts_text("n5"))
        found = seatrial("limits", "--from", folder, "--json").data["limits"]
        between = [each["path"] for each in found if each["path"].startswith(("n1>", "n4>"))]
        assert between == [
            "n1>n2 and 11 pairs more, from n[1-3] to n[1-5]",  # their own link binds, whoever is at the other end
            "n4>n1 and 5 pairs more, from n[4-5] to n[1-3]",
            "n4>n5 and 1 pair more, from n[4-5] to n[4-5]",
        ]

    def test_of_a_pair(self, seatrial: Seatrial, cluster: Path) -> None:
        ran = seatrial("limits", "--from", cluster, "--pair", "n1", "n3")
        assert "n1>n3" in ran.out and "n3>n1" in ran.out and "n1>n2" not in ran.out
        assert "read:" in seatrial("limits", "--from", cluster, "--pair", "n1", "n3", "--sources").out
        seatrial("limits", "--from", cluster, "--pair", "n1", "n9", code=64)

    def test_where_nothing_is_known_the_code_is_2(self, seatrial: Seatrial) -> None:
        ran = seatrial("limits", "--from", Text("#seatrial-facts 1 n1\n#end n1\n", "n1.facts"), code=2)
        assert "not known" in ran.out

    def test_nodes_alike_inside_share_their_limits(self, seatrial: Seatrial, tmp_path: Path) -> None:
        found = seatrial("limits", "--from", str(write_cluster(tmp_path / "same")), "--json").data["limits"]
        inside = [each["path"] for each in found if "more" not in each["path"]]
        assert inside and all(path.startswith("n[1-4] ") for path in inside)


class TestSlurm:
    def test_a_silent_node_is_named_and_the_allocation_given_back(self, seatrial: Seatrial, slurm: Path) -> None:
        ran = seatrial("facts", "n[1-4]", "--json", code=2)
        assert sorted(ran.data["nodes"]) == ["n1", "n2"]
        assert "n3 gave no facts: no answer" in ran.err
        assert "n4 gave no facts: " in ran.err and "down" in ran.err
        assert (slurm / "given-back").exists()
        assert not (slurm / "cancelled").exists()

    def test_a_node_that_slurm_does_not_know(self, seatrial: Seatrial, slurm: Path) -> None:
        ran = seatrial("facts", "n9", code=64)
        assert "Slurm knows no node 'n9'" in ran.err
        assert not (slurm / "given-back").exists()

    def test_a_pair_is_read_without_naming_it_twice(self, seatrial: Seatrial, slurm: Path) -> None:
        ran = seatrial("limits", "--pair", "n1", "n2")
        assert "n1>n2" in ran.out

    def test_gather_takes_the_whole_cluster(self, seatrial: Seatrial, slurm: Path) -> None:
        ran = seatrial("facts", "--output", "it.tar.gz", "--scrub", code=2)
        assert ran.out == "2 nodes in it.tar.gz\n"
        assert "n3 gave no facts" in ran.err
        with tarfile.open("it.tar.gz") as archive:
            inside = {name.partition("/")[2] for name in archive.getnames()}
        assert inside >= {GATHER_FILE, "n1.facts", "n2.facts", "raw/sinfo.txt", "raw/scontrol-show-topology.txt"}
        ran = seatrial("facts", "--from", "it.tar.gz", "--json")
        assert sorted(ran.data["nodes"]) == ["n1", "n2"]

    @pytest.mark.parametrize("name", ["file/x", "file/x.tar.gz", "file/x/y"])
    def test_gather_says_that_a_file_is_in_the_way(self, seatrial: Seatrial, slurm: Path, name: str) -> None:
        Path("file").touch()
        ran = seatrial("facts", "--output", name, code=2)
        why = "a file is in the place of a folder above it"
        assert f"{name} cannot be written: {why}. Choose another --output." in ran.err
        assert "recover" not in ran.err

    def test_gather_where_nobody_answers_writes_nothing(self, seatrial: Seatrial, slurm: Path) -> None:
        (slurm / "answers").write_text("")
        ran = seatrial("facts", "n[1-2]", "--output", "it", code=2)
        assert "No node answers" in ran.err
        assert list(Path().iterdir()) == []


class TestGather:
    def test_a_recording_can_be_read_again(self, seatrial: Seatrial) -> None:
        seatrial("facts", "--output", "made.tar.gz")
        (made,) = Path().iterdir()
        assert made.name.endswith(".tar.gz")
        here = seatrial("facts", "--json").data["nodes"]
        read = seatrial("facts", "--from", str(made), "--json").data["nodes"]
        assert set(read) == set(here)
        ran = seatrial("facts", "--from", str(made), "--since", str(made), "--json")
        assert ran.data["changes"] == []

    def test_a_folder(self, seatrial: Seatrial) -> None:
        seatrial("facts", "--output", "new/it")
        assert sorted(path.suffix for path in Path("new/it").iterdir() if path.is_file()) == [".facts", ".json"]
        gathered = json.loads(Path("new/it", GATHER_FILE).read_text())
        assert set(gathered) == set(Gathered.__struct_fields__)
        assert gathered["format"] == formats.RECORDING

    @pytest.mark.parametrize("output", ["it.tar.gz", "it"])
    def test_what_is_there_is_never_overwritten(self, seatrial: Seatrial, output: str) -> None:
        Path(output).write_text("mine")
        ran = seatrial("facts", "--output", output, code=64)
        assert f"{output} exists already" in ran.err
        assert Path(output).read_text() == "mine"
        assert len(list(Path().iterdir())) == 1

    def test_a_folder_that_cannot_be_written_is_a_sentence(self, seatrial: Seatrial) -> None:
        Path("file").write_text("")
        ran = seatrial("facts", "--output", "file/it.tar.gz", code=2)
        assert "Traceback" not in ran.err and "file" in ran.err

    @pytest.mark.parametrize("output", ["it.tar.gz", "it"])
    def test_an_interrupted_gather_leaves_nothing(
        self, seatrial: Seatrial, monkeypatch: pytest.MonkeyPatch, output: str
    ) -> None:
        def full(*names: str, **folders: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "rename", full)
        ran = seatrial("facts", "--output", output, code=2)
        assert "there is no space left" in ran.err
        assert list(Path().iterdir()) == []

    def test_scrubbed_it_has_no_name_of_this_machine(self, seatrial: Seatrial, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(run, "_user", lambda: "somebody7")
        seatrial("facts", "--output", "it", "--scrub")
        host = os.uname().nodename
        assert Path("it/n1.facts").read_text().startswith("#seatrial-facts 1 n1\n")
        assert f"hostname|{host}\n" not in Path("it/n1.facts").read_text()

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["--output", "it", "--drift"], "--drift does not go with --output, only with a report of the facts"),
            (
                ["--output", "it", "--json"],
                "--json does not go with --output, only with a report of the facts or --det",
            ),
            (["--output", "it", "--detach"], "--detach does not go with --output"),
            (["--scrub"], "--scrub does not go with a report of the facts, only with --output"),
            (["--launcher", "local"], "--launcher does not go with a report of the facts, only with --output"),
        ],
    )
    def test_options_of_another_mode_are_refused(self, seatrial: Seatrial, words: list[str], said: str) -> None:
        assert said in seatrial("facts", *words, code=64).err
        assert list(Path().iterdir()) == []
