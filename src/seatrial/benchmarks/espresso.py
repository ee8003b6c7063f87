"""Quantum ESPRESSO: the output of pw.x, with its time, iterations, energies and where the time was spent."""

import itertools
import re

from seatrial.benchmarks.declaration import Benchmark, Launch, Parameter, Scaling, whole
from seatrial.benchmarks.reading import OutputLine, Reading
from seatrial.model.benchmark import BenchmarkPlan, BenchmarkRequest, BenchmarkStep, Metric, Output
from seatrial.model.unit_text import NUMBER, finite, number_of, whole_number
from seatrial.model.verdict import FindingKind
from seatrial.model.words import count

BANNER = re.compile(r"^[ \t]++Program PWSCF v\.(?P<version>\S{1,40})\s+(?:\(.{1,40}\) )?starts ")
RANKS = re.compile(
    r"^\s+(?:Number of MPI processes:|Parallel version \(MPI\), running on)\s+(?P<ranks>\d{1,9})(?: processors?)?\s*$"
)
SERIAL = re.compile(r"^\s+Serial (?:multi-threaded )?version\b")
NODES = re.compile(r"^\s+MPI processes distributed on\s+(?P<nodes>\d{1,9}) nodes")
THREADS = re.compile(r"^\s+Threads/MPI process:\s+(?P<threads>\d{1,9})")
ATOMS = re.compile(r"^\s+number of atoms/cell\s+=\s+(?P<atoms>\d{1,15})\s*$")
STATES = re.compile(r"^\s+number of Kohn-Sham states\s*=\s*(?P<states>\d{1,15})\s*$")
POINTS = re.compile(r"^\s+number of k points=\s*(?P<points>\d{1,15})\b")
CUTOFF = re.compile(rf"^\s+kinetic-energy cutoff\s+=\s+(?P<cutoff>{NUMBER})\s+Ry")
THRESHOLD = re.compile(rf"^\s+(?:scf convergence threshold|convergence threshold)\s*=\s*(?P<threshold>{NUMBER})\s*$")
BEGUN = re.compile(r"^\s+Self-consistent Calculation\s*$")
ITERATION = re.compile(r"^\s+iteration #\s*(?P<iteration>\d{1,9})\s")
ENERGY = re.compile(r"^(?P<final>!{0,2})\s+total energy\s+=\s+(?P<energy>\S+) Ry")
ACCURACY = re.compile(r"^\s+estimated scf accuracy\s+<\s+(?P<accuracy>\S+) Ry")
CONVERGED = re.compile(r"^\s+convergence has been achieved in\s+(?P<iterations>\d{1,9}) iterations")
NOT_CONVERGED = re.compile(r"^\s+convergence NOT achieved after\s+\d{1,18} iterations")
ERROR = re.compile(r"^\s+Error in routine (?P<routine>\S{1,60}) \(-?\d{1,9}\):")
CUT_SHORT = re.compile(r"^\s+Maximum CPU time exceeded|^\s+Program stopped by user request")
DURATION = r"(?: {0,9}[0-9.]{1,18}[dhms]){0,4}"
CLOCK = re.compile(
    rf"^\s+(?P<name>[A-Za-z*_]\S*)\s+:(?P<cpu>{DURATION}) {{1,2}}CPU(?: time)?,?"
    rf"(?P<wall>{DURATION}) {{1,2}}(?:WALL|wall time)"
    r"(?P<calls>\s+\(\s*\d{1,18} calls\))?"
)
PARTS = re.compile(r"(?P<number>[0-9]{1,18}+(?:\.[0-9]{0,18}+)?+|\.[0-9]{1,18}+)(?P<unit>[dhms])")
UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
WHOLE = "PWSCF"
UNSOUND = re.compile(r"(?i)=\s*+(?:[-+.\d]\S{0,40}\s{1,40}){0,12}[-+]?nan\b|^\s*[-+]?nan\s|=\s*\*{4,}")
"""A force, a pressure, an energy or an eigenvalue."""
DONE = re.compile(r"^\s+JOB DONE\.\s*$")
RULE = re.compile(r"^=-{20,}=\s*$")
FEWEST_S = 0.2
"""Clocks have hundredths of a second: fewer than 20 make them uncertain by more than 5 %."""
FEWEST_CONSTANT = 3
AGREEMENT, CLOCK_S = 0.02, 0.1


