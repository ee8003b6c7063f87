"""Power saving in the lab: what Slurm is told, and programs in which no name means anything to the shell."""

from seatrial.lab.cluster.plan import make_plan
from seatrial.lab.cluster.slurm_conf import helpers_conf, power_programs, power_settings, slurm_conf
from seatrial.process.process import run

PLAN = make_plan(name="p", nodes=2, suspend_after_s=60)


def test_only_a_lab_that_asks_for_it_saves_power() -> None:
    assert power_settings(make_plan(name="p", nodes=2), "/h") == []
    assert "Suspend" not in slurm_conf(make_plan(name="p", nodes=2), "/h")
    assert "SuspendTime=60\n" in slurm_conf(PLAN, "/h")
    assert "ResumeProgram=/h/power/resume\n" in slurm_conf(PLAN, "/h")


def test_only_a_lab_that_asks_for_it_has_modes() -> None:
    plain, modes = (slurm_conf(make_plan(name="p", nodes=2, modes=asked), "/h") for asked in (False, True))
    assert "Feature" not in plain and "Reboot" not in plain
    assert "RebootProgram=/h/power/reboot\n" in modes
    assert " Feature=cache,flat\n" in modes
    assert helpers_conf("/h").startswith("Feature=cache Helper=/h/power/helper\n")


def test_the_programs_are_shell_and_quote_what_they_are_given() -> None:
    programs = power_programs("/h h", ["SLURM_CONF=/h h/slurm.conf", "X=$(reboot)"])
    assert set(programs) == {f"power/{name}" for name in ("resume", "suspend", "reboot", "helper", "chassis")}
    for text in programs.values():
        assert run(["sh", "-n"], stdin=text, timeout_s=60).ok
        assert "$(reboot)" not in text.replace("'X=$(reboot)'", "")
        assert "/h h/" not in text.replace("'/h h'/", "").replace("'SLURM_CONF=/h h/slurm.conf'", "")
    assert "printf 'cluster_mode: quadrant\nmemory_mode: %s\n' \"$(cat " in programs["power/chassis"]
    assert "slurmd -b -N" in programs["power/chassis"]
