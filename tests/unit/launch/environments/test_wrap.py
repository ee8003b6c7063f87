"""Environments wrap an argv, and every word of it arrives as it was."""

import os
import shlex
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seatrial.launch.environments.environment import NO_ENVIRONMENT, Where
from seatrial.launch.environments.kinds import KINDS, parse_environment
from seatrial.model.errors import UsageError
from seatrial.process.process import run
from tests.support import wrapper_programs
from tests.support.properties import examples

HOSTILE = [
    "a b",
    "'",
    '"',
    "$(touch hurt)",
    "`touch hurt`",
    "line\nfeed",
    "-n",
    "--",
    "*",
    "~",
    "\\",
    "$1",
    "",
    "é;|&<>",
]
PROBE = ["/p/probe", *HOSTILE]
WORDS = st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), max_size=6)
NAMES = st.lists(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1).filter(
        lambda name: not name.startswith("-")
    ),
    min_size=1,
    max_size=3,
)


@pytest.mark.parametrize(
    ("spec", "begins", "ends"),
    [
        ("script:/s/wrap 'an argument'", ["/s/wrap", "an argument"], []),
        ("guix:openmpi gcc-toolchain", ["guix", "shell", "--pure", "--preserve=^SLURM", "--preserve=^PMI"],
         ["openmpi", "gcc-toolchain", "--"]),
        ("guix-manifest:/m.scm", ["guix", "shell", "--pure", "--preserve=^SLURM"], ["--manifest=/m.scm", "--"]),
        ("guix-container:openmpi", ["guix", "shell", "--container", "--network", "--preserve=^SLURM"],
         ["--share=/seen here", "openmpi", "--"]),
        ("guix-environment:openmpi", ["guix", "environment", "--pure", "--preserve=^SLURM"],
         ["--ad-hoc", "openmpi", "--"]),
        ("nix:nixpkgs#openmpi", ["nix", "--extra-experimental-features", "nix-command flakes", "shell"],
         ["nixpkgs#openmpi", "--command"]),
        ("apptainer:--nv /i/mpi.sif", ["apptainer", "exec", "--bind", "/seen here"], ["--nv", "/i/mpi.sif"]),
        ("singularity:/i/mpi.sif", ["singularity", "exec", "--bind", "/seen here"], ["/i/mpi.sif"]),
        ("pyxis:--no-container-mount-home ./mpi.sqsh",
         ["srun", "--nodes=1", "--ntasks=1", "--mpi=none", "--quiet", "--container-image=./mpi.sqsh"],
         ["--container-mounts=/seen here:/seen here", "--no-container-mount-home"]),
        ("module:gcc/12 openmpi/4.1", ["/bin/sh", "-c"], ["seatrial-module", "2", "gcc/12", "openmpi/4.1"]),
        ("spack:openmpi@4.1%gcc@12", ["/bin/sh", "-c"], ["seatrial-spack", "1", "openmpi@4.1%gcc@12"]),
        ("spack-env:/e/mpi", ["/bin/sh", "-c"], ["seatrial-spack", "1", "/e/mpi"]),
    ],
)  # fmt: skip
def test_what_each_kind_makes_of_an_argv(spec: str, begins: list[str], ends: list[str]) -> None:
    wrapped = parse_environment(spec).seeing("/seen here").wrap(PROBE)
    if wrapped[3:4] == ["seatrial-container"]:
        wrapped = wrapped[5:]
    assert wrapped[: len(begins)] == begins
    assert wrapped[-len(PROBE) :] == PROBE
    own = wrapped[: -len(PROBE)]
    assert own[len(own) - len(ends) :] == ends


def test_pyxis_is_entered_by_options_of_the_srun_that_starts_the_ranks() -> None:
    inside = parse_environment("pyxis:nvcr.io#mpi:1").seeing("/home/a", "/odd,name")
    step = ["srun", "--jobid=5", "--label", "sh", "-c", "x"]
    own = ["--container-image=nvcr.io#mpi:1", "--container-mounts=/home/a:/home/a"]
    assert inside.around_launcher(step) == ["srun", *own, *step[1:]]
    assert inside.around_program(PROBE) == PROBE
    with pytest.raises(UsageError, match="pyxis is entered by an option of srun"):
        parse_environment("pyxis:mpi", "inside")


def test_no_kind_is_untested() -> None:
    assert [kind.name for kind in KINDS] == [
        "module", "spack", "spack-env", "guix", "guix-manifest", "guix-container", "guix-environment", "nix",
        "apptainer", "singularity", "pyxis", "script",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["module", "spack", "spack-env"])