EDGE_BOHR = 10.26
"""Edge of the cubic cell of silicon with 8 atoms."""
BASIS = (
    (0, 0, 0), (2, 2, 0), (2, 0, 2), (0, 2, 2),
    (1, 1, 1), (3, 3, 1), (3, 1, 3), (1, 3, 3),
)  # fmt: skip
"""Atoms of the cell, in quarters of the edge."""
ATOM = """&input
  title = 'Si', zed = 14.0, rel = 0, dft = 'PZ', iswitch = 3
  config = '[Ne] 3s2.0 3p2.0 3d-2.0'
/
&inputp
  pseudotype = 1, tm = .true., lloc = 2, file_pseudopw = 'Si.UPF'
/
3
3S 1 0 2.0 0.0 2.1 2.1
3P 2 1 2.0 0.0 2.1 2.1
3D 3 2 -2.0 0.1 2.1 2.1
"""
"""Troullier and Martins, Efficient pseudopotentials for plane-wave calculations (1991), within 2.1 Bohr."""
INPUT = """&control
  calculation = 'scf', prefix = 'si', pseudo_dir = '.', outdir = 'out', disk_io = 'none'
/
&system
  ibrav = 1, celldm(1) = {edge:.4f}, nat = {atoms}, ntyp = 1, ecutwfc = {cutoff}.0, nosym = .true.
/
&electrons
  conv_thr = 1.0d-8
/
ATOMIC_SPECIES
 Si 28.0855 Si.UPF
ATOMIC_POSITIONS crystal
{positions}
K_POINTS automatic
 {points} {points} {points} 0 0 0
"""


def espresso_plan(request: BenchmarkRequest) -> BenchmarkPlan:
    """ld1.x and pw.x with 8 x cells³ atoms. Raises UsageError for a parameter."""
    cells = whole(request.parameters, "cells", 1, 8)
    cutoff = whole(request.parameters, "cutoff", 8, 400)
    points = whole(request.parameters, "points", 1, 64)
    atoms = len(BASIS) * cells**3
    folder, slash, _ = request.program.rpartition("/")
    alone = ("env", "OMP_NUM_THREADS=1")
    return BenchmarkPlan(
        steps=(
            BenchmarkStep(
                name="ld1", argv=(*alone, f"{folder}{slash}ld1.x", "-in", "ld1.in"), single=True, judged=False
            ),
            BenchmarkStep(name="pw", argv=(*alone, request.program, "-in", "pw.in")),
        ),
        files={"ld1.in": ATOM, "pw.in": _input(cells, cutoff, points)},
        expected={"ranks": str(request.ranks), "atoms": str(atoms), "cutoff_ry": str(cutoff)},
        notes=(f"{atoms} atoms of silicon, plane waves up to {cutoff} Ry, {points**3} k points in the whole zone.",),
    )


def _input(cells: int, cutoff: int, points: int) -> str:
    """pw.x's input. Symmetry is not used: it would leave the ranks less work than the input says."""
    lattice = itertools.product(range(cells), repeat=3)
    positions = "\n".join(
        " Si " + " ".join(f"{(corner + quarter / 4) / cells:.10f}" for corner, quarter in zip(cell, atom, strict=True))
        for cell in lattice
        for atom in BASIS
    )
    return INPUT.format(
        edge=EDGE_BOHR * cells, atoms=len(BASIS) * cells**3, cutoff=cutoff, positions=positions, points=points
    )


ESPRESSO = Launch(
    programs=("pw.x",),
    package="quantum-espresso",
    plan=espresso_plan,
    parameters=(
        Parameter(name="cells", default="1", meaning="cubic cells of 8 atoms along an edge"),
        Parameter(name="cutoff", default="30", meaning="of the plane waves, in Ry"),
        Parameter(name="points", default="2", meaning="k points along an edge of the zone"),
    ),
)


