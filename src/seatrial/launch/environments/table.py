"""All kinds of environments."""

from seatrial.launch.environments.apptainer import APPTAINER, SINGULARITY
from seatrial.launch.environments.guix import GUIX, GUIX_CONTAINER, GUIX_ENVIRONMENT, GUIX_MANIFEST
from seatrial.launch.environments.modules import MODULE
from seatrial.launch.environments.nix import NIX
from seatrial.launch.environments.script import SCRIPT
from seatrial.launch.environments.spack import SPACK, SPACK_ENV

KINDS = (
    MODULE,
    SPACK,
    SPACK_ENV,
    GUIX,
    GUIX_MANIFEST,
    GUIX_CONTAINER,
    GUIX_ENVIRONMENT,
    NIX,
    APPTAINER,
    SINGULARITY,
    SCRIPT,
)
