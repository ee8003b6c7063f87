"""Which cases of long tests `make test` runs; `make unit-series` and `make lab-series` run the others.

`tests/data/test_seconds.json` has the mean time of a case of each such test: of unit tests processor time, which a busy
machine hardly changes, and of lab tests, whose nodes are not children of the test, the time on two quiet cores.
`python -m tests.support.usual_cases FILE` writes it from what `pytest --junitxml=FILE` measured.
"""

import json
import os
import random
import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Collection, Iterable
from pathlib import Path

import msgspec
import pytest

from tests.support.paths import ROOT

TABLE = ROOT / "tests" / "data" / "test_seconds.json"
CPU_TIME = "processor seconds"
"""The property of a test's report that has the processor time of the test and of the programs that it waited for."""
LIMITS_S = {"unit": (0.5, 1.5), "lab": (10.0, 20.0)}
"""Folder -> the time that the cases of a test take together in the usual run, and that of the longest case in it."""
ALWAYS = {
    "lab/test_check_cables.py::test_the_slow_trunks_are_named_as_cables",
    "lab/test_compare.py::test_a_proof_that_is_ended_restores_the_node",
    "lab/test_hidden_faults.py::test_no_fault_passes_and_nobody_else_is_named",
    "lab/test_hosts.py::test_a_slow_link_is_named",
    "lab/test_rails.py::test_the_slow_rail_is_named_and_what_it_costs_both",
    "lab/test_scenarios.py::test_the_scenario_is_scored_right",
    "unit/archive/test_other_users.py::test_what_others_planted_in_ones_own_runs_is_not_followed",
    "unit/cli/test_nodes.py::test_this_machine_is_measured_kept_and_replayed",
    "unit/commands/site/test_site_in_chromium.py::test_every_kind_of_page_opens_fits_and_asks_for_nothing",
    "unit/files/test_one_mechanism.py::test_nobody_else_writes",
    "unit/launch/environments/test_run.py::test_a_module_decides_which_mpi_is_built_with_and_measured",
    "unit/launch/test_probe_build.py::test_the_real_mpicc_builds_the_real_probe",
    "unit/test_package.py::test_an_installation_without_extras_measures_and_reports",
    "unit/test_wording.py::test_phrases_to_avoid_do_not_spread",
}
"""Tests of which all cases run, however long they take: nothing else meets what they look for."""


def usual_count(name: str, cases: int, case_s: float) -> int:
    """How many cases of a test the usual run takes."""
    part_s, longest_s = LIMITS_S[name.partition("/")[0]]
    return cases if name in ALWAYS else min(cases, max(int(part_s / case_s), case_s <= longest_s))


def leave_the_others(items: Iterable[pytest.Item], seconds: dict[str, float]) -> None:
    """Mark cases of long tests as parts of a series; which, is drawn by the name of the test, so that it never changes.

    Every second case, say, might be all those of one MPI.
    """
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if not item.get_closest_marker("series"):
            cases[name_of(item.nodeid)].append(item)
    for name in cases.keys() & seconds.keys():
        same = cases[name]
        rest = len(same) - usual_count(name, len(same), seconds[name])
        for item in random.Random(name).sample(same, rest):
            item.add_marker(pytest.mark.series)


def name_of(nodeid: str) -> str:
    """The name of a test without that of its case, and without the folder of all tests."""
    return nodeid.partition("[")[0].removeprefix("tests/")


def cpu_seconds() -> float:
    """Processor time of this process and of those it waited for, in seconds."""
    return sum(os.times()[:4])


def case_seconds() -> dict[str, float]:
    """Mean time of a case in seconds, by the name of its test."""
    return msgspec.json.decode(TABLE.read_bytes(), type=dict[str, float])


def measured_in(path: Path, listed: Collection[str] = ()) -> dict[str, float]:
    """Mean time of a case, as pytest and `tests/conftest.py` measured it, of each test whose cases take more than their
    part together, and of those that are `listed`, of which some cases may have been left out."""
    times: dict[str, list[float]] = defaultdict(list)
    for case in ET.parse(path).getroot().iter("testcase"):  # noqa: S314 - pytest's own file
        *folders, module = case.get("classname", "").partition(".Test")[0].split(".")
        classes = case.get("classname", "").split(".")[len(folders) + 1 :]
        name = "::".join([f"{'/'.join([*folders, module])}.py", *classes, case.get("name", "")])
        cpu = case.find(f"properties/property[@name='{CPU_TIME}']")
        time = case.get("time", 0) if cpu is None or folders[1] == "lab" else cpu.get("value", 0)
        times[name_of(name)].append(float(time))
    return {
        name: max(round(sum(cases) / len(cases), 3), 0.001)
        for name, cases in sorted(times.items())
        if (folder := name.partition("/")[0]) in LIMITS_S and (name in listed or sum(cases) > LIMITS_S[folder][0])
    }


if __name__ == "__main__":
    (measured,) = map(Path, sys.argv[1:])
    table = case_seconds()
    table |= measured_in(measured, table)  # of a part of the tests, too
    TABLE.write_text(json.dumps(dict(sorted(table.items())), indent=0) + "\n")