def duration_s(text: str) -> float:
    """Seconds of 12.34s, 1m23.45s, 1h 2m or 2d 3h."""
    return sum(float(part["number"]) * UNITS[part["unit"]] for part in PARTS.finditer(text))


def parse(text: str) -> Output:
    """The output of pw.x, of one run or of several after each other."""
    reading = Reading("espresso", text)
    reading.find_version(BANNER.pattern)
    _head(reading)
    _scf(reading)
    _clocks(reading)
    for line, _ in reading.matches(ERROR.pattern):
        reading.breach(FindingKind.PROGRAM_FAILED, "Quantum ESPRESSO reports an error", line)
    for line, _ in reading.matches(CUT_SHORT.pattern):
        reading.breach(FindingKind.WORK_SKIPPED, "the run was stopped before its end", line)
    for line, _ in reading.matches(UNSOUND.pattern):
        reading.breach(FindingKind.NOT_A_NUMBER, "a result is not a finite number", line)
    reading.runs(BANNER.pattern, DONE.pattern, "JOB DONE.")
    done = list(reading.matches(DONE.pattern))
    if not done:
        reading.lack("the closing line (JOB DONE.) is missing")
    elif not reading.search(RULE.pattern, reading.whole_lines[done[-1][0].number :]):
        reading.lack("the rule below JOB DONE. is missing")
    return reading.output()


def _head(reading: Reading) -> None:
    """What shows how much work was set up."""
    for pattern, name in (
        (RANKS, "ranks"), (NODES, "nodes"), (THREADS, "threads"), (ATOMS, "atoms"), (STATES, "states"),
        (POINTS, "k_points"),
    ):  # fmt: skip
        if head := reading.search(pattern.pattern):
            reading.evidence(name, whole_number(head[1][name.removeprefix("k_")]), head[0])
    if serial := reading.search(SERIAL.pattern):
        reading.evidence("ranks", 1, serial[0])
    if cutoff := reading.search(CUTOFF.pattern):
        reading.evidence("cutoff_ry", number_of(cutoff[1]["cutoff"]), cutoff[0])


def _scf(reading: Reading) -> None:
    """Self-consistent iterations: finite energies that change, and an accuracy below the threshold at their end."""
    threshold = reading.search(THRESHOLD.pattern)
    wanted = number_of(threshold[1]["threshold"]) if threshold else 0.0
    begun, total, iterations = 0, 0, 0
    accuracies: list[tuple[OutputLine, str]] = []
    energies: list[str] = []
    for line in reading.whole_lines:
        if BEGUN.match(line.text):
            begun, iterations, accuracies, energies = begun + 1, 0, [], []
        elif ITERATION.match(line.text):
            iterations, total = iterations + 1, total + 1
        elif energy := ENERGY.match(line.text):
            _energy(reading, line, energy, energies)
        elif accuracy := ACCURACY.match(line.text):
            accuracies.append((line, accuracy["accuracy"]))
            if not finite(accuracy["accuracy"]):
                reading.breach(FindingKind.NOT_A_NUMBER, f"the accuracy is {accuracy['accuracy'][:40]}", line)
        elif NOT_CONVERGED.match(line.text):
            begun -= 1
            reading.breach(FindingKind.RESIDUAL_FAILED, "the energy did not converge", line)
        elif converged := CONVERGED.match(line.text):
            begun -= 1
            _converged(reading, line, whole_number(converged["iterations"]), iterations, accuracies, wanted)
    if begun > 0:
        reading.lack("a self-consistent calculation has no end (convergence has been achieved)")
    if total:
        reading.evidence("scf_iterations", total)


def _energy(reading: Reading, line: OutputLine, match: "re.Match[str]", energies: list[str]) -> None:
    if not finite(match["energy"]):
        reading.breach(FindingKind.NOT_A_NUMBER, f"the total energy is {match['energy'][:40]}", line)
    elif match["final"]:
        reading.result("energy_ry", match["energy"], line)
        if energies and finite(energies[-1]) and abs(number_of(energies[-1]) - number_of(match["energy"])) > 1:
            reading.breach(FindingKind.NUMBERS_DISAGREE, f"the last iteration had {energies[-1]} Ry", line)
    energies.append(match["energy"])