def test_no_word_from_outside_gets_into_the_shells_text(name: str) -> None:
    texts = {
        parse_environment(f"{name}:{word}").wrap(["/p"])[2] for word in ("plain", "'$(reboot)'", "'`x`'", "'\"; x'")
    }
    assert len(texts) == 1


@given(names=NAMES, argv=WORDS)
@example(names=HOSTILE[:5], argv=HOSTILE)
@settings(max_examples=examples(25), deadline=None)
def test_modules_are_loaded_and_all_words_arrive(names: list[str], argv: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home, record = Path(folder), Path(folder) / "modules"
        wrapper_programs.put(home / "init", "sh", wrapper_programs.MODULE_INIT)
        recorder = wrapper_programs.put(home, "recorder", wrapper_programs.RECORDER + "cat\n")
        wrapped = parse_environment(f"module:{shlex.join(names)}").wrap([str(recorder), *argv])
        around = {"MODULESHOME": folder, "MODULE_RECORD": str(record)}
        done = run(wrapped, timeout_s=60, stdin="the probe's own\n", extra_environment=around, cwd=folder)
        assert (done.returncode, done.stdout) == (0, "the probe's own\n"), done.stderr
        assert wrapper_programs.written(recorder) == argv
        assert wrapper_programs.read_words(record) == [word for name in names for word in ("load", name)]
        assert not (home / "hurt").exists()


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        ("spack", ["load", "--sh", "a $(touch hurt)", "load", "--sh", "./b"]),
        ("spack-env", ["env", "activate", "--sh", "a $(touch hurt)", "env", "activate", "--sh", "--dir", "./b"]),
    ],
)
def test_spack_is_asked_for_text_to_evaluate(kind: str, asked: list[str], tmp_path: Path) -> None:
    spack = wrapper_programs.put(tmp_path / "bin", "spack", wrapper_programs.SPACK)
    recorder = wrapper_programs.put(tmp_path, "recorder", wrapper_programs.RECORDER + 'echo "$WITNESS"\n')
    wrapped = parse_environment(f"{kind}:'a $(touch hurt)' ./b").wrap([str(recorder), *HOSTILE])
    done = run(wrapped, timeout_s=60, extra_environment={"SPACK_ROOT": str(tmp_path)}, cwd=str(tmp_path))
    assert (done.returncode, done.stdout) == (0, "loaded\n"), done.stderr
    assert wrapper_programs.written(spack) == asked
    assert wrapper_programs.written(recorder) == HOSTILE
    assert not (tmp_path / "hurt").exists()


