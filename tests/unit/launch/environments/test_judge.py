"""What an environment does to a launch is found by comparing tasks outside of it with tasks inside."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pytest

from seatrial.launch.environments.environment import NO_ENVIRONMENT, Environment
from seatrial.launch.environments.judge import (
    EnvironmentFault,
    Tried,
    check_environment,
    judge_environment,
    refuse_fatal,
)
from seatrial.launch.environments.kinds import parse_environment
from seatrial.launch.environments.report import TaskReport, parse_reports, question
from seatrial.model.errors import LaunchError
from seatrial.node.mpi import parse_file
from seatrial.process.process import Completed, run

SLURM = {"SLURM_JOB_ID", "SLURM_PROCID"}
PMI = {"PMIX_RANK", "PMIX_NAMESPACE"}
OURS = {"OMPI_ALLOW_RUN_AS_ROOT"}
WITNESS = {"OMPI_MCA_seatrial_witness", "UCX_SEATRIAL_WITNESS", "FI_SEATRIAL_WITNESS"}
ALL = frozenset(SLURM | PMI | OURS | WITNESS)
LIBRARY = "123 4567 /mpi/libmpi.so.40"


def task(host: str, variables: frozenset[str] = ALL, **other: object) -> TaskReport:
    whole = {"path": "/in", "program": True, "library": LIBRARY, **other}
    whole["library"] = parse_file(str(whole["library"]))
    return msgspec.convert({"host": host, "variables": list(variables), **whole}, TaskReport, from_attributes=True)


def tried(*within: TaskReport, spec: str = "script:/w", wrap: str = "auto", said: str = "") -> Tried:
    """Two nodes, on which the control went well."""
    return Tried(
        environment=parse_environment(spec, wrap),
        nodes=("n1", "n2.site"),
        plain=(task("n1", path="/plain"), task("n2", path="/plain")),
        within=within,
        here=task("login"),
        here_plain=task("login", frozenset(OURS), path="/plain"),
        job="7",
        said=said,
    )


def faults(*within: TaskReport, spec: str = "script:/w", wrap: str = "auto", said: str = "") -> list[EnvironmentFault]:
    return list(judge_environment(tried(*within, spec=spec, wrap=wrap, said=said)))


def test_nothing_is_wrong_where_all_arrives() -> None:
    assert faults(task("n1"), task("n2")) == []


def test_lost_pmi_is_fatal_and_named() -> None:
    (fault,) = faults(task("n1", ALL - PMI), task("n2", ALL - PMI))
    assert fault.fatal
    assert fault.what.startswith("script:/w loses PMIX_RANK, PMIX_NAMESPACE, without which each rank is a world")
    assert "env -i" in fault.remedy


def test_lost_slurm_variables_are_named_by_node_and_not_fatal_by_themselves() -> None:
    (fault,) = faults(task("n1"), task("n2", ALL - SLURM))
    assert not fault.fatal
    assert fault.what.startswith("script:/w loses SLURM_JOB_ID, SLURM_PROCID on n2.site, by which programs")


def test_env_i_loses_three_kinds_of_variables_and_the_users_own_are_no_launchers() -> None:
    found = faults(task("n1", frozenset()), task("n2", frozenset()))
    assert [fault.fatal for fault in found] == [True, False, False]
    assert "OMPI_ALLOW_RUN_AS_ROOT" not in found[0].what
    assert "OMPI_MCA_seatrial_witness" in found[2].what


def test_each_kind_has_its_own_advice() -> None:
    advice = {
        spec: faults(task("n1", ALL - PMI), task("n2", ALL - PMI), spec=spec, wrap="inside")[0].remedy
        for spec in ("script:/w", "guix:a", "apptainer:/i.sif", "nix:a", "module:a")
    }
    assert len(set(advice.values())) == len(advice)
    assert "--preserve" in advice["guix:a"]
    assert "--cleanenv" in advice["apptainer:/i.sif"]


def test_more_answers_than_tasks_is_a_command_run_twice() -> None:
    (fault,) = faults(task("n1"), task("n1"), task("n2"), task("n2"))
    assert fault.fatal
    assert fault.what == "script:/w runs what it is given more than once (2 tasks started, 4 answered)."


def test_standard_input_that_does_not_arrive() -> None:
    plain = (task("n1", path="/plain", heard="x"), task("n2", path="/plain"))
    given = msgspec.structs.replace(tried(task("n1", heard=""), task("n2")), plain=plain)
    (fault,) = judge_environment(given)
    assert fault.fatal
    assert "keeps standard input from what it runs" in fault.what
    here = msgspec.structs.replace(given, plain=given.within, job="")
    assert [one.fatal for one in judge_environment(here)] == [True]
    for within in ((task("n1", heard="x"), task("n2")), (task("n1"), task("n2"))):
        assert judge_environment(msgspec.structs.replace(given, within=within)) == ()


def test_an_environment_that_hangs_is_no_environment_that_fails() -> None:
    cancelled = "0: slurmstepd-n1: error: *** STEP 17.2 ON n1 CANCELLED AT 2026-11-22T05:25:10 ***"
    (everywhere,) = judge_environment(msgspec.structs.replace(tried(said=cancelled), late=True))
    (there,) = judge_environment(msgspec.structs.replace(tried(task("n1"), said=cancelled), late=True))
    assert everywhere.what == "A start in script:/w failed: no task ended in time."
    assert there.what == "script:/w cannot be entered on n2.site: no task ended in time there."
    assert "a licence or a download" in everywhere.remedy == there.remedy


def test_a_probe_that_is_not_seen_on_one_node() -> None:
    (fault,) = faults(task("n1"), task("n2", program=False))
    assert fault.fatal
    assert fault.what == "The probe is not visible in script:/w on n2.site."
    assert "--probe-dir" in fault.remedy


def test_a_library_that_one_node_misses() -> None:
    (fault,) = faults(task("n1"), task("n2", missing=["libmpi.so.40", "libgcc.so"], library=""))
    assert fault.fatal
    assert fault.what == "n2.site misses libgcc.so, libmpi.so.40 in script:/w."


def test_file_systems_and_devices_that_it_hides_are_named() -> None:
    mounts, devices = ("/home", "/work", "/scratch"), ("/dev/infiniband", "/dev/kfd")
    control = (task("n1", mounts=mounts, devices=devices), task("n2", mounts=("/home",)))
    inside = (task("n1", mounts=("/home/me", "/opt/image"), devices=("/dev/kfd",)), task("n2", mounts=("/home",)))
    seen = msgspec.structs.replace(tried(*inside), plain=control)
    (fault,) = judge_environment(seen)
    assert fault.what == "script:/w hides /dev/infiniband, /scratch, /work on n1."
    assert not fault.fatal
    assert "--bind" in fault.remedy
    assert judge_environment(msgspec.structs.replace(seen, within=control)) == ()


def test_unequal_libraries_on_nodes() -> None:
    (fault,) = faults(task("n1"), task("n2", library="999 4567 /mpi/libmpi.so.40"))
    assert not fault.fatal
    assert (
        "n1: /mpi/libmpi.so.40 (4567 bytes, checksum 123); n2.site: /mpi/libmpi.so.40 (4567 bytes, checksum 999)"
        in fault.what
    )


def test_another_library_than_the_probe_was_built_with() -> None:
    other = "5 6 /other/libmpi.so.12"
    (fault,) = faults(task("n1", library=other), task("n2", library=other))
    assert fault.what == (
        "The probe was built with /mpi/libmpi.so.40 (4567 bytes, checksum 123), "
        "and the nodes load /other/libmpi.so.12 (6 bytes, checksum 5)."
    )


def test_variables_that_stay_on_the_login_node() -> None:
    found = faults(task("n1", path="/plain"), task("n2", path="/plain"), spec="module:gcc")
    assert [fault.fatal for fault in found] == [False]
    assert "SLURM_EXPORT_ENV" in found[0].remedy
    assert faults(task("n1"), task("n2"), spec="module:gcc") == []
    inside = faults(task("n1", path="/plain"), task("n2", path="/plain"), spec="module:gcc", wrap="inside")
    assert inside == []


SAID = """resolve_ctls_from_dns_srv: res_nsearch error: Host name lookup failure
srun: fatal: Could not establish a configuration source
"""


@pytest.mark.parametrize(
    ("wrap", "said", "told", "advice"),
    [
        ("outside", SAID, "Nothing can be started in script:/w: Could not establish", "--wrap inside"),
        ("inside", "srun: error: task 0 launch failed: no such program", "task 0 launch failed", "--wrap outside"),
        ("inside", "", "it said nothing", "--wrap outside"),
    ],
)
def test_an_environment_in_which_nothing_starts(wrap: str, said: str, told: str, advice: str) -> None:
    (fault,) = faults(wrap=wrap, said=said)
    assert fault.fatal
    assert told in fault.what
    assert advice in fault.remedy


def test_an_environment_that_one_node_lacks() -> None:
    said = "srun: error: Application launch failed on n2: x\n/w: not found error here"
    (fault,) = faults(task("n1"), said=said)
    assert fault.fatal
    assert "cannot be entered on n2.site" in fault.what


def test_no_judgement_without_a_control() -> None:
    assert judge_environment(msgspec.structs.replace(tried(), plain=())) == ()


def test_fatal_faults_are_one_error() -> None:
    fatal = EnvironmentFault(what="It is broken.", remedy="Repair it.", fatal=True)
    harmless = EnvironmentFault(what="It is odd.", remedy="Look.", fatal=False)
    refuse_fatal([harmless])
    with pytest.raises(LaunchError) as caught:
        refuse_fatal([harmless, fatal, fatal])
    assert str(caught.value) == "It is broken. It is broken. Repair it."


class Plays:
    """A launcher of two tasks on this machine."""

    name = "plays"
    job = ""

    def __init__(self, environment: Environment, probe: Path) -> None:
        self.environment = environment
        self.probe = probe

    def report(
        self, nodes: Sequence[str], argv: Sequence[str], variables: Mapping[str, str], *, within: bool
    ) -> Completed:
        rank = {"SLURM_PROCID": "3", "SLURM_JOB_ID": "7", "PMI_RANK": "3", **variables}
        return run(self.environment.wrap(argv) if within else argv, timeout_s=60, extra_environment=rank)


def test_a_script_with_env_i_is_caught_by_real_tasks(tmp_path: Path) -> None:
    bare, good = tmp_path / "bare", tmp_path / "good"
    bare.write_text('#!/bin/sh\nexec env -i "$@"\n')
    good.write_text('#!/bin/sh\necho a banner\nexec "$@"\n')
    for script in (bare, good):
        script.chmod(0o755)
    assert check_environment(Plays(parse_environment(f"script:{good}"), Path("/bin/sh")), ["n1"]) == ()
    found = check_environment(Plays(parse_environment(f"script:{bare}"), Path("/bin/sh")), ["n1"])
    assert [fault.fatal for fault in found] == [True, False, False]
    assert "PMI_RANK" in found[0].what
    assert "SLURM_JOB_ID, SLURM_PROCID" in found[1].what
    (gone,) = check_environment(Plays(parse_environment(f"script:{tmp_path}/gone"), Path("/bin/sh")), ["n1"])
    assert gone.what.endswith("gone: No such file or directory.")
    (unseen,) = check_environment(Plays(parse_environment(f"script:{good}"), tmp_path / "probe"), ["n1"])
    assert "not visible" in unseen.what


def test_without_an_environment_nothing_is_tried() -> None:
    assert check_environment(Plays(NO_ENVIRONMENT, Path("/none")), ["n1"]) == ()


def test_what_a_task_says_is_read_with_and_without_labels() -> None:
    around = {"SLURM_PROCID": "1", "OMPI_MCA_x": "a\nb'\"", "SLURM_JOB_ID": "7", "LD_LIBRARY_PATH": "/l l"}
    said = run(question("/bin/sh"), timeout_s=60, extra_environment=around).stdout
    (plain,) = parse_reports(said)
    assert {"SLURM_PROCID", "OMPI_MCA_x", "SLURM_JOB_ID"} <= plain.variables
    assert (plain.job, plain.task, plain.libraries, plain.program) == ("7", "1", "/l l", True)
    assert plain.path == os.environ["PATH"]
    assert plain.host == os.uname().nodename
    labelled = "".join(f"{number}: {line}\n" for line in said.splitlines() for number in (0,))
    assert parse_reports(f"banner\n{labelled}") == (plain,)
    assert parse_reports(said.replace("\n", "\nnoise\n")) == (plain,)


def test_every_part_of_an_answer_is_none() -> None:
    lines = run(question("/bin/sh"), timeout_s=60).stdout.splitlines()
    for length in range(len(lines)):
        assert parse_reports("\n".join(lines[:length])) == ()
