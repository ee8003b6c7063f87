"""All kinds of environments, and those that a program enters by itself: scripts of the site, Nix, Guix, Apptainer."""

from collections.abc import Sequence

from seatrial.launch.environments.environment import (
    NO_ENVIRONMENT,
    SHELL,
    Environment,
    EnvironmentKind,
    Where,
    Words,
    shell_wrap,
)
from seatrial.launch.line_parser import is_srun
from seatrial.model.errors import UsageError
from seatrial.model.words import count, shell_words

FIND_MODULE = r"""
seatrial_left=$1
shift
known() { command -v module >/dev/null 2>&1; }
here() {
    seatrial_nodes=${SLURM_NODELIST-unset}
    unset SLURM_NODELIST
    . "$1" </dev/null >&2
    [ "$seatrial_nodes" = unset ] || export SLURM_NODELIST="$seatrial_nodes"
}
look() {
    for seatrial_init; do
        known && return
        [ -r "$seatrial_init" ] && here "$seatrial_init"
    done
}
look "${MODULESHOME:-}/init/sh" "${LMOD_PKG:-}/init/sh"
known || [ -z "${MODULEPATH:-}" ] || if [ -x "${LMOD_CMD:-}" ]; then
    module() { eval "$("$LMOD_CMD" sh "$@")"; }
elif [ -x "${MODULES_CMD:-}" ]; then
    module() { eval "$("$MODULES_CMD" sh "$@")"; }
fi
look /etc/profile.d/z00_lmod.sh /etc/profile.d/lmod.sh /etc/profile.d/modules.sh \
    /usr/share/lmod/lmod/init/sh /usr/share/modules/init/sh /usr/share/Modules/init/sh \
    /opt/ohpc/admin/lmod/lmod/init/sh /opt/cray/pe/lmod/lmod/init/sh /opt/apps/lmod/lmod/init/sh \
    /opt/cray/pe/modules/default/init/sh /opt/modules/default/init/sh /usr/local/Modules/init/sh
known || {
    echo "seatrial: there is no module command here: no init/sh of environment modules or Lmod" >&2
    exit 96
}
"""
"""A shell function that init/sh brings along. OpenHPC's profile script does nothing where Slurm names nodes."""
LOAD_MODULES = r"""
silent() {
    [ -z "${LMOD_CMD:-}${MODULES_CMD:-}" ] && [ "${LOADEDMODULES:-}" = "$seatrial_had" ] || return 1
    case $(module load "$1" </dev/null 2>&1) in *ERROR:[0-9]*) return 0 ;; esac
    return 1
}
while [ "$seatrial_left" -gt 0 ]; do
    seatrial_had=${LOADEDMODULES:-}
    if ! module load "$1" </dev/null >&2 || silent "$1"; then
        printf 'seatrial: module load %s failed\n' "$1" >&2
        exit 96
    fi
    shift
    seatrial_left=$((seatrial_left - 1))
done
echo "seatrial: entered" >&2
exec "$@"
"""
"""What modules print must not mix with the probe's records. The old ones in C (3.2) call every load a success."""
MODULE_TEXT = FIND_MODULE + LOAD_MODULES


MODULE = EnvironmentKind(
    name="module",
    form="NAME...",
    where=Where.OUTSIDE,
    wrap=shell_wrap(MODULE_TEXT, "seatrial-module"),
    keeping="See by `module show` which of these modules unsets them.",
)


FIND_SPACK = r"""
seatrial_left=$1
shift
seatrial_spack=$(command -v spack) || seatrial_spack=${SPACK_ROOT:-}/bin/spack
"""
SPACK_LOOP = r"""
    [ "$?" = 0 ] || {
        printf 'seatrial: spack cannot bring %s in\n' "$1" >&2
        exit 96
    }
    eval "$seatrial_said" </dev/null >&2
    shift
    seatrial_left=$((seatrial_left - 1))
done
exec "$@"
"""
SPACK_LOAD = (
    FIND_SPACK
    + r"""while [ "$seatrial_left" -gt 0 ]; do
    seatrial_said=$("$seatrial_spack" load --sh "$1" </dev/null)"""
    + SPACK_LOOP
)
SPACK_ACTIVATE = (
    FIND_SPACK
    + r"""while [ "$seatrial_left" -gt 0 ]; do
    case $1 in
        */*) seatrial_said=$("$seatrial_spack" env activate --sh --dir "$1" </dev/null) ;;
        *) seatrial_said=$("$seatrial_spack" env activate --sh "$1" </dev/null) ;;
    esac"""
    + SPACK_LOOP
)
"""What is evaluated is what spack prints to be evaluated; its own shell function does the same."""