@pytest.mark.parametrize(
    "spec", ["guix:openmpi", "guix-manifest:/m.scm", "guix-container:x", "guix-environment:x", "nix:n#x",
             "apptainer:/i.sif", "singularity:/i.sif", "script:{}/script 'a b'"],
)  # fmt: skip
@given(argv=WORDS)
@example(argv=HOSTILE)
@settings(max_examples=examples(8), deadline=None)
def test_all_words_arrive_behind_a_stand_in(spec: str, argv: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        name = spec.partition(":")[0].partition("-")[0]
        stand_in = wrapper_programs.put(Path(folder), name, wrapper_programs.SCRIPT)
        recorder = wrapper_programs.put(Path(folder), "recorder", wrapper_programs.RECORDER)
        inner = [str(recorder), *argv]
        wrapped = parse_environment(spec.format(folder)).seeing("/seen").wrap(inner)
        own = wrapped[5:] if "seatrial-container" in wrapped else wrapped
        around = {"PATH": f"{folder}:{os.environ['PATH']}", **wrapper_programs.drops(own, inner)}
        done = run(["env", *wrapped], timeout_s=60, extra_environment=around, cwd=folder)
        assert done.ok, done.stderr
        assert wrapper_programs.written(stand_in) == own[1:]
        assert wrapper_programs.written(recorder) == argv
        assert not (Path(folder) / "hurt").exists()


@pytest.mark.parametrize(
    ("spec", "flag"),
    [("apptainer:/i.sif", "--bind="), ("singularity:/i.sif", "--bind="), ("guix-container:x", "--share=")],
)
def test_a_container_sees_what_pmix_keeps_on_the_node(spec: str, flag: str, tmp_path: Path) -> None:
    spool = tmp_path / "spool of n1"
    spool.mkdir()
    program = wrapper_programs.put(tmp_path, spec.partition(":")[0].partition("-")[0], wrapper_programs.RECORDER)
    told = {}
    for there in (f"{spool}/", str(tmp_path / "gone"), "relative", ""):
        around = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PMIX_SERVER_TMPDIR": there}
        assert run(parse_environment(spec).wrap(HOSTILE), timeout_s=60, extra_environment=around).ok
        told[there] = wrapper_programs.written(program)
        assert told[there][-len(HOSTILE) :] == HOSTILE
    assert told[f"{spool}/"][1] == f"{flag}{spool}"
    assert [word for word in told[str(tmp_path / "gone")] if "gone" in word] == []
    assert told[""] == told["relative"] == [one for one in told[f"{spool}/"] if one != f"{flag}{spool}"]


def test_a_module_that_is_not_there_starts_nothing(tmp_path: Path) -> None:
    wrapper_programs.put(tmp_path / "init", "sh", "module() { echo 'no such module' >&2; return 1; }")
    done = run(
        parse_environment("module:nope").wrap(["touch", str(tmp_path / "started")]),
        timeout_s=60,
        extra_environment={"MODULESHOME": str(tmp_path)},
    )
    assert done.returncode == 96
    assert done.stderr.splitlines() == ["no such module", "seatrial: module load nope failed"]
    assert not (tmp_path / "started").exists()


def test_old_modules_call_every_load_a_success_and_are_not_believed(tmp_path: Path) -> None:
    wrapper_programs.put(tmp_path / "init", "sh", wrapper_programs.OLD_MODULES)
    around = {"MODULESHOME": str(tmp_path), "LMOD_CMD": "", "MODULES_CMD": "", "LOADEDMODULES": ""}
    done = [
        run(parse_environment(f"module:{names}").wrap(["echo", "started"]), timeout_s=60, extra_environment=around)
        for names in ("here", "here here", "here nope")
    ]
    assert [one.returncode for one in done] == [0, 0, 96]
    assert [one.stdout for one in done] == ["started\n", "started\n", ""]
    assert "Unable to locate a modulefile for 'nope'" in done[2].stderr
    assert done[2].stderr.endswith("seatrial: module load nope failed\n")


def test_spack_that_fails_starts_nothing(tmp_path: Path) -> None:
    wrapper_programs.put(tmp_path / "bin", "spack", "#!/bin/sh\necho 'touch hurt'\nexit 1\n")
    argv = parse_environment("spack:nope").wrap(["touch", "started"])
    done = run(argv, timeout_s=60, extra_environment={"SPACK_ROOT": str(tmp_path)}, cwd=str(tmp_path))
    assert done.returncode == 96
    assert "seatrial: spack cannot bring nope in" in done.stderr
    assert not (tmp_path / "started").exists()
    assert not (tmp_path / "hurt").exists()


def test_inside_and_outside() -> None:
    inside, outside = (parse_environment("script:/w", wrap) for wrap in ("inside", "outside"))
    assert inside.around_program(["p"]) == ["/w", "p"]
    assert inside.around_launcher(["srun", "p"]) == ["srun", "p"]
    assert outside.around_program(["p"]) == ["p"]
    assert outside.around_launcher(["srun", "p"]) == ["/w", "srun", "p"]
    assert NO_ENVIRONMENT.around_launcher(["p"]) == NO_ENVIRONMENT.around_program(["p"]) == ["p"]
    assert not NO_ENVIRONMENT
    assert {kind.name for kind in KINDS if kind.where is Where.OUTSIDE} == {"module", "spack", "spack-env", "pyxis"}


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("openmpi", "'openmpi' does not begin with a kind"),
        ("module:" + "a" * 100_000, r"'module:a{33}'\.\.\. has 100007 characters"),
        ("conda:x", "'conda:x' does not begin with a kind"),
        ("module", "'module' does not begin with a kind"),
        ("module:", "names nothing"),
        ("module:''", "names nothing"),
        ("module:'a", "No closing quotation"),
        ("module:--force", "'--force' is not a name"),
        ("guix:a -- b", "'--' is not a name"),
        ("apptainer:/i/mpi.sif --nv", "the name must come last, not '--nv'"),
        ("singularity:--nv", "the name must come last, not '--nv'"),
        ("script:wrap", "is not a full path"),
        ("script:/a\0b", "holds a NUL"),
        ("script:/a\udc80b", "not UTF-8"),
    ],
)
def test_what_is_no_environment_is_refused(spec: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        parse_environment(spec)


def test_where_is_one_of_three_and_nothing_is_nowhere() -> None:
    with pytest.raises(UsageError, match="'around' is not one of auto, inside, outside"):
        parse_environment("module:gcc", "around")
    assert parse_environment(" ") == NO_ENVIRONMENT
