"""GROMACS: the log of mdrun, with its rate, steps, energies and where the time was spent."""

import re
from collections.abc import Sequence

from seatrial.benchmarks.declaration import Benchmark, Launch, Parameter, Scaling, whole
from seatrial.benchmarks.reading import OutputLine, Reading, moment_of
from seatrial.model.benchmark import BenchmarkPlan, BenchmarkRequest, BenchmarkStep, Metric, Output
from seatrial.model.unit_text import NUMBER, finite, number_of, whole_number
from seatrial.model.verdict import FindingKind
from seatrial.model.words import count

BANNER = re.compile(r"^GROMACS:\s+(?:gmx\w* )?mdrun\w*, (?:version|VERSION) \S+|:-\) GROMACS - (?:gmx\w* )?mdrun\w*\b")
VERSION = re.compile(r"^GROMACS version:\s+(?:VERSION )?(?P<version>\S{1,60})")
PROGRAM = re.compile(r"^GROMACS: {6}(?:gmx\w* )?mdrun\w*\b")
STEPS = re.compile(r"^   nsteps\s+= (?P<steps>-?\d{1,18})\s*$")
OVERRIDDEN = re.compile(r"^Overriding nsteps with value passed on the command line: (?P<steps>-?\d{1,18}) steps")
CONTINUED = re.compile(r"^\s+init-step\s+= (?P<step>\d{1,18})\s*$")
NODES = re.compile(r"^Running on (?P<nodes>\d{1,9}) nodes? with total")
RANKS = re.compile(r"^Using (?P<ranks>\d{1,9}) MPI (?:process|processes|thread|threads)\s*$")
THREADS = re.compile(r"^Using (?P<threads>\d{1,9}) OpenMP threads?")
ATOMS = re.compile(r"^There are: (?P<atoms>\d{1,18}) Atoms")
STARTED = re.compile(r"^Started mdrun on rank \d{1,18} (?P<time>\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4})\s*$")
FINISHED = re.compile(r"^Finished mdrun on rank \d{1,18} (?P<time>\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4})\s*$")
STEP_HEADING = re.compile(r"^\s+Step\s+Time\s*$")
STEP = re.compile(rf"^\s*(?P<step>\d{{1,18}})\s+(?P<time>{NUMBER})\s*$")
ENERGIES = re.compile(r"^\s+Energies \(kJ/mol\)")
AVERAGES = re.compile(r"<====  A V E R A G E S  ====>")
WIDTH = 15
"""Width of a column of energies."""
DRIFT = re.compile(
    rf"^Energy conservation over simulation part #\d{{1,18}} of length (?P<length>{NUMBER}) ps|"
    rf"^\s+Conserved energy drift: (?P<drift>{NUMBER}) kJ/mol/ps per atom"
)
IMBALANCE = re.compile(r"^\s*Average load imbalance: (?P<percent>\d{1,9}(?:\.\d{1,18})?)\s?%")
ACCOUNTING = re.compile(r"R E A L   C Y C L E   A N D   T I M E   A C C O U N T I N G")
SECTION = re.compile(
    r"^ (?P<name>[A-Z]\S*(?: \S+)*)\s{2,}(?:\d{1,18}\s+\d{1,18}\s+\d{1,18}\s+)?(?P<time>\d{1,12}\.\d{1,9})"
    r"\s+\d{1,12}\.\d{1,9}\s+\d{1,12}\.\d{1,9}\s*$"
)
TIME = re.compile(rf"^\s+Time:\s+{NUMBER}\s+(?P<time>{NUMBER})(?:\s+{NUMBER})?\s*$")
PERFORMANCE = re.compile(rf"^Performance:\s+(?P<rate>{NUMBER})\s+{NUMBER}\s*$")
ERROR = re.compile(
    r"^Fatal error:|^(?:Software inconsistency|Internal) error|can ?not be settled|LINCS WARNING|"
    r"^Step .*Pressure scaling more than"
)
CUT_SHORT = re.compile(r"^Received the .{1,20} signal|^Run time exceeded|^\s*Step \d{1,18}: Run time exceeded")
RESET = re.compile(r"resetting all time and cycle counters")
FEWEST_S = 0.02
"""mdrun prints milliseconds: fewer than 20 make its rate uncertain by more than 5 %."""
FEWEST_CONSTANT = 3
AGREEMENT = 0.02
THERMAL = 2.5
"""kJ/mol, k·T at 300 K: a conserved energy that changes more for each atom is not conserved."""


