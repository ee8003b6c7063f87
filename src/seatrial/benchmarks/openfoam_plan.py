"""A run of OpenFOAM on a user's case: mesh, check, decompose for the ranks, solve."""

import re

from seatrial.benchmarks.declaration import Launch, Parameter
from seatrial.benchmarks.hpl_plan import grid
from seatrial.benchmarks.parameters import AUTO, whole
from seatrial.model.benchmark_run import Plan, Request, Step
from seatrial.model.errors import UsageError

CONTROL = "system/controlDict"
DECOMPOSE = "system/decomposeParDict"
METHODS = ("hierarchical", "simple", "scotch")
MESH = "constant/polyMesh/"
APPLICATION = re.compile(r"(?m)^[ \t]*+application\s+(?P<solver>[A-Za-z]\w{0,60})\s*;")
END_TIME = re.compile(r"(?m)^(?P<key>[ \t]*+endTime\s++)[^;\s]++(?P<end>\s*+;)")
MESHING = (
    ("system/blockMeshDict", ("blockMesh",)),
    ("system/surfaceFeatureExtractDict", ("surfaceFeatureExtract",)),
    ("system/snappyHexMeshDict", ("snappyHexMesh", "-overwrite")),
)
"""Dictionary of a case -> the program that reads it, in the order in which they build on each other."""
HEAD = "FoamFile\n{\n    version 2.0;\n    format ascii;\n    class dictionary;\n    object decomposeParDict;\n}\n"


def openfoam_plan(request: Request) -> Plan:
    """All programs of the case; one with a mesh is not meshed again. Raises UsageError for a case and a parameter."""
    control = request.case.get(CONTROL, "")
    solver = APPLICATION.search(control)
    if solver is None:
        raise UsageError(f"--case: {CONTROL} is missing or names no application.", "Name a case of OpenFOAM.")
    meshed = any(name.startswith(MESH) for name in request.case)
    steps = [
        Step(name=argv[0], argv=argv, mpi=False)
        for name, argv in MESHING
        if not meshed and (name in request.case or f"{name}.gz" in request.case)
    ]
    steps.append(Step(name="checkMesh", argv=("checkMesh", "-constant"), mpi=False))
    fields = {name.partition("/")[0] for name in request.case}
    if "0" not in fields and "0.orig" in fields:
        steps.append(Step(name="fields", argv=("cp", "-r", "0.orig/.", "0"), mpi=False, judged=False))
    parallel = request.ranks > 1
    if parallel:
        steps.append(Step(name="decomposePar", argv=("decomposePar", "-force"), mpi=False))
    argv = (solver["solver"], *(("-parallel",) if parallel else ()))
    steps.append(Step(name=solver["solver"], argv=argv, mpi=parallel))
    return Plan(
        steps=tuple(steps),
        files={**_control(request, control), **({DECOMPOSE: _decomposition(request)} if parallel else {})},
        expected={"ranks": str(request.ranks), **({"subdomains": str(request.ranks)} if parallel else {})},
        notes=(f"{', '.join(step.name for step in steps)}.",),
    )


def _control(request: Request, control: str) -> dict[str, str]:
    """controlDict with another last time, where one is requested."""
    if request.parameters["end"] == AUTO:
        return {}
    end = whole(request.parameters, "end", 1, 10_000_000)
    changed, count = END_TIME.subn(rf"\g<key>{end}\g<end>", control)
    if not count:
        raise UsageError(f"--set end={end}: {CONTROL} has no endTime.", "Leave it out, and set the time in the case.")
    return {CONTROL: changed}


def _decomposition(request: Request) -> str:
    """decomposeParDict for the ranks."""
    method = request.parameters["method"]
    if method not in METHODS:
        raise UsageError(f"--set method={method} is not a valid method.", f"Choose from {', '.join(METHODS)}.")
    p, q = grid(request.ranks)
    blocks = f"    n ({q} {p} 1);\n    delta 0.001;\n    order xyz;\n"
    coefficients = "" if method == "scotch" else f"{method}Coeffs\n{{\n{blocks}}}\n"
    return f"{HEAD}numberOfSubdomains {request.ranks};\nmethod {method};\n{coefficients}"


OPENFOAM = Launch(
    programs=("blockMesh",),
    package="openfoam",
    plan=openfoam_plan,
    case=True,
    parameters=(
        Parameter(name="end", default=AUTO, meaning="last time or iteration; auto: as the case says"),
        Parameter(name="method", default="hierarchical", meaning=f"of decomposition: {', '.join(METHODS)}"),
    ),
)