SPACK_KEEPING = "See by `spack load --sh` or `spack env activate --sh` which package unsets them."
SPACK = EnvironmentKind(
    name="spack",
    form="SPEC...",
    where=Where.OUTSIDE,
    wrap=shell_wrap(SPACK_LOAD, "seatrial-spack"),
    keeping=SPACK_KEEPING,
)
SPACK_ENV = EnvironmentKind(
    name="spack-env",
    form="NAME or FOLDER",
    where=Where.OUTSIDE,
    wrap=shell_wrap(SPACK_ACTIVATE, "seatrial-spack"),
    keeping=SPACK_KEEPING,
)


AUTO = "auto"
LONGEST = 4096
SHOWN = 40
WRAPS = (AUTO, *Where)


NIX_FEATURES = ("--extra-experimental-features", "nix-command flakes")
KEPT = ("SLURM", "PMI", "OMPI_", "PRTE_", "MPICH_", "MPIR_", "HYDRA_", "HYDI_", "I_MPI_", "MV2_", "MVP_", "PALS_",
        "UCX_", "FI_", "PSM", "HFI_", "MPI_", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "TMPDIR")  # fmt: skip
"""How the variables begin by which Slurm, PMI, MPI and its transports reach a rank; PMI includes PMIX."""
PRESERVED = tuple(f"--preserve=^{name}" for name in KEPT)
CONTAINER_TEXT = r"""
seatrial_flag=$1
seatrial_program=$2
seatrial_verb=$3
shift 3
case ${PMIX_SERVER_TMPDIR:-} in
    /*) [ -d "$PMIX_SERVER_TMPDIR" ] && set -- "$seatrial_flag${PMIX_SERVER_TMPDIR%/}" "$@" ;;
esac
exec "$seatrial_program" "$seatrial_verb" "$@"
"""
"""Slurm's PMIx keeps what the ranks of a node share in its spool: without it they do not find their server's data.
What a container has to see of a node is known only on that node."""
GUIX_KEEPING = "Add --preserve=^NAME to the SPEC for each of them."
APPTAINER_KEEPING = "Take --cleanenv and --containall out of the SPEC, and see that APPTAINER_CLEANENV is not set."


def on_node(flag: str, program: str, verb: str, rest: Sequence[str]) -> list[str]:
    """`program verb rest...`, with an option `flag` right behind the verb for each folder that is there.

    `flag`: ends where the folder's path begins, as in `--bind=`.
    """
    return [SHELL, "-c", CONTAINER_TEXT, "seatrial-container", flag, program, verb, *rest]


def wrap_container(words: Words, folders: Words, argv: Sequence[str]) -> list[str]:
    """`guix shell --container` on the host's network, which sees the folders."""
    options = ["--container", "--network", *PRESERVED, *(f"--share={folder}" for folder in folders)]
    return on_node("--share=", "guix", "shell", [*options, *words, "--", *argv])


def image_kind(program: str) -> EnvironmentKind:
    """`exec` of Apptainer, or of Singularity, its former name, which sees the folders."""

    def wrap(words: Words, folders: Words, argv: Sequence[str]) -> list[str]:
        bound = [part for folder in folders for part in ("--bind", folder)]
        return on_node("--bind=", program, "exec", [*bound, *words, *argv])

    return EnvironmentKind(
        name=program, form="IMAGE", where=Where.INSIDE, wrap=wrap, takes_options=True, name_last=True,
        keeping=APPTAINER_KEEPING,
    )  # fmt: skip


def with_image(words: Words, folders: Words, argv: Sequence[str]) -> list[str]:
    """An srun with the options of pyxis; any other program as the one task of a step or job that has them.

    pyxis separates mounts by commas and colons, so folders with these stay outside.
    """
    *options, image = words
    mounts = ",".join(f"{folder}:{folder}" for folder in folders if not {",", ":"} & {*folder})
    own = [f"--container-image={image}", *([f"--container-mounts={mounts}"] if mounts else []), *options]
    if argv and is_srun(argv[0]):
        return [argv[0], *own, *argv[1:]]
    return ["srun", "--nodes=1", "--ntasks=1", "--mpi=none", "--quiet", *own, *argv]