SPACING_NM = 0.3104
"""Between molecules of the lattice: 33.4 of them in a cubic nanometre, the density of water."""
MOLECULE = f"""One molecule of water
    3
    1SOL     OW    1   0.100   0.100   0.100
    1SOL    HW1    2   0.200   0.100   0.100
    1SOL    HW2    3   0.067   0.194   0.100
{SPACING_NM:10.5f}{SPACING_NM:10.5f}{SPACING_NM:10.5f}
"""
TOPOLOGY = """[ defaults ]
1 2 no 1.0 1.0
[ atomtypes ]
OW 8 15.9994 0.0 A 0.316557 0.650194
HW 1 1.0080 0.0 A 0.0 0.0
[ moleculetype ]
SOL 2
[ atoms ]
1 OW 1 SOL OW 1 -0.82 15.9994
2 HW 1 SOL HW1 1 0.41 1.0080
3 HW 1 SOL HW2 1 0.41 1.0080
[ settles ]
1 1 0.1 0.16330
[ exclusions ]
1 2 3
2 1 3
3 1 2
[ system ]
water
[ molecules ]
SOL {molecules}
"""
"""The SPC model: H. J. C. Berendsen et al., Interaction models for water (1981)."""
SETTINGS = """integrator = md
dt = 0.001
nsteps = {steps}
nstlog = {every}
nstenergy = {every}
nstcalcenergy = {every}
nstxout = 0
nstvout = 0
coulombtype = PME
rcoulomb = 1.0
rvdw = 1.0
tcoupl = v-rescale
tc-grps = System
tau-t = 0.1
ref-t = 300
gen-vel = yes
gen-temp = 300
gen-seed = 17
ld-seed = 17
"""
LEAST_EDGE = 8
"""Molecules along an edge: the box must be twice as long as the interactions reach."""


