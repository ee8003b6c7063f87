"""LAMMPS: loop times, steps per second and thermodynamic output of each run; a Lennard-Jones melt of our own."""

import re

from seatrial.benchmarks.declaration import Benchmark, Launch, Parameter, Scaling, whole
from seatrial.benchmarks.reading import OutputLine, Reading
from seatrial.model.benchmark import BenchmarkPlan, BenchmarkRequest, BenchmarkStep, Metric, Output
from seatrial.model.unit_text import NUMBER, finite, number_of, whole_number
from seatrial.model.verdict import FindingKind
from seatrial.model.words import count

BANNER = re.compile(r"^LAMMPS \((?P<version>[^)]{4,60})\)")
LOOP = re.compile(
    rf"^Loop time of (?P<time>{NUMBER}) on (?P<ranks>\d{{1,9}}) procs?(?: \(\d{{1,18}} MPI x \d{{1,18}} OpenMP\))? for "
    r"(?P<steps>\d{1,12}) steps with (?P<atoms>\d{1,15}) atoms"
)
RATE = re.compile(rf"^Performance:(?: {{1,9}}[^,]{{1,80}},){{0,3}} {{1,9}}(?P<rate>{NUMBER}) timesteps/s")
HEADING = re.compile(r"^\s*Step\s+[A-Za-z]")
SECTION = re.compile(rf"^(?P<name>[A-Z][a-z]+)\s++\|\s*+(?:{NUMBER})?+\s*+\|\s*+(?P<time>{NUMBER})\s*\|")
ERROR = re.compile(r"^(?:ERROR(?: on proc \d{1,18})?:|Last command:)")
LOST = re.compile(r"^WARNING: .*(?:Lost atoms|Dangerous builds|Inconsistent image)|^Dangerous builds = [1-9]")
UNSOUND = re.compile(r"(?i)\b[a-z]\w*\s*=\s+(?P<number>[-+]?(?:nan|inf)\b)|^\s*- \[.*\s(?P<item>[-+]?\.?(?:nan|inf)\b)")
"""Numbers that are not finite, as thermo_style multi and yaml print them."""
CLOSED = re.compile(r"^Total wall time: (?P<hours>\d{1,6}):(?P<minutes>\d\d):(?P<seconds>\d\d)")
FEWEST_S = 0.01
"""A loop that is shorter cannot be timed: LAMMPS prints six digits, and ranks start it within milliseconds."""
FEWEST_CONSTANT = 3
AGREEMENT = 0.01
CLOCK_S = 2.0
INPUT = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 {cells} 0 {cells} 0 {length}
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 20 check no
fix 1 all nve
thermo {every}
run {steps}
"""
"""A melt of Lennard-Jones atoms at constant energy."""


def parse(text: str) -> Output:
    """One output with one or more runs."""
    reading = Reading("lammps", text, closing=CLOSED.pattern)
    banner = reading.search(BANNER.pattern)
    reading.version = banner[1]["version"] if banner else ""
    loops = 0
    columns: list[str] = []
    thermo: list[tuple[OutputLine, list[str]]] = []
    for line in reading.whole_lines:
        if HEADING.match(line.text):
            columns, thermo = line.text.split(), []
        elif loop := LOOP.match(line.text):
            loops += 1
            _loop(reading, line, loop)
            _thermo(reading, columns, thermo, whole_number(loop["steps"]))
            columns, thermo = [], []
        elif rate := RATE.match(line.text):
            _rate(reading, line, number_of(rate["rate"]))
        elif section := SECTION.match(line.text):
            reading.result("section_time_s", section["time"], line, labels={"section": section["name"], "run": loops})
        elif ERROR.match(line.text):
            reading.breach(FindingKind.PROGRAM_FAILED, "LAMMPS reports an error", line)
        elif LOST.match(line.text):
            reading.breach(FindingKind.WORK_SKIPPED, "atoms were lost, or neighbours not updated in time", line)
        elif unsound := UNSOUND.search(line.text):
            reading.breach(FindingKind.NOT_A_NUMBER, f"{unsound[0].split()[0]} is {unsound[1] or unsound[2]}", line)
        elif columns and len(line.text.split()) == len(columns):
            thermo.append((line, line.text.split()))
    _complete(reading, loops)
    return reading.output()


def _loop(reading: Reading, line: OutputLine, loop: "re.Match[str]") -> None:
    """Time and evidence of one run; `run 0`, which only computes forces, has neither."""
    time_s, steps = number_of(loop["time"]), whole_number(loop["steps"])
    if not whole_number(loop["atoms"]):
        reading.breach(FindingKind.WORK_SKIPPED, "there are no atoms", line)
    if not steps:
        return
    for name in ("ranks", "steps", "atoms"):
        reading.evidence(name, whole_number(loop[name]), line)
    reading.result("time_s", loop["time"], line)
    if time_s < FEWEST_S:
        reading.breach(FindingKind.RUN_TOO_SHORT, f"the loop took {loop['time']} s: too short for a rate", line)
    if time_s > 0:
        reading.result("steps_per_s", f"{steps / time_s:.9g}", line)


def _rate(reading: Reading, line: OutputLine, printed: float) -> None:
    """LAMMPS's own rate is steps over time."""
    rates = reading.values_of("steps_per_s")
    if rates and not abs(printed / rates[-1] - 1) <= AGREEMENT:
        reading.breach(FindingKind.NUMBERS_DISAGREE, f"steps over time are {rates[-1]:.4g} 1/s, not {printed:g}", line)


