"""A run of GROMACS: a box of rigid water, made by its own programs from one molecule, with PME and a thermostat."""

from seatrial.benchmarks.declaration import Launch, Parameter
from seatrial.benchmarks.parameters import whole
from seatrial.model.benchmark_run import Plan, Request, Step

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


def gromacs_plan(request: Request) -> Plan:
    """genconf, grompp, mdrun with 3 x edge³ x copies atoms. Raises UsageError for a parameter."""
    edge = whole(request.parameters, "edge", LEAST_EDGE, 300)
    length = edge * whole(request.parameters, "copies", 1, 10_000)
    steps = whole(request.parameters, "steps", 100, 100_000_000)
    molecules = edge**2 * length
    program = (request.program, "-quiet")
    box = ("genconf", "-f", "molecule.gro", "-nbox", str(edge), str(edge), str(length), "-o", "conf.gro")
    joined = ("grompp", "-f", "water.mdp", "-c", "conf.gro", "-p", "topol.top", "-o", "topol.tpr")
    simulated = ("mdrun", "-s", "topol.tpr", "-g", "md.log", "-ntomp", "1", "-pin", "off", "-notunepme", "-noconfout")
    return Plan(
        steps=(
            Step(name="genconf", argv=(*program, *box), single=True, judged=False),
            Step(name="grompp", argv=(*program, *joined), single=True, judged=False),
            Step(name="mdrun", argv=(*program, *simulated), output="md.log"),
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
