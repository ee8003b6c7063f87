"""Cases of OpenFOAM made small, from the examples of the Debian package openfoam-examples."""

import gzip
import re
import shutil
from pathlib import Path

EXAMPLES = Path("/usr/share/doc/openfoam-examples/examples")
PROJECT = Path("/usr/share/openfoam")
"""WM_PROJECT_DIR of the Debian package."""
COARSE = (
    ("addLayers       true", "addLayers       false"),
    ("level 6;", "level 3;"),
    ("level (5 6);", "level (3 4);"),
    ("levels ((1E15 4));", "levels ((1E15 2));"),
)


def pitz_daily(folder: Path) -> Path:
    """12,225 cells."""
    shutil.copytree(EXAMPLES / "incompressible" / "simpleFoam" / "pitzDaily", folder)
    return folder


def motor_bike(folder: Path) -> Path:
    """About 13,600 cells and 78 patches, with force coefficients."""
    shutil.copytree(EXAMPLES / "incompressible" / "simpleFoam" / "motorBike", folder)
    shutil.copy(EXAMPLES / "resources" / "geometry" / "motorBike.obj.gz", folder / "constant" / "triSurface")
    packed = folder / "system" / "snappyHexMeshDict.gz"
    text = gzip.decompress(packed.read_bytes()).decode()
    packed.unlink()
    for fine, coarse in COARSE:
        assert fine in text
        text = text.replace(fine, coarse)
    (folder / "system" / "snappyHexMeshDict").write_text(text)
    control = folder / "system" / "controlDict"
    control.write_text(re.sub(r"(?s)functions.*", 'functions\n{\n    #include "forceCoeffs"\n}\n', control.read_text()))
    return folder


def without_bike(folder: Path) -> Path:
    """The same case decomposed before the motorbike was cut out of the mesh: its patches are lost."""
    motor_bike(folder)
    for name in ("snappyHexMeshDict", "surfaceFeatureExtractDict"):
        (folder / "system" / name).unlink()
    return folder


def only_mesh(scratch: Path, folder: Path) -> Path:
    """A case whose mesh is there already, from the scratch folder of a run."""
    shutil.copytree(scratch, folder, ignore=shutil.ignore_patterns("[1-9]*", "0", "postProcessing", "triSurface"))
    return folder