PYXIS = EnvironmentKind(
    name="pyxis", form="IMAGE", where=Where.OUTSIDE, wrap=with_image, takes_options=True, name_last=True,
    keeping="Enable enroot's hook 50-slurm-pmi.sh on the nodes, which passes on what PMIx needs.",
)  # fmt: skip
SCRIPT = EnvironmentKind(
    name="script",
    form="/PATH/PROGRAM [ARGUMENT...]",
    where=Where.INSIDE,
    wrap=lambda words, _, argv: [*words, *argv],
    takes_options=True,
    keeping="The script has to leave them alone: no env -i, or one that passes SLURM_* and PMI* on.",
)
NIX = EnvironmentKind(
    name="nix",
    form="INSTALLABLE...",
    where=Where.INSIDE,
    # not nix-shell: that one takes its command as text for a shell
    wrap=lambda words, _, argv: ["nix", *NIX_FEATURES, "shell", *words, "--command", *argv],
    takes_options=True,
    keeping="Take --ignore-environment out of the SPEC, or add --keep NAME for each of them.",
)
GUIX = EnvironmentKind(
    name="guix",
    form="PACKAGE...",
    where=Where.INSIDE,
    wrap=lambda words, _, argv: ["guix", "shell", "--pure", *PRESERVED, *words, "--", *argv],
    takes_options=True,
    keeping=GUIX_KEEPING,
)
GUIX_MANIFEST = EnvironmentKind(
    name="guix-manifest",
    form="FILE...",
    where=Where.INSIDE,
    wrap=lambda words, _, argv: [
        "guix", "shell", "--pure", *PRESERVED, *(f"--manifest={word}" for word in words), "--", *argv
    ],
    keeping="Use guix:-m FILE --preserve=…",
)  # fmt: skip
GUIX_CONTAINER = EnvironmentKind(
    name="guix-container", form="PACKAGE...", where=Where.INSIDE, wrap=wrap_container, takes_options=True,
    keeping=GUIX_KEEPING,
)  # fmt: skip
GUIX_ENVIRONMENT = EnvironmentKind(  # for Guix before 1.4
    name="guix-environment",
    form="PACKAGE...",
    where=Where.INSIDE,
    wrap=lambda words, _, argv: ["guix", "environment", "--pure", *PRESERVED, "--ad-hoc", *words, "--", *argv],
    takes_options=True,
    keeping=GUIX_KEEPING,
)
KINDS = (
    MODULE,
    SPACK,
    SPACK_ENV,
    GUIX,
    GUIX_MANIFEST,
    GUIX_CONTAINER,
    GUIX_ENVIRONMENT,
    NIX,
    image_kind("apptainer"),
    image_kind("singularity"),
    PYXIS,
    SCRIPT,
)


def parse_environment(text: str, wrap: str = AUTO) -> Environment:
    """The environment that `text` names; an empty one names none. Words are split as in a shell, and not expanded.

    `wrap`: inside, outside, or auto, which is the kind's own choice. Raises UsageError that shows the value.
    """
    if wrap not in WRAPS:
        raise UsageError(f"--wrap {wrap!r} is not one of {', '.join(WRAPS)}.")
    if len(text) > LONGEST:
        raise UsageError(
            f"--environment {text[:SHOWN]!r}... has {count(len(text), 'character')}, and at most {LONGEST} are taken.",
            "Put what it loads into a script, and name that: script:/PATH/PROGRAM.",
        )
    if not text.strip():
        return NO_ENVIRONMENT
    name, colon, rest = text.strip().partition(":")
    kind = next((kind for kind in KINDS if kind.name == name), None)
    if kind is None or not colon:
        raise UsageError(
            f"--environment {text!r} does not begin with a kind of environment.",
            f"Write KIND:..., and KIND is one of {', '.join(kind.name for kind in KINDS)}.",
        )
    words = _words(text, kind, rest)
    if kind is PYXIS and wrap == Where.INSIDE:
        raise UsageError("--wrap inside: pyxis is entered by an option of srun.", "Leave out --wrap.")
    return Environment(spec=text.strip(), kind=kind, words=words, where=kind.where if wrap == AUTO else Where(wrap))


def _words(text: str, kind: EnvironmentKind, rest: str) -> tuple[str, ...]:
    options = "[OPTION...] " if kind.name_last else ""
    form = f"Write {kind.name}:{options}{kind.form}".removesuffix(".") + "."
    words = shell_words(rest, "--environment")
    if not words or not all(words):
        raise UsageError(f"--environment {text!r} names nothing to enter.", form)
    if any(character == "\0" or "\ud800" <= character <= "\udfff" for character in rest):
        raise UsageError(f"--environment {text!r} holds a NUL, or bytes that are not UTF-8.", form)
    if "--" in words or (not kind.takes_options and any(word.startswith("-") for word in words)):
        strange = next(word for word in words if word.startswith("-"))
        raise UsageError(f"--environment {text!r}: {strange!r} is not a name for {kind.name}.", form)
    if kind.name_last and words[-1].startswith("-"):
        raise UsageError(f"--environment {text!r}: the name must come last, not {words[-1]!r}.", form)
    if kind is SCRIPT and not words[0].startswith("/"):
        raise UsageError(f"--environment {text!r} is not a full path, and nodes may start elsewhere.", form)
    return words