def _converged(
    reading: Reading, line: OutputLine, claimed: int, done: int, accuracies: list[tuple[OutputLine, str]], wanted: float
) -> None:
    """The claim of convergence, compared with the iterations above it."""
    if claimed != done:
        reading.breach(FindingKind.ITERATIONS_DIFFER, f"{claimed} iterations are claimed, {done} were done", line)
    printed = [accuracy for _, accuracy in accuracies]
    if len(printed) >= FEWEST_CONSTANT and len(set(printed)) == 1:
        reading.breach(
            FindingKind.CONSTANT_RESULTS, f"the accuracy is the same in all {count(len(printed), 'iteration')}", line
        )
    if not printed:
        reading.breach(FindingKind.RESIDUAL_MISSING, "no accuracy was printed", line)
    elif wanted and finite(printed[-1]) and number_of(printed[-1]) > wanted:
        reading.breach(
            FindingKind.RESIDUAL_FAILED, f"the accuracy is {printed[-1]} Ry, not below {wanted:g} Ry", accuracies[-1][0]
        )


def _clocks(reading: Reading) -> None:
    """Times of the routines. The parts of the program must fit into the time of the whole."""
    parts_s, whole_s = 0.0, 0.0
    below, begins = False, reading.search(BANNER.pattern) is not None
    for line in reading.whole_lines:
        below = below or line.text.strip().startswith("Called by")
        clock = CLOCK.match(line.text)
        if clock is None:
            continue
        wall_s = duration_s(clock["wall"])
        if clock["name"] == WHOLE:
            whole_s = wall_s
            reading.result("time_s", f"{wall_s:.9g}", line)
            reading.result("cpu_time_s", f"{duration_s(clock['cpu']):.9g}", line)
            if wall_s < FEWEST_S:
                reading.breach(FindingKind.RUN_TOO_SHORT, f"the run took {wall_s:g} s: too short for a rate", line)
            if parts_s > wall_s * (1 + AGREEMENT) + CLOCK_S:
                reading.breach(
                    FindingKind.NUMBERS_DISAGREE, f"the parts took {parts_s:g} s, the whole {wall_s:g} s", line
                )
        elif clock["calls"] and begins:  # else nothing shows below which heading a line is
            section = "section_time_s" if not below else "routine_time_s"
            reading.result(section, f"{wall_s:.9g}", line, labels={"section": clock["name"]})
            parts_s += 0.0 if below else wall_s
    if not whole_s:
        reading.lack("the time of the whole (PWSCF : ... WALL) is missing")


BENCHMARK = Benchmark(
    name="espresso",
    title="Quantum ESPRESSO",
    requires="pw.x, ld1.x and MPI",
    marks=(BANNER.pattern,),
    beginnings=("     Program PWSCF v.",),
    parts=(r"^[ \t]*+PWSCF[ \t]++:.{1,80}\bCPU\b.{1,80}\bWALL\b",),
    parse=parse,
    metrics=(
        Metric("time_s", "wall time of pw.x"),
        Metric("cpu_time_s", "processor time of the first rank"),
        Metric("section_time_s", "initialisation, electrons, forces, ..."),
        Metric("routine_time_s", "of routines, which contain each other"),
        Metric("energy_ry", "total energy, in Rydberg", of_result=True),
    ),
    main_metric="time_s",
    evidence=("ranks", "nodes", "threads", "atoms", "states", "k_points", "cutoff_ry", "scf_iterations"),
    gates=(
        FindingKind.NOT_A_NUMBER,
        FindingKind.RESIDUAL_FAILED,
        FindingKind.RESIDUAL_MISSING,
        FindingKind.CONSTANT_RESULTS,
        FindingKind.ITERATIONS_DIFFER,
        FindingKind.RANKS_DIFFER,
        FindingKind.NUMBERS_DISAGREE,
        FindingKind.RUN_TOO_SHORT,
        FindingKind.WORK_SKIPPED,
        FindingKind.PROGRAM_FAILED,
    ),
    complete="the end of each self-consistent calculation, the time of the whole, `JOB DONE.` and the rule below it",
    scaling=Scaling.STRONG,
    launch=ESPRESSO,
)
