"""GNU Guix: packages, a manifest, a container, and the command of its older versions."""

from collections.abc import Sequence

from seatrial.launch.environments.containers import on_node
from seatrial.launch.environments.kind import Kind, Where, Words

KEPT = ("SLURM", "PMI", "OMPI_", "PRTE_", "MPICH_", "MPIR_", "HYDRA_", "HYDI_", "I_MPI_", "MV2_", "MVP_", "PALS_",
        "UCX_", "FI_", "PSM", "HFI_", "MPI_", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "TMPDIR")  # fmt: skip
"""How the names begin of what Slurm, PMI, MPI and its transports tell a rank by variables; PMI stands for PMIX, too."""
PRESERVED = tuple(f"--preserve=^{name}" for name in KEPT)


def wrap_packages(words: Words, _folders: Words, argv: Sequence[str]) -> list[str]:
    """`guix shell --pure` with these packages."""
    return ["guix", "shell", "--pure", *PRESERVED, *words, "--", *argv]


def wrap_manifest(words: Words, _folders: Words, argv: Sequence[str]) -> list[str]:
    """`guix shell --pure` with what these manifests list."""
    return ["guix", "shell", "--pure", *PRESERVED, *(f"--manifest={word}" for word in words), "--", *argv]


def wrap_container(words: Words, folders: Words, argv: Sequence[str]) -> list[str]:
    """`guix shell --container` on the host's network, which sees the folders."""
    seen = [f"--share={folder}" for folder in folders]
    options = ["--container", "--network", *PRESERVED, *seen]
    return on_node("--share=", "guix", "shell", [*options, *words, "--", *argv])


def wrap_environment(words: Words, _folders: Words, argv: Sequence[str]) -> list[str]:
    """`guix environment --pure --ad-hoc`, for Guix before 1.4."""
    return ["guix", "environment", "--pure", *PRESERVED, "--ad-hoc", *words, "--", *argv]


KEEPING = "Add --preserve=^NAME to the SPEC for each of them."
GUIX = Kind(name="guix", form="PACKAGE...", where=Where.INSIDE, wrap=wrap_packages, takes_options=True, keeping=KEEPING)
GUIX_MANIFEST = Kind(
    name="guix-manifest",
    form="FILE...",
    where=Where.INSIDE,
    wrap=wrap_manifest,
    keeping="Use guix:-m FILE --preserve=…",
)
GUIX_CONTAINER = Kind(
    name="guix-container", form="PACKAGE...", where=Where.INSIDE, wrap=wrap_container, takes_options=True,
    keeping=KEEPING,
)  # fmt: skip
GUIX_ENVIRONMENT = Kind(
    name="guix-environment", form="PACKAGE...", where=Where.INSIDE, wrap=wrap_environment, takes_options=True,
    keeping=KEEPING,
)  # fmt: skip