def _thermo(reading: Reading, columns: list[str], rows: "list[tuple[OutputLine, list[str]]]", steps: int) -> None:
    """All numbers are finite, temperature changes, and the last row is that of the last step."""
    for line, words in rows:
        for name, word in zip(columns, words, strict=True):
            if not finite(word):
                reading.breach(FindingKind.NOT_A_NUMBER, f"{name} is {word[:40]}", line)
    for name in ("Temp", "PotEng", "E_pair"):
        values = [words[columns.index(name)] for _, words in rows] if name in columns else []
        if len(values) >= FEWEST_CONSTANT and len(set(values)) == 1:
            reading.breach(
                FindingKind.CONSTANT_RESULTS, f"{name} is the same in all {count(len(values), 'row')}", rows[-1][0]
            )
    if rows and "Step" in columns:
        first, last = (words[columns.index("Step")] for _, words in (rows[0], rows[-1]))
        if first.isdecimal() and last.isdecimal() and int(last) - int(first) != steps:
            reading.breach(
                FindingKind.ITERATIONS_DIFFER, f"the table has {int(last) - int(first)} steps, the loop {steps}",
                rows[-1][0],
            )  # fmt: skip


def _complete(reading: Reading, loops: int) -> None:
    """A loop, and the wall time in the last line, which is not less than the loops took."""
    if not loops:
        reading.lack("it has no run (Loop time of)")
    elif reading.value("steps") is None:
        reading.breach(FindingKind.RUN_TOO_SHORT, "no step was done")
    for lines in reading.runs(BANNER.pattern, CLOSED.pattern, "Total wall time"):
        closed = list(reading.matches(CLOSED.pattern, lines))
        if not closed:
            reading.lack("the closing line (Total wall time) is missing")
            return
        wall_s = max(
            sum(int(end[name]) * unit for name, unit in (("hours", 3600), ("minutes", 60), ("seconds", 1)))
            for _, end in closed
        )
        looped_s = sum(number_of(loop["time"]) for _, loop in reading.matches(LOOP.pattern, lines)) / len(closed)
        if looped_s > wall_s + CLOCK_S:
            reading.breach(
                FindingKind.NUMBERS_DISAGREE, f"the loops took {looped_s:g} s, all took {wall_s} s", closed[-1][0]
            )


def lammps_plan(request: BenchmarkRequest) -> BenchmarkPlan:
    """lmp with a melt of 4 x cells³ x copies atoms. Raises UsageError for a parameter."""
    cells = whole(request.parameters, "cells", 4, 2000)
    length = cells * whole(request.parameters, "copies", 1, 100_000)
    atoms = 4 * cells**2 * length
    steps = whole(request.parameters, "steps", 10, 1_000_000)
    step = BenchmarkStep(name="lammps", argv=(request.program, "-in", "in.melt"))
    return BenchmarkPlan(
        steps=(step,),
        files={"in.melt": INPUT.format(cells=cells, length=length, steps=steps, every=max(steps // 10, 1))},
        expected={"ranks": str(request.ranks), "steps": str(steps), "atoms": str(atoms)},
        notes=(f"{atoms} Lennard-Jones atoms, {steps} steps.",),
    )


BENCHMARK = Benchmark(
    name="lammps",
    title="LAMMPS",
    requires="lmp and MPI",
    marks=(BANNER.pattern,),
    beginnings=("LAMMPS (",),
    parts=(LOOP.pattern,),
    parse=parse,
    metrics=(
        Metric("steps_per_s", "of the loop of a run", of_problem=True),
        Metric("time_s", "of the loop of a run"),
        Metric("section_time_s", "pair, neighbour, communication, ..."),
    ),
    main_metric="steps_per_s",
    evidence=("ranks", "steps", "atoms"),
    gates=(
        FindingKind.NOT_A_NUMBER,
        FindingKind.RANKS_DIFFER,
        FindingKind.WORK_SKIPPED,
        FindingKind.CONSTANT_RESULTS,
        FindingKind.RUN_TOO_SHORT,
        FindingKind.NUMBERS_DISAGREE,
    ),
    complete="a loop, and `Total wall time` in the last line",
    scaling=Scaling.STRONG,
    launch=Launch(
        programs=("lmp", "lmp_mpi", "lmp_openmpi"),
        package="lammps",
        plan=lammps_plan,
        parameters=(
            Parameter(name="cells", default="20", meaning="edge of the box in unit cells of 4 atoms"),
            Parameter(name="copies", default="1", meaning="of the box, in a row", grows=1.0),
            Parameter(name="steps", default="200", meaning="steps of the run"),
        ),
    ),
)