def gromacs_plan(request: BenchmarkRequest) -> BenchmarkPlan:
    """genconf, grompp, mdrun with 3 x edge³ x copies atoms. Raises UsageError for a parameter."""
    edge = whole(request.parameters, "edge", LEAST_EDGE, 300)
    length = edge * whole(request.parameters, "copies", 1, 10_000)
    steps = whole(request.parameters, "steps", 100, 100_000_000)
    molecules = edge**2 * length
    program = (request.program, "-quiet")
    box = ("genconf", "-f", "molecule.gro", "-nbox", str(edge), str(edge), str(length), "-o", "conf.gro")
    joined = ("grompp", "-f", "water.mdp", "-c", "conf.gro", "-p", "topol.top", "-o", "topol.tpr")
    simulated = ("mdrun", "-s", "topol.tpr", "-g", "md.log", "-ntomp", "1", "-pin", "off", "-notunepme", "-noconfout")
    return BenchmarkPlan(
        steps=(
            BenchmarkStep(name="genconf", argv=(*program, *box), single=True, judged=False),
            BenchmarkStep(name="grompp", argv=(*program, *joined), single=True, judged=False),
            BenchmarkStep(name="mdrun", argv=(*program, *simulated), output="md.log"),
        ),
        files={
            "molecule.gro": MOLECULE,
            "topol.top": TOPOLOGY.format(molecules=molecules),
            "water.mdp": SETTINGS.format(steps=steps, every=max(steps // 10, 1)),
        },
        expected={"ranks": str(request.ranks), "steps": str(steps), "atoms": str(3 * molecules)},
        notes=(f"{molecules} molecules of water ({3 * molecules} atoms), {steps} steps of 1 fs.",),
    )


GROMACS = Launch(
    programs=("gmx_mpi", "gmx_mpi_d"),
    package="gromacs",
    plan=gromacs_plan,
    parameters=(
        Parameter(name="edge", default="20", meaning="molecules along an edge of the box, at least 8"),
        Parameter(name="copies", default="1", meaning="how many boxes, one behind the other", grows=1.0),
        Parameter(name="steps", default="2000", meaning="time steps of 1 fs"),
    ),
)


def parse(text: str) -> Output:
    """The log of one or more runs of mdrun."""
    reading = Reading("gromacs", text, closing=FINISHED.pattern)
    reading.find_version(VERSION.pattern)
    parts = _parts(reading)
    for part in parts:
        _part(reading, part)
    if not parts:
        reading.lack("it has no head (GROMACS: gmx mdrun, version)")
    return reading.output()


def _parts(reading: Reading) -> "list[list[OutputLine]]":
    """The lines of each run, from its head on."""
    parts: list[list[OutputLine]] = []
    if not reading.search(PROGRAM.pattern) and len([*reading.matches(PERFORMANCE.pattern)]) == 1:
        parts.append([])  # the end of one run
    for line in reading.whole_lines:
        if PROGRAM.match(line.text):
            parts.append([])
        if parts:
            parts[-1].append(line)
    return parts


def _part(reading: Reading, lines: Sequence[OutputLine]) -> None:
    for pattern, name in ((NODES, "nodes"), (RANKS, "ranks"), (THREADS, "threads"), (ATOMS, "atoms")):
        if head := reading.search(pattern.pattern, lines):
            reading.evidence(name, whole_number(head[1][name]), head[0])
    for line, _ in reading.matches(ERROR.pattern, lines):
        reading.breach(FindingKind.PROGRAM_FAILED, "GROMACS reports an error", line)
    for line, _ in reading.matches(CUT_SHORT.pattern, lines):
        reading.breach(FindingKind.WORK_SKIPPED, "the run was stopped before its last step", line)
    steps = _steps(reading, lines) if PROGRAM.match(lines[0].text) else 0  # else earlier ones may be missing
    _energies(reading, lines)
    _drift(reading, lines)
    if imbalance := reading.search(IMBALANCE.pattern, lines):
        reading.result("load_imbalance", imbalance[1]["percent"], imbalance[0], 0.01)
    wall_s = _times(reading, lines, steps)
    _sections(reading, lines, wall_s)
    _clock(reading, lines, wall_s)


def _steps(reading: Reading, lines: Sequence[OutputLine]) -> int:
    """Steps that were done: from the first to the last that the log shows. They must be those of the input."""
    shown: list[tuple[OutputLine, int]] = []
    for place, line in enumerate(lines[:-1]):
        if STEP_HEADING.match(line.text) and (step := STEP.match(lines[place + 1].text)):
            shown.append((lines[place + 1], whole_number(step["step"])))
    if not shown:
        return 0
    done = shown[-1][1] - shown[0][1]
    reading.evidence("steps", done, shown[-1][0])
    if not done:
        reading.breach(FindingKind.RUN_TOO_SHORT, "no step was done", shown[-1][0])
    requested = reading.search(STEPS.pattern, lines)
    overridden = reading.search(OVERRIDDEN.pattern, lines)
    begun = reading.search(CONTINUED.pattern, lines)
    asked = overridden or requested
    wanted = whole_number(asked[1]["steps"]) if asked else -1
    # From a checkpoint on, the input still counts from its own first step; -nsteps counts from where it begins.
    first = shown[0][1] if overridden or not begun else whole_number(begun[1]["step"])
    if asked and wanted >= 0 and wanted != shown[-1][1] - first:
        what = "-nsteps has" if overridden else "the input has"
        reading.breach(
            FindingKind.ITERATIONS_DIFFER, f"{what} {wanted} steps, the log {shown[-1][1] - first}", asked[0]
        )  # fmt: skip
    return done


def _energies(reading: Reading, lines: Sequence[OutputLine]) -> None:
    """All energies are finite; temperature and potential change."""
    histories: dict[str, list[tuple[OutputLine, str]]] = {}
    inside = False
    for place, line in enumerate(lines[:-1]):
        if AVERAGES.search(line.text):
            break
        if ENERGIES.match(line.text) or not line.text.strip():
            inside = bool(line.text.strip())
            continue
        if not inside or finite(line.text.split()[0]):
            continue
        names = [line.text[at : at + WIDTH].strip() for at in range(0, len(line.text.rstrip()), WIDTH)]
        for name, word in zip(names, lines[place + 1].text.split(), strict=False):
            histories.setdefault(name, []).append((lines[place + 1], word))
            if not finite(word):
                reading.breach(FindingKind.NOT_A_NUMBER, f"{name} is {word[:40]}", lines[place + 1])
    for name in ("Potential", "Temperature"):
        history = histories.get(name, [])
        if len(history) >= FEWEST_CONSTANT and len({word for _, word in history}) == 1:
            reading.breach(
                FindingKind.CONSTANT_RESULTS, f"{name} is the same {count(len(history), 'time')}", history[-1][0]
            )


def _drift(reading: Reading, lines: Sequence[OutputLine]) -> None:
    """The conserved energy, with what thermostats took from it, must not change."""
    length = 0.0
    for line, match in reading.matches(DRIFT.pattern, lines):
        if match["length"]:
            length = number_of(match["length"])
            continue
        drift = number_of(match["drift"])
        reading.evidence("drift_kj_per_mol_ps", drift, line)
        if not abs(drift) * length <= THERMAL:
            reading.breach(
                FindingKind.RESIDUAL_FAILED,
                f"the conserved energy changed by {abs(drift) * length:.3g} kJ/mol for each atom, more than k·T",
                line,
            )


def _times(reading: Reading, lines: Sequence[OutputLine], steps: int) -> float:
    """Wall time and rates; 0 where they are missing. ns/day must be the steps in that time."""
    time, performance = reading.search(TIME.pattern, lines), reading.search(PERFORMANCE.pattern, lines)
    if time is None or performance is None:
        reading.lack("the times at its end (Time:, Performance:) are missing")
        return 0.0
    line, wall_s = time[0], number_of(time[1]["time"])
    reading.result("time_s", time[1]["time"], line)
    reading.result("ns_per_day", performance[1]["rate"], performance[0])
    if not wall_s >= FEWEST_S:
        reading.breach(FindingKind.RUN_TOO_SHORT, f"the run took {time[1]['time']} s: too short for a rate", line)
    if not steps or not wall_s > 0 or reading.search(RESET.pattern, lines):
        return wall_s
    reading.result("steps_per_s", f"{steps / wall_s:.9g}", line)
    width = reading.search(rf"^   dt\s+= (?P<dt>{NUMBER})\s*$", lines)
    if width and finite(width[1]["dt"]):
        claimed = number_of(width[1]["dt"]) * 1e-3 * steps / wall_s * 86400
        rate = number_of(performance[1]["rate"])
        # mdrun counts the first step as well, and the time that it prints is rounded to milliseconds.
        if claimed > 0 and not abs(rate / claimed - 1) <= AGREEMENT + 1 / steps + 5e-4 / wall_s:
            reading.breach(
                FindingKind.NUMBERS_DISAGREE,
                f"{steps} steps in {time[1]['time']} s are {claimed:.4g} ns/day, not {rate:g}",
                performance[0],
            )
    return wall_s


def _sections(reading: Reading, lines: Sequence[OutputLine], wall_s: float) -> None:
    """The table of where the time was spent, which adds up to the wall time."""
    heading = reading.search(ACCOUNTING.pattern, lines)
    if heading is None:
        return
    for line in lines[lines.index(heading[0]) :]:
        section = SECTION.match(line.text)
        if section is None:
            continue
        if section["name"] == "Total":
            total = number_of(section["time"])
            if wall_s and not abs(total - wall_s) <= AGREEMENT * wall_s + 0.01:
                reading.breach(
                    FindingKind.NUMBERS_DISAGREE, f"the parts took {total:g} s together, the run {wall_s:g} s", line
                )
            return
        reading.result("section_time_s", section["time"], line, labels={"section": section["name"]})


def _clock(reading: Reading, lines: Sequence[OutputLine], wall_s: float) -> None:
    """The closing line; the clock of the day covers the measured time."""
    finished = reading.search(FINISHED.pattern, lines)
    if finished is None:
        reading.lack("the closing line (Finished mdrun on rank 0) is missing")
        return
    if started := reading.search(STARTED.pattern, lines):
        reading.compare_clock(moment_of(started[1]["time"]), moment_of(finished[1]["time"]), wall_s, finished[0])


BENCHMARK = Benchmark(
    name="gromacs",
    title="GROMACS",
    requires="gmx_mpi and MPI",
    marks=(BANNER.pattern,),
    beginnings=(
        *(
            f"{start}{name}"
            for start in (":-) GROMACS - ", "GROMACS:      ")
            for name in ("gmx mdrun", "gmx_mpi mdrun")
        ),
        "Log file opened on ",
    ),
    parts=(r"^starting mdrun '", r"^[ \t]++\(ns/day\)[ \t]++\(hour/ns\)[ \t]*+$", FINISHED.pattern, ACCOUNTING.pattern),
    parse=parse,
    metrics=(
        Metric("ns_per_day", "simulated time", of_problem=True),
        Metric("steps_per_s", "of a run", of_problem=True),
        Metric("time_s", "wall time of a run"),
        Metric("section_time_s", "force, PME mesh, communication, ..."),
        Metric("load_imbalance", "largest over mean force time, minus 1"),
    ),
    main_metric="ns_per_day",
    evidence=("ranks", "nodes", "threads", "atoms", "steps", "drift_kj_per_mol_ps"),
    gates=(
        FindingKind.NOT_A_NUMBER,
        FindingKind.CONSTANT_RESULTS,
        FindingKind.RUN_TOO_SHORT,
        FindingKind.NUMBERS_DISAGREE,
        FindingKind.RESIDUAL_FAILED,
        FindingKind.ITERATIONS_DIFFER,
        FindingKind.WORK_SKIPPED,
        FindingKind.CLOCK_BACKWARDS,
        FindingKind.PROGRAM_FAILED,
    ),
    complete="the times, and `Finished mdrun` for each run",
    scaling=Scaling.STRONG,
    launch=GROMACS,
)
