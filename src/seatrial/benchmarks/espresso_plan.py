"""A run of Quantum ESPRESSO: crystalline silicon, with a pseudopotential that its own ld1.x makes from the atom."""

import itertools

from seatrial.benchmarks.declaration import Launch, Parameter
from seatrial.benchmarks.parameters import whole
from seatrial.model.benchmark_run import Plan, Request, Step

EDGE_BOHR = 10.26
"""Of the cubic cell of silicon with 8 atoms."""
BASIS = (
    (0, 0, 0), (2, 2, 0), (2, 0, 2), (0, 2, 2),
    (1, 1, 1), (3, 3, 1), (3, 1, 3), (1, 3, 3),
)  # fmt: skip
"""Its atoms, in quarters of the edge."""
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


def espresso_plan(request: Request) -> Plan:
    """ld1.x and pw.x with 8 x cells³ atoms. Raises UsageError for a parameter."""
    cells = whole(request.parameters, "cells", 1, 8)
    cutoff = whole(request.parameters, "cutoff", 8, 400)
    points = whole(request.parameters, "points", 1, 64)
    atoms = len(BASIS) * cells**3
    folder, slash, _ = request.program.rpartition("/")
    alone = ("env", "OMP_NUM_THREADS=1")
    return Plan(
        steps=(
            Step(name="ld1", argv=(*alone, f"{folder}{slash}ld1.x", "-in", "ld1.in"), single=True, judged=False),
            Step(name="pw", argv=(*alone, request.program, "-in", "pw.in")),
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
