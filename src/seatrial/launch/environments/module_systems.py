"""Environments that are loaded into a shell: environment modules, Lmod and Spack."""

from seatrial.launch.environments.environment import EnvironmentKind, Where, shell_wrap

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
